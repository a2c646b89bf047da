// Splits the busiest stage's time into the ideal and the time that each shortcoming adds.
#include "sim/report/waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/model/counts/flop.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/report/text/time_parts.h"
#include "sim/step/duration.h"

namespace foretoken::report {
namespace {

using des::Duration;
using job::Job;

// The computing time of all stages together.
struct Kernels {
  Duration matrix, experts, attention, memory_bound, waits, recomputed;

  void add(const step::TimedOp& op, std::int64_t times) {
    if (op.axis) return;
    of(op) += times * op.duration;
  }

 private:
  [[nodiscard]] Duration& of(const step::TimedOp& op) {
    if (op.recomputed) return recomputed;
    if (op.role == model::OpRole::kAttention) return attention;
    switch (op.kind) {
      case step::KernelKind::kProduct:
        return matrix;
      case step::KernelKind::kExpertProduct:
        return experts;
      case step::KernelKind::kWait:
        return waits;
      case step::KernelKind::kOther:
        break;
    }
    return memory_bound;
  }
};

// Counts the passes of each chunk and kind. A program may have whole backward passes for some micro-batches, and parts
// for others.
foretoken::Table<Chunk, std::array<std::int64_t, schedule::kOpKinds>> passes_of(const schedule::StageProgram& ops,
                                                                                int chunks) {
  foretoken::Table<Chunk, std::array<std::int64_t, schedule::kOpKinds>> counts(chunks);
  for (const schedule::StageOp& op : ops) ++counts[op.chunk][static_cast<std::size_t>(op.kind)];
  return counts;
}

Kernels kernels_of_all_stages(const Job& job, const step::LoweredStep& step) {
  Kernels kernels;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    const int steps = step.steady ? step.steady->steps() : 1;
    const auto counts = passes_of(step.program.stages[stage], job.parallelism.virtual_pipeline);
    for (const Chunk chunk : counts.ids())
      for (const schedule::OpKind kind : step.passes->kinds())
        for (const step::TimedOps* block : step.passes->blocks(stage, chunk, kind))
          for (const step::TimedOp& op : *block) kernels.add(op, counts[chunk][static_cast<std::size_t>(kind)] / steps);
  }
  return kernels;
}

// Returns the time of the model's operations at peak, spread evenly over all GPUs.
Duration at_peak(const Job& job, Flop per_sequence) {
  const job::Batch& batch = job.batch;  // a packed sequence is many
  const double packed = static_cast<double>(batch.sequence_length) / static_cast<double>(batch.attended());
  return step::duration_of(packed * per_sequence * static_cast<double>(batch.global) / static_cast<double>(job.gpus) /
                           job.mean_peak());
}

// Adds all parts but computing: communication of layers, waiting for another stage, then time between and after passes.
void add_parts(Waterfall& fall, const observe::StageSplit& split) {
  const auto add = [&](const TimePart& part) { fall.steps.push_back({part.key, part.words, part.of(split)}); };
  const auto waits = [](const TimePart& part) { return part.kind == TimeKind::kBubble; };
  for (const TimePart& part : time_parts()) {
    if (!is_named(part, split)) continue;
    if (part.axis == Axis::kPipeline) add(*std::ranges::find_if(time_parts(), waits));
    if (part.kind != TimeKind::kCompute && !waits(part)) add(part);
  }
  fall.steps.back().words = "other, once a step";
}

}  // namespace

