// Writes the answer about a log for people: the steady state, the prediction, and the causes of the gap.
#include <fmt/format.h>

#include <cmath>

#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "tools/text/diagnose/log_answer.h"

namespace foretoken::tools {
namespace diagnose_text {
namespace {

using report::Ink;
using report::Paint;

std::string signed_percent(double part) { return fmt::format("{:+.1f} %", 100 * part); }

std::string row(std::string_view label, const std::string& value, const std::string& remark) {
  std::string line = "  " + report::pad_right(label, 14) + value;
  if (!remark.empty()) line = report::pad_right(line + "  ", 34) + remark;
  return line + '\n';
}

std::string left_out_words(const study::Steady& steady) {
  std::string words;
  for (std::size_t reason = 1; reason < study::kUnsteady; ++reason)
    if (const std::size_t count = steady.left_out[reason]; count > 0)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, name_of(static_cast<study::Unsteady>(reason)));
  return words.empty() ? "none" : words;
}

std::string rates_text(const LogAnswer& answer) {
  const study::Steady& steady = answer.steady;
  std::string text;
  if (const auto tokens = answer.tokens_per_s())
    text += row("throughput", report::significant(*tokens) + " tokens/s",
                steady.tokens_per_s_per_gpu
                    ? fmt::format("the log: {} tokens/s per GPU", report::significant(*steady.tokens_per_s_per_gpu))
                    : "");
  else if (steady.tokens_per_s_per_gpu)
    text += row("throughput", report::significant(*steady.tokens_per_s_per_gpu) + " tokens/s per GPU", "the log's own");
  if (!answer.tokens_per_s() && answer.samples_per_s())
    text += row("throughput", report::significant(*answer.samples_per_s()) + " samples/s", "");
  const auto mfu = answer.mfu();
  if (mfu) text += row("MFU", report::percent(*mfu), steady.mfu ? "the log: " + report::percent(*steady.mfu) : "");
  if (!mfu && steady.mfu) text += row("MFU", report::percent(*steady.mfu), "the log's own");
  if (steady.tflops_per_gpu)
    text += row("model FLOP/s", report::significant(*steady.tflops_per_gpu) + " TFLOP/s", "per GPU, the log's own");
  return text;
}

std::string steady_text(const LogAnswer& answer, const Paint& paint) {
  const study::Steady& steady = answer.steady;
  std::string text = report::title_text(
      "Steady state",
      fmt::format("{} steps in {} of {} entries", steady.steps, steady.entries, answer.log.entries.size()), paint);
  if (answer.step)
    text += row("step", report::time_text(*answer.step),
                steady.measured == study::Measured::kSeconds
                    ? fmt::format("95 % take at most {}", report::time_text(Seconds(steady.p95)))
                    : "from the rate that the log states");
  else
    text += row("step", "unknown", "the log states rates only; name its scenario, too");
  text += row("jitter", report::percent(steady.jitter), "robust standard deviation of a step");
  text += row("drift", signed_percent(steady.drift), "last third against first third");
  text += rates_text(answer);
  text += row("left out", left_out_words(steady), "");
  if (steady.restarts > 0) text += row("restarts", fmt::format("{}", steady.restarts), "steps go back");
  if (steady.stall_period_steps)
    text += row("stalls", fmt::format("every {:.0f} steps", *steady.stall_period_steps),
                "a loader, a collector of garbage or a checkpoint");
  if (steady.lost_s > 0) text += row("lost", report::time_text(Seconds(steady.lost_s)), "to pauses and stalls");
  return text;
}

std::string prediction_text(const LogAnswer& answer, const Paint& paint) {
  const study::Diagnosis& d = *answer.diagnosis;
  const report::Metrics& m = d.prediction.metrics;
  std::string text = report::title_text("Prediction", m.name, paint);
  text += row("step", report::time_text(m.step_time),
              fmt::format("{:.0f} %: {} to {}", 100 * m.interval->level, report::time_text(m.interval->low),
                          report::time_text(m.interval->high)));
  text += row("measured", signed_percent(d.gap()), d.inside ? "inside the interval" : "outside the interval");
  text += row("MFU", report::percent(m.mfu), "predicted");
  if (!answer.near_runs.empty()) {
    text += report::title_text("Nearest published runs", "measured beside predicted", paint);
    for (const study::NearRun& run : answer.near_runs)
      text += fmt::format("  {}{} measured, {} predicted\n", report::pad_right(run.id.substr(0, 40), 42),
                          report::time_text(run.measured), signed_percent(run.error()));
  }
  return text;
}

std::string cause_text(const study::RankedCause& cause, std::size_t number, const Paint& paint) {
  std::string text = paint.paragraph(fmt::format("  {}. ", number),
                                     fmt::format("{}: {}{}", report::chance(cause.likelihood), cause.words,
                                                 cause.tied ? " (one of several that fit)" : ""));
  text += paint.paragraph(
      "     ", fmt::format("predicts {}; mending it is worth {} a step ({})", report::time_text(cause.step),
                           report::time_text(cause.worth), signed_percent(-cause.worth.value() / cause.step.value())));
  return text + paint.paragraph("     ", "test: " + cause.test);
}

std::string causes_text(const study::Diagnosis& d, const Paint& paint) {
  constexpr double kLeast = 0.01;
  std::string text = report::title_text(
      "Causes of the gap", d.has_timers ? "ranked by the step and its timers" : "ranked by the step alone", paint);
  text += paint.paragraph(
      "  ", fmt::format("{}: nothing is wrong, and the prediction is off by the gap", report::chance(d.unexplained)));
  if (!d.explained())
    text +=
        paint.paragraph("  ", fmt::format("None of them meets the measured step of {} within a fifth: the chances only "
                                          "compare them with one another.",
                                          report::time_text(d.measured)));
  std::size_t number = 0;
  for (const study::RankedCause& cause : d.causes)
    if (cause.likelihood >= kLeast || number == 0) text += cause_text(cause, ++number, paint);
  return text;
}

}  // namespace
}  // namespace diagnose_text

