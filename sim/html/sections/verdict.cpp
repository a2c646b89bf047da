// Shows the answer at the top: one sentence, and the most important numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"

namespace foretoken::html {
namespace {

using report::Metrics;

std::string tile(std::string_view label, std::string_view value, std::string_view note, std::string_view style = "") {
  return fmt::format("<div class=\"tile {}\"><dt>{}</dt><dd>{}</dd><dd class=\"note\">{}</dd></div>\n", style,
                     escaped(label), escaped(value), escaped(note));
}

// Writes the interval: "90 % of runs: 23.1-26.4 days", or nothing where there is none.
std::string within(const Metrics& m, double value, std::string (*words)(report::Range)) {
  const auto range = report::range_of(m, value);
  return range ? fmt::format("{:g} % of runs: {}", 100 * m.interval->level, unbroken(words(*range))) : std::string();
}

std::string_view style_of(report::Fit fit) {
  if (fit == report::Fit::kTight) return "warn";
  return fit == report::Fit::kFits ? "good" : "bad";
}

// The run with failures, of the option of a plan that the report is about.
const study::PlanOption* planned(const ReportData& data) {
  return data.plan && data.plan->about ? &data.plan->options[*data.plan->about] : nullptr;
}

std::string sentence(const ReportData& data) {
  const Metrics& m = data.base.metrics;
  const job::Job& job = data.base.job;
  const std::string machine = report::counted(job.gpus, job.gpu_names() + " GPU");
  if (m.memory.host && !m.memory.host->fits())
    return fmt::format(
        "{} does not fit beside {}: the {} of a host need {} of {} GiB of its memory, or more than its disks. The "
        "numbers below are those of hosts with enough room.",
        job.model.name, machine, report::counted(m.memory.host->gpus, "GPU"), report::gib(m.memory.host->memory.used),
        report::gib(m.memory.host->memory.capacity));
  if (!m.memory.fits)
    return fmt::format(
        "{} does not fit on {}: {} of {} GiB are needed on the fullest GPU. `foretoken search` finds "
        "configurations that fit; the numbers below are those of GPUs with enough memory.",
        job.model.name, machine, report::gib(m.memory.peak + m.memory.outside_allocator),
        report::gib(m.memory.capacity));
  if (!m.run)
    return fmt::format("{} on {} takes {} a step, {} tokens a second.", job.model.name, machine,
                       report::time_text(m.step_time), report::significant(m.tokens_per_s, 3));
  std::string text = fmt::format("Training {} on {} tokens with {} takes {} without failures", job.model.name,
                                 report::in_words(m.run->tokens), machine, report::days_text(m.run->days));
  if (m.run->cost) text += fmt::format(" and costs {} {}", in_words3(*m.run->cost), m.run->currency);
  if (!m.interval) return text + '.';
  text += fmt::format("; {:g} % of such runs take {}", 100 * m.interval->level,
                      unbroken(report::days_range(*report::range_of(m, m.run->days))));
  if (m.run->cost)
    text += fmt::format(" and cost {} {}", unbroken(report::words_range(*report::range_of(m, *m.run->cost))),
                        m.run->currency);
  text += '.';
  if (const study::PlanOption* const plan = planned(data)) {
    text += fmt::format(" With failures and checkpoints half of such runs are done in {}, nine in ten in {}",
                        report::days_text(plan->p50_days), report::days_text(plan->p90_days));
    if (plan->cost) text += fmt::format(", at an expected cost of {} {}", in_words3(*plan->cost), data.plan->currency);
    text += '.';
  }
  return text;
}

std::string run_tiles(const ReportData& data) {
  const Metrics& m = data.base.metrics;
  const report::RunCost& run = *m.run;
  const study::PlanOption* const plan = planned(data);
  const auto tile_of = [&](std::string_view label, const std::string& value, const std::string& range,
                           const std::string& note) {
    return tile(label, value, range.empty() ? note : range + "; " + note);
  };
  std::string html =
      tile_of(m.memory.fits ? "Whole run" : "Whole run, if it fitted", report::days_text(run.days),
              within(m, run.days, report::days_range),
              plan ? fmt::format("without failures; with them {} (P50), {} (P90)", report::days_text(plan->p50_days),
                                 report::days_text(plan->p90_days))
                   : fmt::format("{} GPU hours, failures not counted", report::in_words(std::round(run.gpu_hours))));
  if (run.cost)
    html += tile_of(m.memory.fits ? "Cost" : "Cost, if it fitted",
                    fmt::format("{} {}", in_words3(*run.cost), run.currency), within(m, *run.cost, report::words_range),
                    plan && plan->cost
                        ? fmt::format("without failures; with them {} {}", in_words3(*plan->cost), run.currency)
                        : fmt::format("{} {} per billion tokens", report::significant(*run.cost / run.tokens * 1e9, 3),
                                      run.currency));
  return html;
}

// Shows the mean error on the nearest measured runs.
std::string trust_tile(const ReportData& data) {
  if (data.near_runs.empty())
    return tile("Nearest measured runs", "none", "no published run has its GPU, its software or its precision");
  double sum = 0;
  for (const study::NearRun& run : data.near_runs) sum += std::abs(run.error());
  const auto count = static_cast<double>(data.near_runs.size());
  return tile("Error on near runs", report::percent(sum / count),
              fmt::format("mean of the {} nearest measured steps", data.near_runs.size()));
}

}  // namespace

std::string verdict(const ReportData& data) {
  const Metrics& m = data.base.metrics;
  const auto& batch = data.base.job.batch;
  std::string html = fmt::format("<p class=\"lead\">{}</p>\n<dl class=\"tiles\">\n", escaped(sentence(data)));
  html += tile("Memory", std::string(name_of(m.memory.fit())),
               fmt::format("{} of {} GiB on the fullest GPU, {} full", report::gib(m.memory.needed()),
                           report::gib(m.memory.capacity), report::percent(m.memory.filled())),
               style_of(m.memory.fit()));
  html += tile(m.memory.fits ? "Step" : "Step, if it fitted", report::time_text(m.step_time),
               m.interval ? within(m, m.step_time.value(), report::time_range)
                          : fmt::format("{} of {}", report::counted(static_cast<double>(batch.global), "sequence"),
                                        report::counted(static_cast<double>(batch.sequence_length), "token")));
  html += tile(m.memory.fits ? "Throughput" : "Throughput, if it fitted",
               fmt::format("{} tokens/s", report::significant(m.tokens_per_s, 3)),
               fmt::format("{} tokens/s per GPU", report::significant(m.tokens_per_s_per_gpu, 3)));
  html += tile(m.memory.fits ? "MFU" : "MFU, if it fitted", report::percent(m.mfu),
               fmt::format("{} of {} dense {} TFLOP/s", report::significant(m.model_tflops_per_gpu, 4),
                           report::plain(m.mfu_peak_tflops), name_of(data.base.job.precision)));
  if (m.run) html += run_tiles(data);
  html +=
      tile("Bubble", report::percent(m.bubble_fraction),
           fmt::format(
               "idle time over the work of the busiest stage; ideal {}; {} of the whole step is waiting that nothing "
               "hides",
               report::percent(m.ideal_bubble_fraction), report::percent(m.time.bubble / m.step_time)));
  html += trust_tile(data) + "</dl>\n";
  if (m.interval) html += paragraph("The interval rests on " + m.interval->words + ".", "remark under");
  if (m.memory.advice) html += paragraph("To make it fit: " + *m.memory.advice + ".", "callout");
  for (const std::string& warning : m.warnings) html += paragraph(warning, "callout");
  return html;
}

}  // namespace foretoken::html
