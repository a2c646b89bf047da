// Reads a result file of a search, continues it, and appends to it.
#include "tools/output/search_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/base/error.h"
#include "sim/base/hash.h"
#include "sim/base/text.h"
#include "sim/io/json/parse_json.h"
#include "tools/options/lines.h"
#include "tools/output/output.h"
#include "tools/text/search_text.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;
using search::Outcome;
using search::Verdict;

constexpr std::array<const char*, 4> kVerdicts{"invalid", "too large", "slower", "replayed"};
constexpr std::string_view kCheck = ",\"check\":\"", kCheckEnd = "\"}";
constexpr std::size_t kCheckDigits = 16, kLongestOutcome = 4096;

// Returns the end of a line that begins with `front`, in the file of `header`. It holds a hash of both, which shows
// that a line was edited or copied from another file.
std::string check_of(std::string_view front, std::string_view header) {
  return fmt::format("{}{:016x}{}", kCheck, hash(front, hash(header)), kCheckEnd);
}

// Throws std::exception for anything but a line that outcome_line() wrote.
Outcome outcome_of(const std::string& line, std::string_view header) {
  constexpr std::size_t kEnd = kCheck.size() + kCheckDigits + kCheckEnd.size();
  const std::size_t front = line.size() - std::min(kEnd, line.size());
  io::Findings findings;
  const auto json = io::parse_json(line, "", findings);
  if (!json || line.substr(front) != check_of(line.substr(0, front), header)) throw std::invalid_argument("line");
  Outcome outcome;
  outcome.candidate = json->at("candidate").get<std::size_t>();
  const auto verdict = std::find(kVerdicts.begin(), kVerdicts.end(), json->at("verdict").get<std::string>());
  if (verdict == kVerdicts.end()) throw std::invalid_argument("verdict");
  outcome.verdict = static_cast<Verdict>(verdict - kVerdicts.begin());
  outcome.fits = json->at("fits").get<bool>();
  outcome.peak = Bytes(json->at("peak_bytes").get<double>());
  outcome.step_time.ps = json->at("step_time_ps").get<std::int64_t>();
  if (outcome.verdict == Verdict::kReplayed) {
    const auto& overlap = json->at("overlap");
    for (const auto& [name, member] : job::kOverlaps)
      outcome.overlap.*member = overlap.at(std::string(name)).get<bool>();
    outcome.overlap.exchanges = overlap.value("exchanges", false);
  }
  return outcome;
}

// Why the file of `found` does not go on for `asked`; both are headers.
std::string difference(const std::string& found, const std::string& asked) {
  io::Findings findings;
  const auto theirs = io::parse_json(found, "", findings), ours = io::parse_json(asked, "", findings);
  if (!theirs || !ours || !theirs->is_object() || !theirs->contains("foretoken_search"))
    return "is no result file of `foretoken search --out`";
  const auto differs = [&](const char* key) { return !theirs->contains(key) || theirs->at(key) != ours->at(key); };
  if (differs("foretoken_search") || differs("program"))
    return "holds the results of another version of foretoken; name another file";
  for (const auto& [key, value] : ours->items())
    if (key != "inputs" && differs(key.c_str()))
      return "holds the results of another search (scenario, its files or options differ); name another file";
  return "is out of date: data that the scenario names have changed since; name another file";
}

}  // namespace

std::string outcome_line(const search::Space& space, const Outcome& outcome, std::string_view header) {
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
  if (outcome.verdict == Verdict::kReplayed) json["overlap"] = overlap_json(c, outcome.overlap);
  json["fits"] = outcome.fits;
  json["peak_bytes"] = outcome.peak.value();
  json["simulated_step_time_s"] = des::to_seconds(outcome.step_time).value();
  json["step_time_ps"] = outcome.step_time.ps;
  std::string line = json.dump();
  line.pop_back();
  return line + check_of(line, header) + '\n';
}

SearchFile read_search_file(const std::string& path, const std::string& header) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ConfigError({{printable(path), "", fmt::format("cannot be read: {}", std::strerror(errno))}});
  SearchFile file;
  Lines lines(in, printable(path), io::kLargestFile);
  const std::optional<std::string> first = lines.next();
  const bool cut = first && !lines.is_whole();  // by a power cut, while it was written
  if (cut && header.starts_with(*first)) return file;
  if (cut || (first && *first != header)) throw ConfigError({{printable(path), "", difference(*first, header)}});
  if (first) file.whole_bytes = first->size() + 1;
  Lines outcomes(in, printable(path), kLongestOutcome);
  for (auto line = outcomes.next(); line && outcomes.is_whole(); line = outcomes.next()) {
    try {
      const Outcome outcome = outcome_of(*line, header);
      if (!file.outcomes.emplace(outcome.candidate, outcome).second) throw std::invalid_argument("twice");
    } catch (const std::exception&) {
      throw ConfigError({{fmt::format("{}:{}", printable(path), outcomes.number() + 1), "",
                          "this line is not as `foretoken search` wrote it; delete it, or name another file"}});
    }
    file.whole_bytes += line->size() + 1;
  }
  return file;
}

SearchLog::SearchLog(const std::string& path, const study::SearchRequest& request, bool resume)
    : path_(path), header_(to_json(request)) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const int error = errno;
  if (descriptor_ < 0 && (error == EINVAL || error == ENXIO || error == EACCES))  // a pipe may be write-only
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail(fmt::format("cannot be written: {}", std::strerror(error)));
  struct stat status {};
  regular_ = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  if (regular_ && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail("another search is writing this file");
  // Another search may have written it before this one got the lock.
  if (regular_ && ::fstat(descriptor_, &status) == 0 && status.st_size > 0)
    take_up(resume);
  else
    write(header_ + '\n');
}

SearchLog::~SearchLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SearchLog::take_up(bool resume) {
  if (!resume) fail("exists; continue it with --resume, or name another file");
  SearchFile file = read_search_file(path_, header_);
  if (::ftruncate(descriptor_, static_cast<off_t>(file.whole_bytes)) != 0)  // cuts off an unfinished line
    fail(fmt::format("cannot be written: {}", std::strerror(errno)));
  if (file.whole_bytes == 0) write(header_ + '\n');
  known_ = std::move(file.outcomes);
}

void SearchLog::append(const search::Space& space, std::span<const Outcome> outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes)
    if (!known_.contains(outcome.candidate)) text += outcome_line(space, outcome, header_);
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
