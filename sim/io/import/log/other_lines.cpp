// Reads lines of NeMo, nanotron, torchtitan and Composer.
#include <cmath>

#include "sim/base/parse_number.h"
#include "sim/io/import/log/line_readers.h"
#include "sim/io/import/log/log_text.h"

namespace foretoken::io::log {
namespace {

std::optional<std::int64_t> whole_after(std::string_view line, std::string_view key) {
  const std::optional<double> value = number_after(line, key);
  constexpr double kLargest = 1e15;
  if (!value || *value < 0 || *value > kLargest) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

// torchtitan's header: "Training starts at step 1, with local batch size 8, global batch size 64, sequence length
// 8192, ...". Old versions state no global batch.
void take_torchtitan_header(std::string_view line, TrainingLog& log) {
  if (const auto local = whole_after(line, "local batch size"); local && *local > 0) log.local_batch = local;
  if (const auto global = whole_after(line, "global batch size"); global && *global > 0) log.global_batch = global;
  if (const auto length = whole_after(line, "sequence length"); length && *length > 0) log.sequence_length = length;
}

// "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]" names the GPUs.
void take_torchtitan_mesh(std::string_view line, TrainingLog& log) {
  const std::size_t open = line.rfind('[');
  if (open == line.npos) return;
  std::string_view rest = line.substr(open + 1);
  std::int64_t gpus = 1;
  constexpr std::int64_t kMostGpus = 10'000'000;
  while (const auto degree = take_number<std::int64_t>(rest, 1, kMostGpus)) {
    gpus *= *degree;
    if (gpus > kMostGpus) return;
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(", ")));
  }
  log.gpus = gpus;
}

}  // namespace

bool take_nemo(std::string_view line, LogBuilder& log) {
  auto seconds = positive_after(line, "train_step_timing in s");
  if (!seconds) seconds = positive_after(line, "train_step_timing");
  if (!seconds) {
    if (!has(line, "train_step_timing")) return false;
    log.add_broken(Format::kNemo);
    return true;
  }
  Entry entry{.step = 0, .steps = 0};
  entry.seconds = seconds;
  auto step = whole_after(line, "global_step");
  if (!step) step = whole_after(line, "iteration ");
  const std::vector<Entry>& before = log.of(Format::kNemo).entries;
  entry.step = step ? *step : before.empty() ? 0 : before.back().step + 1;
  entry.global_batch = whole_after(line, "global_batch_size");
  entry.at = clock_in(line);
  log.add(Format::kNemo, entry);
  return true;
}

bool take_nanotron(std::string_view line, LogBuilder& log) {
  if (!has(line, "time_per_iteration_ms")) return false;
  const auto step = whole_after(line, "iteration:");
  const auto ms = positive_after(line, "time_per_iteration_ms");
  if (!step || !ms) {
    log.add_broken(Format::kNanotron);
    return true;
  }
  Entry entry{.step = *step, .steps = 0};
  entry.seconds = *ms * 1e-3;
  entry.tokens_per_s_per_gpu = positive_after(line, "tokens_per_sec_per_gpu");
  entry.tflops_per_gpu = positive_after(line, "model_tflops_per_gpu");
  entry.at = clock_in(line);
  log.add(Format::kNanotron, entry);
  return true;
}

bool take_torchtitan(std::string_view line, LogBuilder& log) {
  TrainingLog& mine = log.of(Format::kTorchtitan);
  if (has(line, "Training starts at step")) {
    take_torchtitan_header(line, mine);
    return true;
  }
  if (has(line, "device mesh with [")) {
    take_torchtitan_mesh(line, mine);
    return true;
  }
  if (!has(line, "step:") || !has(line, "loss:") || (!has(line, "tps:") && !has(line, "wps:"))) return false;
  const auto step = whole_after(line, "step:");
  auto rate = positive_after(line, "tps:");
  if (!rate) rate = positive_after(line, "wps:");
  if (!step || !rate) {
    log.add_broken(Format::kTorchtitan);
    return true;
  }
  Entry entry{.step = *step, .steps = 0};
  entry.tokens_per_s_per_gpu = rate;
  entry.tflops_per_gpu = positive_after(line, "tflops:");
  if (const auto mfu = positive_after(line, "mfu:")) entry.mfu = *mfu / 100;
  entry.at = clock_in(line);
  log.add(Format::kTorchtitan, entry);
  return true;
}

bool take_composer(std::string_view line, LogBuilder& log) {
  TrainingLog& mine = log.of(Format::kComposer);
  if (const std::size_t at = line.find("[batch="); at != line.npos) {
    std::string_view rest = line.substr(at + std::string_view("[batch=").size());
    if (const auto step = take_number<std::int64_t>(rest, 0)) log.add(Format::kComposer, {.step = *step, .steps = 0});
    return true;
  }
  if (mine.entries.empty()) return false;
  Entry& entry = mine.entries.back();
  if (const auto rate = positive_after(line, "throughput/batches_per_sec")) entry.seconds = 1 / *rate;
  if (const auto rate = positive_after(line, "throughput/samples_per_sec")) entry.samples_per_s = rate;
  if (const auto rate = positive_after(line, "throughput/device/tokens_per_sec")) entry.tokens_per_s_per_gpu = rate;
  if (const auto mfu = positive_after(line, "throughput/device/mfu")) entry.mfu = mfu;
  return has(line, "throughput/");
}

}  // namespace foretoken::io::log