Waterfall waterfall_of(const Job& job, const step::LoweredStep& step, const observe::Observations& observed) {
  const model::Lengths s = job.batch.lengths();
  const Flop all = model::model_flop_per_sequence(job.model, s);
  // Causal counting leaves out half of attention.
  const Flop attention = 2.0 * (all - model::causal_model_flop_per_sequence(job.model, s));
  Waterfall fall;
  fall.stage = observed.busiest_stage;
  fall.ideal = at_peak(job, all);
  fall.step = observed.makespan;
  const Duration ideal_attention = at_peak(job, attention);
  const Duration ideal_experts = at_peak(job, model::expert_flop_per_sequence(job.model, s));
  const Duration ideal_matrix = fall.ideal - ideal_attention - ideal_experts;
  const Kernels kernels = kernels_of_all_stages(job, step);
  const auto mean = [&](Duration all_stages) { return Duration{all_stages.ps / job.parallelism.pipeline}; };
  const observe::StageSplit& split = observed.busiest;
  fall.steps = {{"matrix_products", "matrix products below peak", mean(kernels.matrix) - ideal_matrix}};
  if (job.model.experts) {
    fall.steps.push_back({"expert_products", "products of experts below peak", mean(kernels.experts) - ideal_experts});
    fall.steps.push_back({"expert_wait", "waits of experts for the host", mean(kernels.waits)});
  }
  fall.steps.push_back(
      {"attention", "attention, against all scores at peak", mean(kernels.attention) - ideal_attention});
  fall.steps.push_back({"memory_bound", "memory-bound kernels", mean(kernels.memory_bound)});
  fall.steps.push_back({"recompute", "recomputation", mean(kernels.recomputed)});
  Duration computing;
  for (const Duration each :
       {kernels.matrix, kernels.experts, kernels.waits, kernels.attention, kernels.memory_bound, kernels.recomputed})
    computing += mean(each);
  fall.steps.push_back({"uneven_stages", "busiest stage beyond the mean", split.compute - computing});
  add_parts(fall, split);
  return fall;
}

namespace {

Waterfall with_last(Waterfall without, std::string_view key, std::string words, Duration step) {
  without.steps.push_back({key, std::move(words), step - without.step});
  without.step = step;
  return without;
}

}  // namespace

Waterfall with_imbalance(Waterfall even, Duration step) {
  return with_last(std::move(even), "imbalance", "uneven routing of tokens", step);
}

Waterfall with_stragglers(Waterfall without, Duration step) {
  return with_last(std::move(without), "stragglers", "stragglers: slow or uneven parts", step);
}

Waterfall with_bias(Waterfall simulated, double factor) {
  simulated.simulated = simulated.step;
  if (factor == 1) return simulated;
  simulated.step = step::duration_of(factor * des::to_seconds(simulated.simulated));
  simulated.steps.push_back(
      {"bias", "what runs like it took longer than simulated", simulated.step - simulated.simulated});
  return simulated;
}

std::string waterfall_text(const Waterfall& fall, const Job& job, const Paint& paint) {
  constexpr std::size_t kInFront = 62;
  const auto bar_columns = static_cast<double>(paint.columns() - kInFront);
  const double whole = static_cast<double>(fall.step.ps);
  double widest = std::max(whole, static_cast<double>(fall.ideal.ps)), at = static_cast<double>(fall.ideal.ps);
  for (const WaterfallStep& each : fall.steps) widest = std::max(widest, at += static_cast<double>(each.time.ps));
  const auto column = [&](double time) {
    return static_cast<std::size_t>(std::lround(std::max(0.0, time) / widest * bar_columns));
  };
  const auto line = [&](std::string_view words, std::string_view time, double share, double from, double to, Ink ink) {
    const std::size_t first = column(std::min(from, to)), last = column(std::max(from, to));
    std::string text = "  " + pad_right(words, 38) + pad_left(time, 11) + pad_left(percent(share), 9);
    if (last > first) text += "  " + std::string(first, ' ') + paint(ink, repeat("█", last - first));
    return text + '\n';
  };
  std::string text =
      title_text("From the ideal step to the predicted one",
                 fmt::format("stage {}, the busiest; only time that nothing hides", fall.stage.number()), paint);
  at = static_cast<double>(fall.ideal.ps);
  text += line(fmt::format("the model's operations at {} TFLOP/s", plain(job.mean_peak().value() / 1e12)),
               time_text(des::to_seconds(fall.ideal)), at / whole, 0, at, Ink::kGreen);
  for (const WaterfallStep& each : fall.steps) {
    if (each.time.ps == 0) continue;
    const auto time = static_cast<double>(each.time.ps);
    const std::string sign = each.time.ps < 0 ? "-" : "+";
    text += line(each.words, sign + time_text(Seconds(std::abs(des::to_seconds(each.time).value()))), time / whole, at,
                 at + time, each.time.ps < 0 ? Ink::kGreen : Ink::kOrange);
    at += time;
  }
  return text + line("step", time_text(des::to_seconds(fall.step)), 1, 0, at, Ink::kBlue);
}

}  // namespace foretoken::report
