// Writes the answer of a search as text.
#include "tools/text/search_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/report/scatter.h"
#include "sim/report/text/number.h"
#include "sim/report/text/range.h"
#include "sim/report/text/text.h"
#include "tools/text/launch_line.h"
#include "tools/text/search_table.h"

namespace foretoken::tools {
namespace {

using report::Ink;
using report::Paint;
using report::Table;
using search::Objective;

std::string objective_value(Objective objective, const study::FoundConfiguration& found) {
  const Seconds step = found.step_time;
  switch (objective) {
    case Objective::kStepTime:
      return report::time_text(step);
    case Objective::kCost:
      return fmt::format("{} GPU-s", report::significant(found.candidate.gpus * step.value()));
    case Objective::kGpus:
      return report::counted(found.candidate.gpus, "GPU");
    case Objective::kMemory:
      return report::gib(study::needed(found)) + " GiB";
  }
  return "";
}

// Names what changes the numbers of the training.
std::string numerics_text(const study::SearchAnswer& answer, const Paint& paint) {
  const search::Candidate& best = answer.ranked.front().candidate;
  std::vector<std::string> changes;
  if (best.precision) changes.push_back(fmt::format("trains in {}", name_of(*best.precision)));
  if (best.short_gradients) changes.emplace_back("reduces gradients in 16 bits");
  const bool chose_schedule = std::ranges::count(answer.searched, name_of(job::Key::kSchedule)) > 0;
  if (chose_schedule && answer.ranked.front().metrics->weights)
    changes.emplace_back("updates its weights without a flush");
  if (changes.empty()) return "";
  return paint.paragraph("  ", fmt::format("The best {}, which was searched on request and changes the numbers of a "
                                           "training. Check that the model still converges.",
                                           fmt::join(changes, ", ")));
}

// Gives time and cost of the whole run with the best configuration.
std::string run_text(const report::Metrics& best, const Paint& paint) {
  if (!best.run) return "";
  const report::RunCost& run = *best.run;
  std::string text = fmt::format("With the best, {} tokens take {} ({})", report::in_words(run.tokens),
                                 report::days_text(run.days), report::days_range(*report::range_of(best, run.days)));
  if (run.cost)
    text += fmt::format(" and cost {} {} ({})", report::in_words3(*run.cost), run.currency,
                        report::words_range(*report::range_of(best, *run.cost)));
  return paint.paragraph("  ", text + ", failures not counted.");
}

// Says how far the order of the list can be trusted.
std::string order_text(const study::SearchAnswer& answer, const Paint& paint) {
  const trust::Difference& known = answer.difference;
  if (answer.ranked.size() < 2 || known.comparisons == 0) return "";
  const study::FoundConfiguration& best = answer.ranked.front();
  const auto is_near = [&](const study::FoundConfiguration& other) {  // the same job, no farther than half of all pairs
    return other.candidate.gpus == best.candidate.gpus &&
           std::abs(other.metrics->step_time / best.metrics->step_time - 1) <= known.half;
  };
  std::size_t near = 1;
  while (near < answer.ranked.size() && is_near(answer.ranked[near])) ++near;
  std::string text = fmt::format(
      "Pairs of published runs of one job {}: the predicted ratio of their steps misses the measured one by less than "
      "{} in half of all pairs, and by less than {} in nine of ten ({} runs of {}, worth {:.0f} independent "
      "comparisons; runs that their runtime was fitted on count too).",
      known.where, report::percent(known.half), report::percent(known.nine_in_ten), known.runs,
      report::counted(known.jobs, "job"), known.comparisons);
  if (near > 1)
    text += fmt::format(" Rank{} {} {} within {} of the best: measure before you choose.", near > 2 ? "s" : "",
                        near > 2 ? fmt::format("2 to {}", near) : "2", near > 2 ? "are" : "is",
                        report::percent(known.half));
  return paint.paragraph("  ", text);
}

// Warns of a best configuration that almost fills the memory.
std::string edge_text(const study::SearchAnswer& answer, const Paint& paint) {
  const study::FoundConfiguration& best = answer.ranked.front();
  if (!best.outcome.fits || study::filled(best) <= report::kEdgeOfMemory) return "";
  std::string text = fmt::format(
      "The best fills {} of the memory. Predicted peaks miss published ones by up to 2 %, and runs at the edge of the "
      "memory took up to 20 % longer than predicted.",
      report::percent(study::filled(best)));
  const auto roomy = std::find_if(
      answer.ranked.begin(), answer.ranked.end(),
      [](const study::FoundConfiguration& found) { return study::filled(found) <= report::kEdgeOfMemory; });
  if (roomy != answer.ranked.end())
    text += fmt::format(" Rank {} is the first that leaves {:.0f} % free.", roomy - answer.ranked.begin() + 1,
                        100 * (1 - report::kEdgeOfMemory));
  return paint.paragraph("  ", text);
}

double axis_value(Objective objective, const study::FoundConfiguration& found) {
  const double step = found.step_time.value(), gpus = found.candidate.gpus;
  switch (objective) {
    case Objective::kStepTime:
      return step;
    case Objective::kCost:
      return gpus * step;
    case Objective::kGpus:
      return gpus;
    case Objective::kMemory:
      return study::needed(found).value();
  }
  return 0;
}

report::ScatterAxis axis_of(Objective objective) {
  switch (objective) {
    case Objective::kStepTime:
      return {"step time", [](double v) { return report::time_text(Seconds(v)); }};
    case Objective::kCost:
      return {"GPU-seconds a step", [](double v) { return report::significant(v); }};
    case Objective::kGpus:
      return {"GPUs", [](double v) { return report::whole(v); }};
    case Objective::kMemory:
      return {"memory (GiB)", [](double v) { return report::gib(Bytes(v)); }};
  }
  return {};
}

std::string front_text(const study::SearchAnswer& answer, const Paint& paint) {
  constexpr std::size_t kShown = 10;
  if (answer.front.size() < 2) return "";
  std::vector<report::ScatterPoint> points;
  for (const study::FoundConfiguration& found : answer.front)
    points.push_back({axis_value(answer.axes[0], found), axis_value(answer.axes[1], found), '*'});
  std::string text = report::title_text(
      "Pareto front", fmt::format("{} against {}", name_of(answer.axes[0]), name_of(answer.axes[1])), paint);
  text += report::scatter_text(points, axis_of(answer.axes[0]), axis_of(answer.axes[1]), paint);
  Table table({{std::string(name_of(answer.axes[0]))},
               {std::string(name_of(answer.axes[1]))},
               {"configuration", Table::Align::kLeft}});
  const std::size_t every = (answer.front.size() + kShown - 1) / kShown;
  for (std::size_t at = 0; at < answer.front.size(); at += every) {
    const study::FoundConfiguration& found = answer.front[at];
    const std::string size = answer.several_sizes ? report::counted(found.candidate.gpus, "GPU") + ": " : "";
    table.add({objective_value(answer.axes[0], found), objective_value(answer.axes[1], found),
               size + study::configuration_words(found)});
  }
  text += table.text(paint);
  if (every > 1) text += fmt::format("  every {} of {} points; --json has all\n", every, answer.front.size());
  return text;
}

std::string nothing_fits(const study::SearchAnswer& answer, const Paint& paint) {
  std::string text = paint(Ink::kRed, "  No configuration fits in memory.") + '\n';
  for (const study::FoundConfiguration& found : answer.smallest) {
    const net::Gpu& gpu = found.scenario.cluster.gpu;
    const int gpus = found.candidate.gpus;
    text += paint.paragraph(
        "  ", fmt::format("{}, {}: {} of {} GiB", report::counted(gpus, "GPU"), study::configuration_words(found),
                          report::gib(study::needed(found)), report::gib(gpu.memory)));
  }
  for (const study::SizeWithout& size : answer.without)
    text += paint.paragraph("  ", fmt::format("{}: {}", report::counted(size.gpus, "GPU"), size.why));
  return text +
         paint.paragraph("  ", "Try more GPUs (--gpus), another cluster, or --free keys that the scenario sets.");
}

// Says that the encoder keeps its stages although the pipeline is searched.
std::string kept_encoder_text(const study::SearchAnswer& answer, const Paint& paint) {
  const auto is_searched = [&](job::Key key) {
    return std::ranges::find(answer.searched, name_of(key)) != answer.searched.end();
  };
  const bool kept = !answer.ranked.empty() && answer.ranked.front().scenario.parallelism.encoder_pipeline &&
                    is_searched(job::key_of(Axis::kPipeline)) && !is_searched(job::Key::kEncoderPipeline);
  return kept ? paint.paragraph("  ",
                                "The encoder keeps the stages that parallelism.encoder_pipeline states; --free it to "
                                "try others.")
              : "";
}

// Says how uneven the routing is that memory has room for, where it may have left out configurations.
std::string routing_text(const study::SearchAnswer& answer, const Paint& paint) {
  if (answer.too_large == 0 || (answer.ranked.empty() && answer.smallest.empty())) return "";
  const job::Job& job = (answer.ranked.empty() ? answer.smallest : answer.ranked).front().scenario;
  if (!job.model.experts || job.routing.imbalance || job.routing.capacity_factor) return "";
  return paint.paragraph("  ", fmt::format("Memory has room for {:g} times the mean rows on an expert rank; state "
                                           "moe.imbalance for another number.",
                                           job::kUnstatedImbalance));
}

}  // namespace

std::string search_text(const study::SearchAnswer& answer, const Paint& paint) {
  const auto whole = [](std::size_t count) { return report::whole(static_cast<double>(count)); };
  std::string text = paint.name(answer.name);
  text += paint.paragraph(
      "  ", answer.complete ? fmt::format("{} considered, {} valid, {} too large for memory; objective {}.",
                                          report::counted(static_cast<double>(answer.considered), "configuration"),
                                          whole(answer.considered - answer.invalid), whole(answer.too_large),
                                          name_of(answer.objective))
                            : fmt::format("{} of {} configurations decided; objective {}.", whole(answer.decided),
                                          whole(answer.considered), name_of(answer.objective)));
  text += answer.searched.empty()
              ? paint.paragraph("  ", "No key is open: the scenario sets every key. Try --free all, or --free KEY.")
              : paint.paragraph("  Searched: ", fmt::format("{}", fmt::join(answer.searched, ", ")));
  text += kept_encoder_text(answer, paint) + routing_text(answer, paint);
  if (!answer.complete)
    text += paint(Ink::kRed, answer.ranked.empty() ? "  Interrupted before a configuration was found."
                                                   : "  Interrupted: the best so far, not the best of all.") +
            '\n';
  text += '\n';
  if (answer.ranked.empty())
    return text + (answer.complete || !answer.smallest.empty() ? nothing_fits(answer, paint) : "");
  text += ranked_table(answer, paint) + '\n';
  text += numerics_text(answer, paint);
  text += run_text(*answer.ranked.front().metrics, paint) + order_text(answer, paint) + edge_text(answer, paint);
  text += report::warnings_text(answer.ranked.front().metrics->warnings, paint);
  if (const std::string why = study::why_runner_up_loses(answer); !why.empty())
    text += report::title_text("Why the second loses", "", paint) + paint.paragraph("  ", why);
  text += front_text(answer, paint);
  return text + launch_line_text(answer.ranked.front(), paint);
}

}  // namespace foretoken::tools
