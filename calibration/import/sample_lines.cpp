// Reads and writes files of samples.
#include "calibration/import/sample_lines.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "calibration/import/sample_json.h"
#include "sim/base/error.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::measured {
namespace {

/// Returns the record of one line. It throws std::invalid_argument; nlohmann's own exceptions derive from
/// std::exception only.
auto record_of(std::string_view line) {
  io::Findings findings;
  const auto json = io::parse_json(line, "", findings);
  if (!json) {
    const std::string& why = findings.complaints.front().message;
    throw std::invalid_argument(why.starts_with("not JSON") ? "expected JSON" : why);
  }
  return read_record(*json);
}

/// Adds the records of the lines of one file. Samples before any header are one complaint, at the first of them. Behind
/// a wrong line they are none: that line may be the header.
class Lines {
 public:
  Lines(Samples& samples, Complaints& complaints) : samples_(samples), complaints_(complaints) {}

  void read(std::string_view line, const std::string& place) {
    try {
      auto record = record_of(line);
      if (auto* origin = std::get_if<Provenance>(&record))
        samples_.origins.push_back(std::move(*origin));
      else if (!samples_.origins.empty())
        samples_.add(std::move(std::get<Sample>(record)));
      else if (!wrong_) {
        complaints_.push_back({place, "", "expected a header line before the first sample"});
        wrong_ = true;
      }
    } catch (const std::invalid_argument& error) {
      complaints_.push_back({place, "", error.what()});
      wrong_ = true;
    }
  }

 private:
  Samples& samples_;
  Complaints& complaints_;
  bool wrong_ = false;
};

template <class T>
void write_kind(const std::vector<From<T>>& kind, const Samples& samples, std::optional<std::size_t>& current,
                std::string& text) {
  for (const From<T>& sample : kind) {
    if (current != sample.origin) {
      current = sample.origin;
      (text += line_of(samples.origins.at(sample.origin))) += '\n';
    }
    (text += line_of(Sample(static_cast<const T&>(sample)))) += '\n';
  }
}

}  // namespace

Samples read_lines(std::string_view text, const std::string& file) {
  Samples samples;
  Complaints complaints;
  Lines lines(samples, complaints);
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      samples.notes.push_back(fmt::format("{}:{}: partial last line dropped", file, number));
      break;
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    lines.read(line, fmt::format("{}:{}", file, number));
  }
  if (!complaints.empty()) throw ConfigError(complaints.listed());
  return samples;
}

std::string write_lines(const Samples& samples) {
  std::string text;
  std::optional<std::size_t> current;
  write_kind(samples.gemms, samples, current, text);
  write_kind(samples.kernels, samples, current, text);
  write_kind(samples.attention, samples, current, text);
  write_kind(samples.layers, samples, current, text);
  write_kind(samples.collectives, samples, current, text);
  write_kind(samples.host, samples, current, text);
  write_kind(samples.clocks, samples, current, text);
  return text;
}

}  // namespace foretoken::measured
