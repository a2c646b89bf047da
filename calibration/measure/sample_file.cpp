// Appends samples, and continues an earlier run.
#include "calibration/measure/sample_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "calibration/import/import.h"
#include "calibration/import/sample_json.h"
#include "sim/base/error.h"

namespace foretoken::measure {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& message) {
  throw ConfigError({{path.string(), "", message}});
}

/// Returns true for the same machine in the same state. Only the date may differ.
bool same_state(const measured::Provenance& a, const measured::Provenance& b) {
  const auto undated = [](measured::Provenance origin) {
    std::erase_if(origin.facts, [](const auto& fact) { return fact.first == "date"; });
    return origin;
  };
  return undated(a) == undated(b);
}

/// Counts the bytes up to the end of the last whole line.
std::uintmax_t whole_lines(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return text.rfind('\n') + 1;  // npos + 1 is 0
}

template <class T>
void take_keys(const std::vector<measured::From<T>>& samples, std::set<std::string>& keys) {
  for (const auto& sample : samples) keys.insert(measured::key_of(measured::Sample(static_cast<const T&>(sample))));
}

}  // namespace

SampleFile::SampleFile(fs::path path, measured::Provenance origin)
    : path_(std::move(path)), origin_(std::move(origin)) {
  std::error_code error;
  if (fs::exists(path_, error)) resume();
  if (error) refuse(path_, error.message());
}

void SampleFile::resume() {
  const measured::Samples earlier = measured::import_samples(path_);
  for (const measured::Provenance& before : earlier.origins)
    if (before.gpu != origin_.gpu)
      refuse(path_, fmt::format("holds samples of \"{}\", this GPU is \"{}\": choose another folder", before.gpu,
                                origin_.gpu));
  header_written_ = !earlier.origins.empty() && same_state(earlier.origins.back(), origin_);
  take_keys(earlier.gemms, keys_);
  take_keys(earlier.kernels, keys_);
  take_keys(earlier.attention, keys_);
  take_keys(earlier.layers, keys_);
  take_keys(earlier.collectives, keys_);
  take_keys(earlier.host, keys_);
  take_keys(earlier.clocks, keys_);
  std::error_code error;
  fs::resize_file(path_, whole_lines(path_), error);
  if (error) refuse(path_, fmt::format("cannot be written: {}", error.message()));
}

bool SampleFile::has(const measured::Sample& sample) const { return keys_.contains(measured::key_of(sample)); }

bool SampleFile::has_clocks_of(const std::string& work) const {
  measured::ClockSample probe;
  probe.work = work;
  std::string front = measured::key_of(measured::Sample(probe));
  front.resize(front.find("\"at_ms\""));
  const auto found = keys_.lower_bound(front);
  return found != keys_.end() && found->starts_with(front);
}

void SampleFile::write(const measured::Sample& sample) {
  if (!header_written_) put(measured::line_of(origin_));
  header_written_ = true;
  put(measured::line_of(sample));
  keys_.insert(measured::key_of(sample));
  ++written_;
}

void SampleFile::put(const std::string& line) {
  if (!out_.is_open()) out_.open(path_, std::ios::binary | std::ios::app);
  out_ << line + '\n' << std::flush;
  if (!out_) refuse(path_, fmt::format("cannot be written: {}", std::strerror(errno)));
}

}  // namespace foretoken::measure
