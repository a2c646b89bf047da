// Reads traces line by line.
#include "sim/io/serve/read_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/base/text.h"

namespace foretoken::io {
namespace {

using serve::TracedRequest;

constexpr double kLongestRun = 1e7;  // seconds, within the engine's clock
constexpr double kMostTokens = 1 << 24;
constexpr std::string_view kHeading = "arrival_s,input_tokens,output_tokens";

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_tokens(double value) { return value >= 1 && value <= kMostTokens && value == std::floor(value); }

std::optional<TracedRequest> traced_request(double arrival, double input, double output) {
  if (!(arrival >= 0 && arrival <= kLongestRun) || !is_tokens(input) || !is_tokens(output)) return std::nullopt;
  return TracedRequest{arrival, static_cast<std::int64_t>(input), static_cast<std::int64_t>(output)};
}

std::optional<TracedRequest> from_csv(std::string_view line) {
  const std::size_t first = line.find(','), second = line.find(',', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto arrival = number_in(line.substr(0, first));
  const auto input = number_in(line.substr(first + 1, second - first - 1));
  const auto output = number_in(line.substr(second + 1));
  if (!arrival || !input || !output) return std::nullopt;
  return traced_request(*arrival, *input, *output);
}

std::optional<TracedRequest> from_json(std::string_view line) {
  const auto value = nlohmann::json::parse(line, nullptr, false);
  const auto number = [&](const char* key) -> std::optional<double> {
    const auto found = value.find(key);
    if (found == value.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  };
  if (!value.is_object()) return std::nullopt;
  const auto at = number("timestamp"), input = number("input_length"), output = number("output_length");
  if (!at || !input || !output) return std::nullopt;
  return traced_request(*at * 1e-3, *input, *output);
}

}  // namespace

std::vector<TracedRequest> read_trace(std::string_view text, const std::string& file, Findings& findings) {
  std::vector<TracedRequest> rows;
  std::size_t number = 0;
  bool hashes = false;  // of blocks of prompts
  const auto wrong = [&](std::string_view line) {
    findings.complaints.push_back(
        {file, "",
         fmt::format("line {}: expected {} as numbers (at most {:.0f} s, lengths from 1 to {:.0f}), or Mooncake's JSON "
                     "with timestamp, input_length and output_length, found {}",
                     number, kHeading, kLongestRun, kMostTokens, in_quotes(line))});
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line == kHeading)) continue;
    const auto row = line.front() == '{' ? from_json(line) : from_csv(line);
    if (!row) {
      wrong(line);
      return rows;
    }
    if (rows.size() == serve::kMostRequests) {
      findings.complaints.push_back(
          {file, "",
           fmt::format("line {}: expected at most {} million requests; try a part of the trace", number,
                       serve::kMostRequests / 1'000'000)});
      return rows;
    }
    hashes = hashes || line.find("\"hash_ids\"") != std::string_view::npos;
    rows.push_back(*row);
  }
  if (rows.empty()) findings.complaints.push_back({file, "", "no requests; expected a line for each of them"});
  if (hashes) findings.notes.warnings.push_back("hash_ids of the trace are not read: its requests share no prefixes");
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TracedRequest& a, const TracedRequest& b) { return a.arrival_s < b.arrival_s; });
  return rows;
}

}  // namespace foretoken::io