std::optional<double> LogAnswer::samples_per_s() const {
  if (steady.samples_per_s) return steady.samples_per_s;
  if (!step || !steady.global_batch) return std::nullopt;
  return static_cast<double>(*steady.global_batch) / step->value();
}

std::optional<double> LogAnswer::tokens_per_s() const {
  if (!step) return std::nullopt;
  std::optional<std::int64_t> batch = steady.global_batch, length = log.sequence_length;
  if (diagnosis) {
    const job::Batch& asked = diagnosis->prediction.job.batch;
    if (!batch) batch = asked.global;
    if (!length) length = asked.sequence_length;
  }
  if (!batch || !length) return std::nullopt;
  return static_cast<double>(*batch) * static_cast<double>(*length) / step->value();
}

std::optional<double> LogAnswer::mfu() const {
  const auto tokens = tokens_per_s();
  if (!diagnosis || !tokens) return std::nullopt;
  const report::Metrics& m = diagnosis->prediction.metrics;
  return m.mfu * *tokens / m.tokens_per_s;
}

std::vector<std::string> LogAnswer::notes() const {
  constexpr double kMuchDrift = 0.02, kMuchJitter = 0.05;
  std::vector<std::string> notes = log.notes;
  if (log.broken_lines > 0)
    notes.push_back(fmt::format("{} too early; none of them counts.",
                                report::counted(static_cast<double>(log.broken_lines), "line ends", "lines end")));
  if (log.is_cut) notes.emplace_back("The log has more steps than are read; its first ones count.");
  if (std::abs(steady.drift) >= kMuchDrift)
    notes.push_back(
        fmt::format("The step changes by {:+.1f} % over the log: look for clocks that fall with heat, memory "
                    "that fragments, or experts whose balance changes.",
                    100 * steady.drift));
  if (steady.jitter >= kMuchJitter)
    notes.emplace_back(
        "Steps differ much from one another: look at the data loader, at other jobs on the network, and "
        "at lengths of sequences.");
  if (const auto measured = mfu(); measured && *measured > 1)
    notes.push_back(
        fmt::format("The log's steps would take {} of the GPUs' peak, which cannot be: it is of another job than the "
                    "scenario, or the "
                    "log states other units.",
                    report::percent(*measured)));
  if (diagnosis) notes.insert(notes.end(), diagnosis->notes.begin(), diagnosis->notes.end());
  return notes;
}

std::string log_answer_text(const LogAnswer& answer, const report::Paint& paint) {
  using namespace diagnose_text;
  std::string text = paint.name(answer.file);
  text += fmt::format("  a log of {}, {}\n", name_of(answer.log.format),
                      report::counted(static_cast<double>(answer.log.lines), "line"));
  text += steady_text(answer, paint);
  if (answer.diagnosis) text += prediction_text(answer, paint) + causes_text(*answer.diagnosis, paint);
  return text + report::warnings_text(answer.notes(), paint);
}

}  // namespace foretoken::tools
