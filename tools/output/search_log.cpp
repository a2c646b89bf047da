// Reads a result file of a search, continues it, and appends to it.
#include "tools/output/search_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "tools/output/output.h"
#include "tools/text/search_text.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;
using search::Outcome;
using search::Verdict;

constexpr std::array<const char*, 4> kVerdicts{"invalid", "too large", "slower", "replayed"};

std::string header_of(const study::SearchRequest& request) { return to_json(request) + '\n'; }

Outcome outcome_of(const Json& json) {
  Outcome outcome;
  outcome.candidate = json.at("candidate").get<std::size_t>();
  const auto verdict = json.at("verdict").get<std::string>();
  std::size_t place = 0;
  while (place < kVerdicts.size() && verdict != kVerdicts[place]) ++place;
  outcome.verdict = static_cast<Verdict>(place);
  if (place == kVerdicts.size()) throw std::invalid_argument("verdict");
  outcome.fits = json.at("fits").get<bool>();
  outcome.peak = Bytes(json.at("peak_bytes").get<double>());
  outcome.step_time.ps = json.at("step_time_ps").get<std::int64_t>();
  if (outcome.verdict == Verdict::kReplayed)
    for (const auto& [name, member] : job::kOverlaps) outcome.overlap.*member = json.at("overlap").at(name).get<bool>();
  return outcome;
}

}  // namespace

std::string outcome_line(const search::Space& space, const Outcome& outcome) {
  const search::Candidate& c = space.candidates()[outcome.candidate];
  Json json = {{"candidate", outcome.candidate},
               {"verdict", kVerdicts[static_cast<std::size_t>(outcome.verdict)]},
               {"gpus", c.gpus}};
  for (const auto& [key, degree] : search::degrees_by_key(c)) json[std::string(key)] = degree;
  json["schedule"] = space.schedules()[static_cast<std::size_t>(c.schedule)].name;
  json["micro"] = c.micro;
  json["sequence_parallel"] = c.sequence_parallel;
  json["recompute"] = model::name_of(c.recompute);
  json["zero_stage"] = c.zero_stage;
  json.update(more_keys_json(c));
  if (outcome.verdict == Verdict::kReplayed) json["overlap"] = overlap_json(outcome.overlap);
  json["fits"] = outcome.fits;
  json["peak_bytes"] = outcome.peak.value();
  json["step_time_s"] = des::to_seconds(outcome.step_time).value();
  json["step_time_ps"] = outcome.step_time.ps;
  return json.dump() + '\n';
}

SearchFile read_search_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ConfigError({{printable(path), "", fmt::format("cannot be read: {}", std::strerror(errno))}});
  const std::string text(std::istreambuf_iterator<char>(in), {});
  SearchFile file;
  std::size_t line_number = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', file.whole_bytes)) {
    const std::string line = text.substr(file.whole_bytes, end - file.whole_bytes);
    file.whole_bytes = end + 1;
    try {
      const Json json = Json::parse(line);
      if (++line_number == 1) {
        file.request = json.dump();
      } else {
        file.outcomes.push_back(outcome_of(json));
      }
    } catch (const std::exception&) {
      throw ConfigError({{fmt::format("{}:{}", printable(path), std::max<std::size_t>(line_number, 1)), "",
                          "expected a line of a result file of `foretoken search --out`"}});
    }
  }
  return file;
}

SearchLog::SearchLog(const std::string& path, const study::SearchRequest& request, bool resume) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0 && (errno == EINVAL || errno == ENXIO || errno == EACCES))  // a pipe may be write-only
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail(fmt::format("cannot be written: {}", std::strerror(errno)));
  struct stat status {};
  regular_ = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  if (regular_ && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail("another search is writing this file");
  const std::string header = header_of(request);
  if (regular_ && status.st_size > 0)
    take_up(header, resume);
  else
    write(header);
}

SearchLog::~SearchLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SearchLog::take_up(const std::string& header, bool resume) {
  if (!resume) fail("exists; continue it with --resume, or name another file");
  const SearchFile file = read_search_file(path_);
  if (::ftruncate(descriptor_, static_cast<off_t>(file.whole_bytes)) != 0)  // cuts off an unfinished line
    fail(fmt::format("cannot be written: {}", std::strerror(errno)));
  if (file.whole_bytes == 0) return write(header);
  if (file.request + '\n' != header)
    fail("holds the results of another search (scenario or options differ); name another file");
  for (const Outcome& outcome : file.outcomes) known_[outcome.candidate] = outcome;
}

void SearchLog::append(const search::Space& space, std::span<const Outcome> outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes)
    if (!known_.contains(outcome.candidate)) text += outcome_line(space, outcome);
  if (text.empty()) return;
  write(text);
  if (regular_) ::fdatasync(descriptor_);
}

void SearchLog::write(const std::string& text) {
  const off_t before = regular_ ? ::lseek(descriptor_, 0, SEEK_END) : 0;
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(descriptor_, text.data() + at, text.size() - at);
    if (written >= 0) {
      at += static_cast<std::size_t>(written);
      continue;
    }
    if (errno == EINTR) continue;
    const int error = errno;
    if (regular_) (void)!::ftruncate(descriptor_, before);
    if (error == EPIPE) throw ClosedPipe{};
    fail(fmt::format("cannot be written: {}", std::strerror(error)));
  }
}

void SearchLog::fail(const std::string& message) { throw ConfigError({{printable(path_), "", message}}); }

}  // namespace foretoken::tools
