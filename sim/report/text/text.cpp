// Writes the report from headline to warnings. Configuration and memory have files of their own.
#include "sim/report/text/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/text/number.h"
#include "sim/report/text/range.h"
#include "sim/report/text/time_parts.h"

namespace foretoken::report {
namespace {

std::string head_line(std::string_view label, std::string_view value, std::string_view remark, const Paint& paint,
                      Ink ink = Ink::kBold) {
  constexpr std::size_t kLabel = 14;
  const std::size_t value_columns = paint.columns() < kPageColumns ? 22 : 24;
  const std::string front = "  " + pad_right(label, kLabel) + paint(ink, value);
  if (remark.empty()) return front + '\n';
  const std::size_t used = columns_of(front), column = 2 + kLabel + value_columns;
  const std::string gap(used + 2 > column ? 2 : column - used, ' ');
  return paint.paragraph(front + gap, remark);
}

std::string run_lines(const Metrics& m, const Paint& paint) {
  const RunCost& run = *m.run;
  const auto within = [&](double value, std::string (*words)(Range)) {
    const auto range = range_of(m, value);
    return range ? fmt::format("{:.0f} %: {}", 100 * m.interval->level, words(*range)) : std::string();
  };
  const std::string days = within(run.days, days_range);
  std::string text = head_line("whole run", days_text(run.days),
                               fmt::format("{}{}for {} tokens, {} GPU hours", days, days.empty() ? "" : "; ",
                                           in_words(run.tokens), whole(run.gpu_hours)),
                               paint);
  if (run.cost) text += head_line("cost", whole(*run.cost) + " " + run.currency, within(*run.cost, words_range), paint);
  return text;
}

std::string memory_line(const Memory& memory, const Paint& paint) {
  const std::string where =
      memory.per_stage.size() > 1 ? fmt::format(", stage {}", memory.fullest.number()) : std::string();
  const Fit fit = memory.fit();
  const std::string remark =
      fmt::format("{} on the fullest GPU{}{}; allocator's peak {}", name_of(fit), where,
                  fit == Fit::kTight ? fmt::format(", {} full: try it before you rely on it", percent(memory.filled()))
                                     : std::string(),
                  gib(memory.peak));
  return head_line("memory",
                   fmt::format("{} of {} GiB", gib(memory.peak + memory.outside_allocator), gib(memory.capacity)),
                   fit == Fit::kFits ? remark : paint(fit == Fit::kTight ? Ink::kOrange : Ink::kRed, remark), paint);
}

// The first lines of a job that cannot run: its numbers are those of GPUs with enough memory.
std::string too_large_text(const Memory& memory, const Paint& paint) {
  return paint(Ink::kRed, fmt::format("  does not fit: {} of {} GiB on the fullest GPU",
                                      gib(memory.peak + memory.outside_allocator), gib(memory.capacity))) +
         '\n' +
         paint.paragraph(
             "  ",
             "The numbers below are those of GPUs with enough memory. `foretoken search` finds configurations "
             "that fit.");
}

std::string bubble_text(const Metrics& metrics, const Paint& paint) {
  return title_text("Pipeline bubble", "idle time of the pipeline over the work of its busiest stage", paint) +
         paint.paragraph(
             "  ",
             fmt::format("{} of the work of the busiest stage, or {} of the pipeline's time; {} with "
                         "equal stages and free messages. The table above counts less: only time of the whole step in "
                         "which this stage waits and nothing else runs",
                         percent(metrics.bubble_fraction), percent(metrics.bubble_fraction_of_step),
                         percent(metrics.ideal_bubble_fraction)));
}

std::string list_text(std::string_view title, const std::vector<std::string>& lines, const Paint& paint) {
  if (lines.empty()) return "";
  std::string text = title_text(title, "", paint);
  for (const std::string& line : lines) text += paint.paragraph("  - ", line);
  return text;
}

}  // namespace

std::string_view name_of(Fit fit) {
  if (fit == Fit::kTight) return "tight";
  return fit == Fit::kFits ? "fits" : "does not fit";
}

std::string title_text(std::string_view title, std::string_view remark, const Paint& paint) {
  std::string text = '\n' + paint(Ink::kBold, title);
  if (remark.empty()) return text + '\n';
  const bool fits = columns_of(title) + 2 + columns_of(remark) <= paint.columns();
  return text + (fits ? "  " + paint(Ink::kDim, remark) + '\n' : '\n' + paint.paragraph("  ", remark));
}

std::string headline_text(const job::Job& job, const Metrics& m, const Paint& paint) {
  const auto& batch = job.batch;
  std::string text = paint.name(m.name);
  if (!m.memory.fits) text += too_large_text(m.memory, paint);
  const Ink ink = m.memory.fits ? Ink::kBold : Ink::kDim;
  text += head_line("step", time_text(m.step_time),
                    fmt::format("{} of {}", counted(static_cast<double>(batch.global), "sequence"),
                                counted(static_cast<double>(batch.sequence_length), "token")),
                    paint, ink);
  if (m.interval)
    text += head_line("interval", time_text(m.interval->low) + " to " + time_text(m.interval->high),
                      fmt::format("{:.0f} %: {}", 100 * m.interval->level, m.interval->words), paint, ink);
  text += head_line("throughput", significant(m.tokens_per_s) + " tokens/s",
                    significant(m.tokens_per_s_per_gpu) + " tokens/s per GPU", paint, ink);
  text += head_line("MFU", percent(m.mfu),
                    fmt::format("of {} dense {} TFLOP/s: {} model TFLOP/s per GPU", plain(m.mfu_peak_tflops),
                                name_of(job.precision), significant(m.model_tflops_per_gpu)),
                    paint, ink);
  text +=
      head_line("HFU", percent(m.hfu),
                fmt::format("{} TFLOP/s per GPU, with recomputed operations", significant(m.hardware_tflops_per_gpu)),
                paint, ink);
  text += head_line("Megatron log", significant(m.megatron_log_tflops_per_gpu) + " TFLOP/s/GPU",
                    "as current versions print it: causal attention counted half", paint, ink);
  text += memory_line(m.memory, paint);
  if (m.run) text += run_lines(m, paint);
  return text;
}

std::string time_split_text(Stage busiest_stage, const Metrics& m, const Paint& paint) {
  constexpr std::size_t kInFront = 56, kMostBar = 40;
  const std::size_t bar_columns = std::min(kMostBar, paint.columns() - kInFront);
  const std::string gpu = m.shown_gpus.empty() ? "" : fmt::format(" (GPU {})", m.shown_gpus[busiest_stage].number());
  std::string text = title_text(
      "Where the time goes",
      fmt::format("stage {}{}, the busiest; every instant counted once", busiest_stage.number(), gpu), paint);
  double largest = 0;
  for (const TimePart& part : time_parts()) largest = std::max(largest, part.of(m.time) / m.step_time);
  for (const TimePart& part : time_parts()) {
    const Seconds time = part.of(m.time);
    if (time.value() == 0) continue;
    const double share = time / m.step_time;
    std::string line = "  " + pad_right(std::string(part.words), 34) + pad_left(time_text(time), 10) +
                       pad_left(percent(share), 8) + "  ";
    line += paint(Ink::kBlue, bar(largest > 0 ? share / largest : 0, bar_columns));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  text += fmt::format("  {:<34}{:>10}\n", "step", time_text(m.step_time));
  return text;
}

std::string delay_words(const Delay& delay, Seconds step) {
  std::string words = delay.what + ": ";
  if (delay.on_critical_path) words += fmt::format("on the critical path for {}; ", time_text(*delay.on_critical_path));
  const Seconds waits = step - delay.without;
  const bool gains = waits < Seconds(0);
  return words + fmt::format("the step {} {} ({:+.2f} %), {} without it", gains ? "gains" : "waits",
                             time_text(gains ? -1 * waits : waits), 100 * (waits / delay.without),
                             time_text(delay.without));
}

std::string delays_text(const Metrics& m, const Paint& paint) {
  if (!m.delays || m.delays->empty()) return "";
  std::string text = title_text("Slow hardware", "repaired, and the step simulated again", paint);
  for (const Delay& delay : *m.delays) text += paint.paragraph("  ", delay_words(delay, m.step_time));
  return text;
}

std::string warnings_text(const std::vector<std::string>& warnings, const Paint& paint) {
  return list_text("Warnings", warnings, paint);
}

std::string to_text(const job::Job& job, const job::Notes& notes, const observe::Observations& observed,
                    const Metrics& metrics, const Paint& paint) {
  std::string text = headline_text(job, metrics, paint);
  text += configuration_text(job, notes, paint);
  text += time_split_text(observed.busiest_stage, metrics, paint);
  text += fmt::format("  one layer by itself: forward {}, backward {}\n", time_text(metrics.layer_forward),
                      time_text(metrics.layer_backward));
  text += delays_text(metrics, paint);
  if (job.parallelism.pipeline > 1) text += bubble_text(metrics, paint);
  text += memory_text(metrics.memory, paint);
  text += list_text("Assumptions", metrics.assumptions, paint);
  text += warnings_text(metrics.warnings, paint);
  return text;
}

}  // namespace foretoken::report
