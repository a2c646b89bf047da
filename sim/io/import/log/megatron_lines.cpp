// Reads lines of Megatron-LM (megatron/training/training.py, training_log) and its tables of timers.
#include <cmath>

#include "sim/base/parse_number.h"
#include "sim/io/import/log/line_readers.h"
#include "sim/io/import/log/log_text.h"

namespace foretoken::io::log {
namespace {

constexpr double kMs = 1e-3;

// Reads "iteration       10/    1000 |". Other lines have words in the place of the numbers.
std::optional<std::int64_t> iteration_of(std::string_view line) {
  for (std::size_t at = line.find("iteration"); at != line.npos; at = line.find("iteration", at + 1)) {
    std::string_view rest = line.substr(at + std::string_view("iteration").size());
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
    const auto step = take_number<std::int64_t>(rest, 0);
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
    if (step && rest.starts_with('/')) return step;
  }
  return std::nullopt;
}

std::optional<double> step_seconds(std::string_view line) {
  if (const auto ms = ungrouped_after(line, "elapsed time per iteration (ms)")) return *ms * kMs;
  return ungrouped_after(line, "elapsed time per iteration (s)");
}

// A line that ends within its time states only the first digits of it.
bool is_cut(std::string_view line) { return line.find('|', line.find("elapsed time")) == line.npos; }

void take_iteration(std::string_view line, std::int64_t step, LogBuilder& log) {
  Entry entry{.step = step, .steps = 0};
  entry.seconds = step_seconds(line);
  if (!entry.seconds || is_cut(line)) return log.add_broken(Format::kMegatron);
  entry.at = clock_in(line);
  entry.samples_per_s = positive_after(line, "samples per second");
  entry.tflops_per_gpu = positive_after(line, "throughput per GPU (TFLOP/s/GPU)");
  if (!entry.tflops_per_gpu) entry.tflops_per_gpu = positive_after(line, "TFLOPs");
  if (const auto batch = positive_after(line, "global batch size"); batch && *batch < 1e12)
    entry.global_batch = static_cast<std::int64_t>(*batch);
  log.add(Format::kMegatron, entry);
}

// Reads " | forward: 35650.91 | backward: 85861.86" of versions up to 2022.
void take_bar_timers(std::string_view line, LogBuilder& log) {
  std::size_t bar = line.find('|');
  while (bar != line.npos) {
    const std::size_t next = line.find('|', bar + 1);
    std::string_view part = line.substr(bar + 1, next == line.npos ? next : next - bar - 1);
    const std::size_t colon = part.rfind(": ");
    const std::size_t start = part.find_first_not_of(' ');
    if (colon != part.npos && start < colon)
      if (const auto ms = number_after(part.substr(colon), ":"); ms && *ms >= 0)
        log.add_timer(Format::kMegatron, part.substr(start, colon - start), *ms * kMs, *ms * kMs);
    bar = next;
  }
}

// Reads "    forward-compute ......: (290.62, 291.04)" or "...: 291.04" of a table; false ends the table.
bool take_table_row(std::string_view line, LogBuilder& log) {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == line.npos || start == 0) return false;
  if (log.table == "all" && line.substr(start).starts_with("rank ")) {
    if (const auto ms = number_after(line.substr(start), ":"); ms && *ms >= 0)
      log.add_rank_timer(Format::kMegatron, log.table_timer, *ms * kMs);
    return true;
  }
  const std::size_t colon = line.find(':', start);
  if (colon == line.npos) return false;
  const std::string_view name = line.substr(start, line.find_first_of(" .:", start) - start);
  if (log.table == "all") {
    log.table_timer = std::string(name.substr(0, 64));
    return true;
  }
  std::string_view values = line.substr(colon + 1);
  if (log.table == "max") {
    if (const auto ms = number_after(values, ""); ms && *ms >= 0)
      log.add_timer(Format::kMegatron, name, *ms * kMs, *ms * kMs);
    return true;
  }
  const auto least = number_after(values, "("), most = number_after(values, ", ");
  if (least && most && *least >= 0 && *most >= *least)
    log.add_timer(Format::kMegatron, name, *least * kMs, *most * kMs);
  return true;
}

// Begins a table; the least and the most of the ranks count from then on.
bool begins_table(std::string_view line, LogBuilder& log) {
  if (has(line, "time across ranks (ms)") || has(line, "times across ranks (ms)")) {
    log.table = has(line, "(min, max)") ? "minmax" : has(line, "max time") ? "max" : "all";
    log.of(Format::kMegatron).timer_scope = log.table == "max" ? TimerScope::kMost : TimerScope::kLeastAndMost;
    return true;
  }
  return false;
}

}  // namespace

bool take_megatron(std::string_view line, LogBuilder& log) {
  const auto step = has(line, "elapsed time per iteration (") ? iteration_of(line) : std::nullopt;
  if (!step && !log.table.empty() && take_table_row(line, log)) return true;
  log.table = {};
  if (step) {
    take_iteration(line, *step, log);
    return true;
  }
  if (line.starts_with("time (ms) |")) {
    take_bar_timers(line, log);
    return true;
  }
  return begins_table(line, log);
}

}  // namespace foretoken::io::log
