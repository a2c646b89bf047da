// Reads lines of MLPerf's logging library: ":::MLLOG" and a JSON object.
//
// The key of the step's time changed: `train_step_timing` (v3), `train_step_time` (v5), and in between only a
// `throughput` of a block, which includes the block's start.
#include <nlohmann/json.hpp>

#include "sim/io/import/log/line_readers.h"
#include "sim/io/import/log/log_text.h"

namespace foretoken::io::log {
namespace {

using LineJson = nlohmann::json;
constexpr double kLargestValue = 1e15;

std::optional<double> number_in(const LineJson& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return value >= 0 && value < kLargestValue ? std::optional(value) : std::nullopt;
}

void take_statistics(const LineJson& value, const LineJson& metadata, std::optional<double> at, LogBuilder& log) {
  Entry entry;
  entry.at = at;
  entry.step = static_cast<std::int64_t>(number_in(metadata, "step").value_or(0));
  for (const char* key : {"train_step_timing", "train_step_time", "train_step_timing in s"})
    if (const auto seconds = number_in(value, key); seconds && *seconds > 0) entry.seconds = seconds;
  if (const auto rate = number_in(value, "throughput"); rate && *rate > 0) entry.samples_per_s = rate;
  if (entry.seconds || entry.samples_per_s) log.add(Format::kMlperf, entry);
}

void take_header(const std::string& key, const LineJson& value, TrainingLog& log) {
  const auto whole = [&](std::optional<std::int64_t>& into) {
    if (value.is_number() && value.get<double>() >= 1 && value.get<double>() < kLargestValue)
      into = static_cast<std::int64_t>(value.get<double>());
  };
  if (key == "global_batch_size") whole(log.global_batch);
  if (key == "max_sequence_length") whole(log.sequence_length);
  if (key == "submission_platform" && value.is_string()) log.platform = value.get<std::string>().substr(0, 80);
}

}  // namespace

bool take_mlperf(std::string_view line, LogBuilder& log) {
  constexpr std::string_view kMark = ":::MLLOG";
  const std::size_t mark = line.find(kMark);
  if (mark == line.npos) return false;
  std::string_view text = line.substr(mark + kMark.size());
  if (const std::size_t end = text.rfind('}'); end != text.npos) text = text.substr(0, end + 1);
  const LineJson object = LineJson::parse(text, nullptr, false);
  if (!object.is_object()) {
    log.add_broken(Format::kMlperf);
    return true;
  }
  const std::string key = object.contains("key") && object["key"].is_string() ? object["key"].get<std::string>() : "";
  const LineJson value = object.value("value", LineJson()), metadata = object.value("metadata", LineJson());
  const auto ms = number_in(object, "time_ms");
  TrainingLog& mine = log.of(Format::kMlperf);
  if (key == "tracked_stats") take_statistics(value, metadata, ms ? std::optional(*ms / 1000) : std::nullopt, log);
  if (key == "eval_start") log.add_pause(Pause::kEvaluation);
  ++mine.lines;
  take_header(key, value, mine);
  return true;
}

}  // namespace foretoken::io::log
