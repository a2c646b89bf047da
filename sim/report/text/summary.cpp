// Writes the summary of a prediction. Every line is cut to the screen, and remarks to the lines that are left.
#include "sim/report/text/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "sim/base/check.h"
#include "sim/cost/parts.h"
#include "sim/report/text/number.h"
#include "sim/report/text/range.h"
#include "sim/report/text/text.h"
#include "sim/report/text/time_parts.h"
#include "sim/step/profile_uses.h"

namespace foretoken::report {
namespace {

constexpr std::size_t kLabelColumns = 12, kValueColumns = 22, kMostParts = 5;

std::string summary_line(std::string_view label, std::string_view value, std::string_view remark, const Paint& paint,
                         Ink ink = Ink::kBold) {
  const std::size_t used = 2 + kLabelColumns + std::max(kValueColumns, columns_of(value) + 2);
  std::string line = "  " + pad_right(label, kLabelColumns) + paint(ink, value);
  if (remark.empty()) return line + '\n';
  return pad_right(line, used) + one_line(remark, kScreenColumns - used) + '\n';
}

std::string interval_line(const Metrics& m, const Paint& paint, Ink ink) {
  if (!m.interval) return "";
  const trust::Interval& interval = *m.interval;
  const std::string evidence = fmt::format("{:.0f} % ({})", 100 * interval.level, counted(interval.cases, "case"));
  return summary_line("interval", time_text(interval.low) + " to " + time_text(interval.high),
                      interval.outside ? evidence + ", outside validated range" : evidence, paint, ink);
}

std::string memory_summary(const Memory& memory, const Paint& paint) {
  std::string verdict(name_of(memory.fit()));
  if (memory.fit() == Fit::kTight) verdict += fmt::format(", {} full: try it first", percent(memory.filled()));
  if (memory.per_stage.size() > 1) verdict += fmt::format("; stage {} is the fullest", memory.fullest.number());
  return summary_line("memory",
                      fmt::format("{} of {} GiB", gib(memory.peak + memory.outside_allocator), gib(memory.capacity)),
                      verdict, paint, memory.fits ? Ink::kBold : Ink::kRed);
}

std::string run_summary(const Metrics& m, const Paint& paint) {
  if (!m.run) return "";
  const auto within = [&](double value, std::string (*words)(Range)) {
    const auto range = range_of(m, value);
    return range ? fmt::format("{:.0f} %: {}", 100 * m.interval->level, words(*range)) : std::string();
  };
  const std::string days = within(m.run->days, days_range);
  std::string text =
      summary_line("whole run", days_text(m.run->days),
                   fmt::format("{}{}{} tokens", days, days.empty() ? "" : "; ", in_words(m.run->tokens)), paint);
  if (m.run->cost)
    text += summary_line("cost", whole(*m.run->cost) + " " + m.run->currency, within(*m.run->cost, words_range), paint);
  return text;
}

// Writes the numbers, one a line.
std::string numbers_text(const job::Job& job, const Metrics& m, const Paint& paint) {
  const Ink ink = m.memory.fits ? Ink::kBold : Ink::kDim;
  std::string text = summary_line("step", time_text(m.step_time),
                                  fmt::format("{} of {}", counted(static_cast<double>(job.batch.global), "sequence"),
                                              counted(static_cast<double>(job.batch.sequence_length), "token")),
                                  paint, ink);
  text += interval_line(m, paint, ink);
  text += summary_line("throughput", significant(m.tokens_per_s) + " tokens/s",
                       significant(m.tokens_per_s_per_gpu) + " tokens/s per GPU", paint, ink);
  text += summary_line("MFU", percent(m.mfu),
                       fmt::format("{} of {} {} TFLOP/s per GPU", significant(m.model_tflops_per_gpu),
                                   plain(m.mfu_peak_tflops), name_of(job.precision)),
                       paint, ink);
  if (job.parallelism.pipeline > 1)
    text += summary_line("bubble", percent(m.bubble_fraction),
                         fmt::format("of the busiest stage's work; ideal {}", percent(m.ideal_bubble_fraction)), paint,
                         ink);
  return text + memory_summary(m.memory, paint) + run_summary(m, paint);
}

struct ShownPart {
  std::string words;
  Seconds time{};
};

// Returns the largest parts first. When there are more than the screen shows, the last one is the sum of the others.
std::vector<ShownPart> largest_parts(const Metrics& m) {
  std::vector<ShownPart> parts;
  for (const TimePart& part : time_parts())
    if (part.of(m.time).value() != 0) parts.push_back({part.words, part.of(m.time)});
  std::ranges::stable_sort(parts, [](const ShownPart& a, const ShownPart& b) { return a.time > b.time; });
  if (parts.size() <= kMostParts) return parts;
  ShownPart others{.words = fmt::format("{} others", parts.size() - kMostParts + 1)};
  for (std::size_t at = kMostParts - 1; at < parts.size(); ++at) others.time = others.time + parts[at].time;
  parts.resize(kMostParts - 1);
  parts.push_back(std::move(others));
  return parts;
}

std::string parts_text(Stage busiest_stage, const Metrics& m, const Paint& paint) {
  constexpr std::size_t kPartColumns = 34, kTimeColumns = 10, kPercentColumns = 8;
  const std::string gpu = m.shown_gpus.empty() ? "" : fmt::format(" (GPU {})", m.shown_gpus[busiest_stage].number());
  const std::vector<ShownPart> parts = largest_parts(m);
  std::size_t words = kPartColumns;
  for (const ShownPart& part : parts) words = std::max(words, columns_of(part.words));
  const std::size_t bars = kScreenColumns - 2 - words - kTimeColumns - kPercentColumns - 2;
  std::string text =
      title_text("Where the time goes", fmt::format("stage {}{}, the busiest", busiest_stage.number(), gpu), paint);
  for (const ShownPart& part : parts) {
    const std::string glyphs = bar(part.time / parts.front().time, bars);
    const std::string front = "  " + pad_right(part.words, words) + pad_left(time_text(part.time), kTimeColumns) +
                              pad_left(percent(part.time / m.step_time), kPercentColumns);
    text += glyphs.empty() ? front + '\n' : front + "  " + paint(Ink::kBlue, glyphs) + '\n';
  }
  return text;
}

// Returns what the reader must know before using the numbers, the most important first.
std::vector<std::string> remarks_of(const Metrics& m, const SummaryNotes& notes) {
  std::vector<std::string> remarks;
  if (m.memory.advice) remarks.push_back("to make it fit: " + *m.memory.advice);
  for (const std::string& line : notes.scaled) remarks.push_back("costs " + line);
  for (const std::string& warning : m.warnings) remarks.push_back("warning: " + warning);
  if (m.delays && !m.delays->empty()) remarks.push_back("slow hardware: " + delay_words(m.delays->back(), m.step_time));
  for (const std::string& line : notes.assumed) remarks.push_back("assumed: " + line);
  return remarks;
}

std::string too_large_words(const Memory& memory) {
  if (!memory.host || memory.host->fits())
    return fmt::format("does not fit: {} of {} GiB; try foretoken search (numbers as if it did)",
                       gib(memory.peak + memory.outside_allocator), gib(memory.capacity));
  const bool in_memory = !memory.host->memory.fits();
  const OutsideRoom& room = in_memory ? memory.host->memory : *memory.host->disks;
  return fmt::format("does not fit: {} of {} GiB of {}; try more nodes (numbers as if it did)", gib(room.used),
                     gib(room.capacity), in_memory ? "host memory" : "NVMe");
}

// Large numbers take a second line.
std::string too_large_lines(const Memory& memory, const Paint& paint) {
  std::istringstream lines(paragraph("  ", too_large_words(memory), kScreenColumns));
  std::string text;
  for (std::string line; std::getline(lines, line);) text += paint(Ink::kRed, line) + '\n';
  return text;
}

}  // namespace

std::string remarks_text(const std::vector<std::string>& remarks, std::size_t most, const Paint& paint) {
  std::string whole;
  bool narrow = true;  // no word is wider than the screen
  for (const std::string& remark : remarks) {
    std::istringstream lines(paragraph("  ", remark, kScreenColumns));
    for (std::string line; std::getline(lines, line);) {
      narrow = narrow && columns_of(line) <= kScreenColumns;
      whole += paint(Ink::kOrange, line) + '\n';
    }
  }
  if (narrow && static_cast<std::size_t>(std::ranges::count(whole, '\n')) <= most) return whole;
  const std::size_t shown = remarks.size() <= most ? remarks.size() : std::max<std::size_t>(most, 1) - 1;
  std::string text;
  for (std::size_t at = 0; at < shown; ++at)
    text += "  " + paint(Ink::kOrange, one_line(remarks[at], kScreenColumns - 2)) + '\n';
  if (shown < remarks.size()) text += fmt::format("  and {} more remarks: --details\n", remarks.size() - shown);
  return text;
}

std::vector<std::string> scaled_costs(const job::Job& job) {
  std::map<std::string, std::vector<std::string>> names;  // of parts, by GPU
  for (const auto& [profile, uses] : step::profiles_used(job))
    for (const cost::ScaledPart& part : cost::scaled_parts(*profile, uses)) names[part.from].push_back(part.name);
  std::vector<std::string> lines;
  for (const auto& [gpu, parts] : names)
    lines.push_back(fmt::format("scaled from {}: {}", gpu, fmt::join(parts, ", ")));
  return lines;
}

std::string configuration_line(const job::Job& job) {
  constexpr AxisSet kAlwaysNamed = {Axis::kTensor, Axis::kPipeline, Axis::kData};
  std::vector<std::string> parts;
  for (const auto& [axis, degree] : job::kDegrees) {
    if (kAlwaysNamed.contains(axis) || job.parallelism.*degree > 1)
      parts.push_back(fmt::format("{} {}", short_name_of(axis), job.parallelism.*degree));
    if (axis == Axis::kPipeline && job.parallelism.virtual_pipeline > 1)
      parts.push_back(fmt::format("VPP {}", job.parallelism.virtual_pipeline));
  }
  if (job.parallelism.expert > 1) parts.push_back(fmt::format("EP {}", job.parallelism.expert));
  if (job.parallelism.expert_tensor > 1) parts.push_back(fmt::format("ETP {}", job.parallelism.expert_tensor));
  if (job.parallelism.sequence_parallel) parts.emplace_back("SP");
  parts.push_back(fmt::format("micro-batch {}", job.batch.micro));
  if (job.parallelism.pipeline > 1 && job.schedule.name != "interleaved-1f1b") parts.push_back(job.schedule.name);
  if (job.recompute.granularity != model::RecomputeGranularity::kNone)
    parts.push_back(fmt::format("recompute {}", model::name_of(job.recompute.granularity)));
  if (job.optimizer.zero_stage > 0) parts.push_back(fmt::format("ZeRO {}", job.optimizer.zero_stage));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string hints_text(const std::vector<Hint>& hints, const Paint& paint, std::size_t columns) {
  std::size_t widest = 0;
  for (const Hint& hint : hints) {
    const std::size_t used = 2 + columns_of(hint.command);
    if (used + 2 + columns_of(hint.use) <= columns) widest = std::max(widest, used);
  }
  std::string text;
  for (const Hint& hint : hints) {
    std::string line = "  " + hint.command;
    const std::size_t column = std::max(widest, columns_of(line)) + 2;
    if (column + columns_of(hint.use) <= columns) line = pad_right(line, column) + paint(Ink::kDim, hint.use);
    text += line + '\n';
  }
  return text;
}

std::string summary_text(const job::Job& job, const observe::Observations& observed, const Metrics& metrics,
                         const SummaryNotes& notes, const Paint& paint) {
  expects(notes.hints.size() <= kSummaryHints, "the screen has room for the hints");
  std::string above = paint(Ink::kBold, one_line(metrics.name, kScreenColumns)) + '\n';
  if (!metrics.memory.fits) above += too_large_lines(metrics.memory, paint);
  above += "  " + one_line(configuration_line(job), kScreenColumns - 2) + '\n' + numbers_text(job, metrics, paint);
  std::string below = parts_text(observed.busiest_stage, metrics, paint);
  if (!notes.hints.empty()) below += '\n' + hints_text(notes.hints, paint);
  const auto used = static_cast<std::size_t>(std::ranges::count(above + below, '\n'));
  const std::size_t left = kSummaryLines - std::min(used, kSummaryLines);
  return above + remarks_text(remarks_of(metrics, notes), left, paint) + below;
}

}  // namespace foretoken::report
