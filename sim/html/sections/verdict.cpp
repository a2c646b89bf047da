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

std::string sentence(const ReportData& data) {
  const Metrics& m = data.base.metrics;
  const job::Job& job = data.base.job;
  const std::string machine = report::counted(job.gpus, job.gpu_names() + " GPU");
  if (!m.memory.fits)
    return fmt::format("{} does not fit on {}: {} of {} GiB are needed on the fullest GPU.", job.model.name, machine,
                       report::gib(m.memory.peak + m.memory.outside_allocator), report::gib(m.memory.capacity));
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
  if (data.plan) text += " The capacity plan below counts failures and checkpoints.";
  return text;
}

std::string run_tiles(const Metrics& m) {
  const report::RunCost& run = *m.run;
  const auto tile_of = [&](std::string_view label, const std::string& value, const std::string& range,
                           const std::string& note) {
    return tile(label, value, range.empty() ? note : range + "; " + note);
  };
  std::string html =
      tile_of("Whole run", report::days_text(run.days), within(m, run.days, report::days_range),
              fmt::format("{} GPU hours, failures not counted", report::in_words(std::round(run.gpu_hours))));
  if (run.cost)
    html += tile_of(
        "Cost", fmt::format("{} {}", in_words3(*run.cost), run.currency), within(m, *run.cost, report::words_range),
        fmt::format("{} {} per billion tokens", report::significant(*run.cost / run.tokens * 1e9, 3), run.currency));
  return html;
}

// Shows the mean error on the nearest measured runs.
std::string trust_tile(const ReportData& data) {
  if (data.near_runs.empty()) return tile("Nearest measured runs", "none", "no published run resembles this one");
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
  const Bytes used = m.memory.peak + m.memory.outside_allocator;
  std::string html = fmt::format("<p class=\"lead\">{}</p>\n<dl class=\"tiles\">\n", escaped(sentence(data)));
  html += tile("Memory", m.memory.fits ? "Fits" : "Does not fit",
               fmt::format("{} of {} GiB on the fullest GPU", report::gib(used), report::gib(m.memory.capacity)),
               m.memory.fits ? "good" : "bad");
  html += tile("Step", report::time_text(m.step_time),
               m.interval ? within(m, m.step_time.value(), report::time_range)
                          : fmt::format("{} of {}", report::counted(static_cast<double>(batch.global), "sequence"),
                                        report::counted(static_cast<double>(batch.sequence_length), "token")));
  html += tile("Throughput", fmt::format("{} tokens/s", report::significant(m.tokens_per_s, 3)),
               fmt::format("{} tokens/s per GPU", report::significant(m.tokens_per_s_per_gpu, 3)));
  html += tile("MFU", report::percent(m.mfu),
               fmt::format("{} of {} dense {} TFLOP/s", report::significant(m.model_tflops_per_gpu, 4),
                           report::plain(m.mfu_peak_tflops), name_of(data.base.job.precision)));
  if (m.run) html += run_tiles(m);
  html += tile(
      "Bubble", report::percent(m.bubble_fraction),
      fmt::format("idle time over the work of the busiest stage; ideal {}", report::percent(m.ideal_bubble_fraction)));
  html += trust_tile(data) + "</dl>\n";
  if (m.interval) html += paragraph("The interval rests on " + m.interval->words + ".", "remark under");
  if (m.memory.advice) html += paragraph("To make it fit: " + *m.memory.advice + ".", "callout");
  for (const std::string& warning : m.warnings) html += paragraph(warning, "callout");
  return html;
}

}  // namespace foretoken::html
