// Tests whole runs: both fidelities agree, a sweep finds the same time split, and activations follow the schedule.
#include "sim/study/predict/predict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/intervals.h"
#include "sim/base/test_sanitized.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/report/text/time_parts.h"
#include "sim/study/tests/test_scenarios.h"

namespace foretoken::study {
namespace {

// The release build runs every scenario.
constexpr std::size_t kMostTasks = kSanitized ? 20'000 : SIZE_MAX;

// Makes a 24-layer model on 8 stages of one GPU each, with `more` merged into the scenario.
job::Job small(const nlohmann::json& more = nlohmann::json::object()) {
  nlohmann::json job = {{"model", {{"base", "gpt-1.7b"}}},
                        {"cluster", "dgx-a100-80gb-hdr"},
                        {"gpus", 8},
                        {"runtime", "megatron-2022"},
                        {"parallelism", {{"pipeline", 8}}},
                        {"batch", {{"micro", 1}, {"global", 32}, {"sequence_length", 2048}}}};
  job.merge_patch(more);
  return io::read_scenario_text(job.dump(), "small.json").job;
}

TEST(Predict, StageAndKernelFidelityAgreeToThePicosecondOnEveryShippedScenario) {
  int compared = 0;
  for (const std::string& file : shipped_scenarios()) {
    SCOPED_TRACE(file);
    const job::Job job = io::read_scenario_file(file).job;
    const Prediction stage = predict(job);
    if (stage.metrics.tasks > kMostTasks) continue;
    const Prediction kernel = predict(job, {.fidelity = step::Fidelity::kKernel});
    EXPECT_EQ(stage.run.makespan, kernel.run.makespan);
    EXPECT_EQ(stage.observations.busiest.bubble, kernel.observations.busiest.bubble);
    EXPECT_EQ(stage.metrics.memory.peak, kernel.metrics.memory.peak);
    ++compared;
  }
  EXPECT_GE(compared, 15);
}

// In fp32 the last weight gradient of a pass takes longer than the all-reduce beside it, and the pass ends with it.
TEST(Predict, APassEndsWithTheLongerOfAKernelAndTheCollectiveBesideIt) {
  const job::Job job = small({{"model", "bert-large"},
                              {"cluster", "aws-p4de"},
                              {"runtime", "megatron-core"},
                              {"precision", "fp32"},
                              {"gpus", 8},
                              {"parallelism", {{"tensor", 4}, {"pipeline", 2}, {"sequence_parallel", true}}},
                              {"batch", {{"micro", 2}, {"global", 8}, {"sequence_length", 512}}}});
  EXPECT_EQ(predict(job).run.makespan, predict(job, {.fidelity = step::Fidelity::kKernel}).run.makespan);
}

// The activities of a stage, most important first. An instant with several counts for the first.
enum Doing : std::size_t {
  kComputing,
  kTensor,
  kContext,
  kHost,  // inside a pass, but none of the above
  kOptimizer,
  kOther,
  kNorm,
  kData,
  kMessage,
  kDoings
};

struct Piece {
  Interval span;
  Doing doing;
};

void add_kernels(const Prediction& run, Stage stage, std::vector<Piece>& pieces) {
  const auto& workload = run.step.workload;
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const step::Meaning& meaning = workload.meaning[task];
    if (meaning.op == nullptr || meaning.stage != stage) continue;
    const Doing doing = !meaning.op->axis ? kComputing : meaning.op->axis == Axis::kTensor ? kTensor : kContext;
    pieces.push_back({{run.run.start[task].ps, run.run.end[task].ps}, doing});
  }
  for (const step::PassTasks& pass : workload.passes[stage])
    pieces.push_back({{run.run.start[pass.first.value].ps, run.run.end[pass.last.value].ps}, kHost});
}

void add_the_rest(const Prediction& run, Stage stage, std::vector<Piece>& pieces) {
  using step::Purpose;
  using step::TaskMeaning;
  const auto& workload = run.step.workload;
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const step::Meaning& meaning = workload.meaning[task];
    const bool own = meaning.stage == stage;
    const auto add = [&](Doing doing) { pieces.push_back({{run.run.start[task].ps, run.run.end[task].ps}, doing}); };
    if (own && meaning.kind == TaskMeaning::kPassOverhead) add(kHost);
    if (own && meaning.kind == TaskMeaning::kOptimizer) add(kOptimizer);
    if (own && meaning.kind == TaskMeaning::kStepOverhead) add(kOther);
    if (meaning.kind != TaskMeaning::kCommunication) continue;
    const step::Communication& row = *workload.communication_of(meaning);
    if (!row.involves(stage)) continue;
    add(row.purpose == Purpose::kGradientNorm    ? kOther
        : row.purpose == Purpose::kNormGradients ? kNorm
        : is_message(row.purpose)                ? kMessage
                                                 : kData);
  }
}

// Returns the picoseconds of each activity, idle time last, by a sweep over all instants of change.
std::vector<std::int64_t> swept(const std::vector<Piece>& pieces, std::int64_t end) {
  std::vector<std::tuple<std::int64_t, int, std::size_t>> changes{{end, 0, 0}};
  for (const Piece& piece : pieces) {
    changes.emplace_back(piece.span.begin, 1, piece.doing);
    changes.emplace_back(piece.span.end, -1, piece.doing);
  }
  std::sort(changes.begin(), changes.end());
  std::vector<std::int64_t> total(kDoings + 1), open(kDoings);
  std::int64_t at = 0;
  for (const auto& [when, change, doing] : changes) {
    const auto top = std::find_if(open.begin(), open.end(), [](std::int64_t n) { return n > 0; }) - open.begin();
    total[static_cast<std::size_t>(top)] += when - at;
    at = when;
    open[doing] += change;
  }
  return total;
}

TEST(Predict, TheTimeSplitIsWhatASweepOverEveryKernelFinds) {
  int compared = 0;
  for (const std::string& file : shipped_scenarios()) {
    SCOPED_TRACE(file);
    const job::Job job = io::read_scenario_file(file).job;
    const Prediction prediction = predict(job);
    constexpr std::size_t kMostSwept = 4000;  // passes, each of some hundred kernels
    // Passes that wait for parameters are longer than their work.
    const bool waits = job.overlap.param_gather || job.optimizer.zero_stage == 3;
    if (prediction.metrics.tasks > kMostSwept || waits) continue;
    const Prediction kernels = predict(job, {.fidelity = step::Fidelity::kKernel});
    const Stage stage = prediction.observations.busiest_stage;
    std::vector<Piece> pieces;
    add_kernels(kernels, stage, pieces);
    add_the_rest(kernels, stage, pieces);
    const std::vector<std::int64_t> found = swept(pieces, kernels.run.makespan.ps);
    const observe::StageSplit& split = prediction.observations.busiest;
    EXPECT_EQ(split.compute.ps, found[kComputing]);
    EXPECT_EQ(split.comm[Axis::kTensor].ps, found[kTensor] + found[kNorm]);
    EXPECT_EQ(split.comm[Axis::kContext].ps, found[kContext]);
    EXPECT_EQ(split.host.ps, found[kHost]);
    EXPECT_EQ(split.optimizer.ps, found[kOptimizer]);
    EXPECT_EQ(split.other.ps, found[kOther]);
    EXPECT_EQ(split.comm[Axis::kData].ps, found[kData]);
    EXPECT_EQ(split.comm[Axis::kPipeline].ps, found[kMessage]);
    EXPECT_EQ(split.bubble.ps, found[kDoings]);
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

TEST(Predict, TwoRunsAreTheSame) {
  const job::Job job = small();
  const Prediction one = predict(job), two = predict(job);
  EXPECT_EQ(one.run.start, two.run.start);
  EXPECT_EQ(one.run.end, two.run.end);
}

TEST(Predict, GpipeKeepsAllMicroBatches1F1bAtMostPAndInterleavedAChunkShareMore) {
  const int p = 8, m = 32;
  const auto peak = [](const nlohmann::json& more, Stage stage) { return predict(small(more)).memory[stage]; };
  EXPECT_EQ(peak({{"schedule", "gpipe"}}, Stage{0}).most_chunks, m);
  EXPECT_EQ(peak({{"schedule", "1f1b"}}, Stage{0}).most_chunks, p);
  EXPECT_EQ(peak({{"schedule", "1f1b"}}, id_of<Stage>(p - 1)).most_chunks, 1);
  const int v = 3;
  const auto chunked = peak({{"parallelism", {{"virtual_pipeline", v}}}, {"schedule", "interleaved-1f1b"}}, Stage{0});
  EXPECT_EQ(chunked.most_chunks, v * p + p - 1) << "p (1 + (p-1)/(p v)) stages, in chunks of 1/v stage";
  // The same in bytes, on a stage without embedding or head.
  const double flat = peak({{"schedule", "1f1b"}}, Stage{1}).activations_at_peak.value();
  const double gpipe = peak({{"schedule", "gpipe"}}, Stage{1}).activations_at_peak.value();
  EXPECT_DOUBLE_EQ(gpipe / flat, static_cast<double>(m) / (p - 1));
}

TEST(Predict, BubblesOfEqualStagesAreTheirClosedForm) {
  // A tiny vocabulary makes all stages equal, and fast links make messages almost free.
  const nlohmann::json equal = {
      {"model", {{"n_layer", 32}, {"vocab_size", 128}}},
      {"cluster", {{"base", "dgx-a100-80gb-hdr"}, {"node", {{"nvlink", {{"gb_per_s_per_gpu", 1e6}}}}}}},
      {"profile", {{"base", "a100-sxm4-80gb"}, {"point_to_point", {{"nvlink", {{"latency_us", 0}}}}}}}};
  struct Case {
    const char* schedule;
    int microbatches, chunks;
  };
  for (const auto& [schedule, m, v] : {Case{"1f1b", 8, 1}, Case{"1f1b", 32, 1}, Case{"gpipe", 16, 1},
                                       Case{"interleaved-1f1b", 16, 2}, Case{"interleaved-1f1b", 32, 4}}) {
    SCOPED_TRACE(std::string(schedule) + " " + std::to_string(m) + " " + std::to_string(v));
    nlohmann::json more = equal;
    more.merge_patch({{"schedule", schedule}, {"batch", {{"global", m}}}, {"parallelism", {{"virtual_pipeline", v}}}});
    const report::Metrics metrics = predict(small(more)).metrics;
    const double closed_form = 7.0 / (v * m);
    EXPECT_DOUBLE_EQ(metrics.ideal_bubble_fraction, closed_form);
    EXPECT_NEAR(metrics.bubble_fraction / closed_form, 1, 0.03);
  }
}

TEST(Predict, WhatDoesNotFitSaysWhatWould) {
  const nlohmann::json large = {{"model", "gpt-22b"},
                                {"parallelism", {{"tensor", 8}, {"pipeline", 1}}},
                                {"batch", {{"micro", 4}, {"global", 4}}}};
  const report::Metrics metrics = predict(small(large), {.advice = true}).metrics;
  ASSERT_TRUE(metrics.memory.advice);
  EXPECT_FALSE(metrics.memory.fits);
  EXPECT_EQ(metrics.memory.dominant, "activations");
  EXPECT_NE(metrics.memory.advice->find("recompute \"selective\""), std::string::npos) << *metrics.memory.advice;
}

TEST(Predict, AdviceAsksTheScheduleBeforeItProposesASmallerMicroBatch) {
  // Micro-batch 1 would give 20 micro-batches, which do not fill groups of 6 on 4 stages.
  const report::Metrics metrics =
      predict(small({{"model", {{"base", "gpt3-175b"}, {"n_layer", 48}}},
                     {"gpus", 16},
                     {"parallelism", {{"tensor", 4}, {"pipeline", 4}, {"virtual_pipeline", 3}}},
                     {"batch", {{"micro", 2}, {"global", 20}, {"microbatch_group", 6}}}}),
              {.advice = true})
          .metrics;
  ASSERT_TRUE(metrics.memory.advice);
  EXPECT_FALSE(metrics.memory.fits);
  EXPECT_EQ(metrics.memory.advice->find("batch.micro"), std::string::npos) << *metrics.memory.advice;
}

TEST(Predict, WaitingForParametersIsNotWork) {
  const auto bubble = [](bool overlap) {
    return predict(small({{"model", "gpt-7.5b"},
                          {"gpus", 16},
                          {"cluster", {{"base", "dgx-a100-80gb-hdr"}, {"node", {{"nics", {{"gb_per_s", 0.5}}}}}}},
                          {"parallelism", {{"tensor", 4}, {"pipeline", 2}}},
                          {"optimizer", {{"zero_stage", 1}}},
                          {"overlap", {{"grad_reduce", overlap}, {"param_gather", overlap}}}}))
        .observations.stages;
  };
  const auto exposed = bubble(false), overlapped = bubble(true);
  for (const Stage stage : exposed.ids()) EXPECT_EQ(exposed[stage].busy, overlapped[stage].busy);
}

TEST(Predict, AStepOfMonthsIsTheUsersMistake) {
  const nlohmann::json slow = {{"cluster", {{"base", "dgx-a100-80gb-hdr"}, {"node", {{"nics", {{"gb_per_s", 1e-9}}}}}}},
                               {"gpus", 16}};
  EXPECT_THROW((void)predict(small(slow)), ConfigError);
}

TEST(Predict, OverlapHidesGradientReductionAndParameterGathering) {
  const auto step = [](bool overlap, int zero) {
    return predict(small({{"parallelism", {{"pipeline", 2}}},
                          {"optimizer", {{"zero_stage", zero}}},
                          {"overlap", {{"grad_reduce", overlap}, {"param_gather", overlap && zero == 1}}}}))
        .metrics;
  };
  for (const int zero : {0, 1}) {
    const report::Metrics exposed = step(false, zero), hidden = step(true, zero);
    EXPECT_LT(hidden.step_time, exposed.step_time) << "ZeRO " << zero;
  }
}

// A prediction is complete: an optional part is there when it was asked for, and only then.
TEST(Predict, HasThePartsThatWereAskedForAndNoOthers) {
  const job::Job large = small({{"model", "gpt-22b"},
                                {"parallelism", {{"tensor", 8}, {"pipeline", 1}}},
                                {"batch", {{"micro", 4}, {"global", 4}}}});
  const report::Metrics bare = predict(large).metrics;
  EXPECT_FALSE(bare.memory.advice || bare.delays || bare.interval);
  const trust::Evidence evidence = io::read_shipped_residuals();
  const Prediction whole =
      predict(large, {.advice = true, .delays = Delays::kEach, .interval = IntervalQuestion{evidence, 0.5}});
  ASSERT_TRUE(whole.metrics.memory.advice && whole.metrics.delays && whole.metrics.interval);
  EXPECT_TRUE(whole.metrics.delays->empty()) << "nothing is slow";
  EXPECT_EQ(whole.metrics.interval->level, 0.5);
  EXPECT_LT(whole.metrics.interval->low, whole.metrics.step_time);
  EXPECT_EQ(whole.metrics.simulated_step_time, bare.step_time) << "the engine knows no bias";
  EXPECT_EQ(bare.step_time, bare.simulated_step_time);
  EXPECT_FALSE(whole.how.advice || whole.how.delays != Delays::kNone || whole.how.interval)
      << "the way of the run alone";
}

// Evidence of one publication, whose runs took 10 % longer than simulated.
trust::Evidence slower_runs(const Prediction& like) {
  trust::Evidence evidence = io::read_shipped_residuals();
  evidence.cases.assign(20, {place_of(like.job), "a publication", std::log(1.1)});
  evidence.doubt = 0.25;
  return evidence;
}

TEST(Predict, TheHeadlineIsTheSimulatedStepTimesTheBiasAndAllElseFollows) {
  const job::Job job = small({{"run", {{"tokens", 1e9}, {"price_per_gpu_hour", 2}}}});
  const Prediction bare = predict(job);
  const trust::Evidence evidence = slower_runs(bare);
  const report::Metrics simulated = bare.metrics,
                        headline = predict(job, {.interval = IntervalQuestion{evidence}}).metrics;
  const double factor = headline.bias_factor();
  EXPECT_GT(factor, 1.05);
  EXPECT_LT(factor, 1.1);
  EXPECT_EQ(headline.simulated_step_time, simulated.step_time);
  EXPECT_DOUBLE_EQ(headline.step_time.value(), factor * simulated.step_time.value());
  EXPECT_DOUBLE_EQ(headline.mfu, simulated.mfu / factor);
  EXPECT_DOUBLE_EQ(headline.tokens_per_s, simulated.tokens_per_s / factor);
  EXPECT_DOUBLE_EQ(headline.run->days, simulated.run->days * factor);
  EXPECT_DOUBLE_EQ(*headline.run->cost, *simulated.run->cost * factor);
  EXPECT_EQ(headline.bubble_fraction, simulated.bubble_fraction) << "a ratio of simulated times";
  Seconds sum(0);
  for (const report::TimePart& part : report::time_parts()) sum += part.of(headline.time);
  EXPECT_NEAR(sum / headline.step_time, 1, 1e-12);
  EXPECT_NEAR(headline.interval->low / headline.step_time, headline.step_time / headline.interval->high, 1e-12);
}

TEST(Predict, EveryShippedHeadlineIsTheMedianOfItsInterval) {
  const trust::Evidence evidence = io::read_shipped_residuals();
  for (const std::string& name : shipped_scenarios()) {
    const report::Metrics m =
        predict(io::read_scenario_file(name), {.keeps_tasks = false, .interval = IntervalQuestion{evidence, 0.8}})
            .metrics;
    ASSERT_TRUE(m.interval.has_value()) << name;
    EXPECT_NEAR(m.interval->low.value() * m.interval->high.value(), std::pow(m.step_time.value(), 2),
                1e-9 * std::pow(m.step_time.value(), 2))
        << name;
  }
}

// Values of one key, the first of them validated, each farther from anything validated than the one before.
TEST(Predict, IntervalsWidenWithEveryStepAwayInASetting) {
  const trust::Evidence evidence = io::read_shipped_residuals();
  const auto width = [&](const std::vector<std::string>& sets) {
    const auto made = io::read_scenario_file("gpt-145b-1536-a100", sets);
    const trust::Interval interval = interval_of(made.job, Seconds(1), {evidence, trust::kUsualLevel});
    return std::pair(std::log(interval.high.value()), interval.outside);
  };
  const auto base = width({});
  EXPECT_FALSE(base.second);
  const std::vector<std::vector<std::string>> walks{
      {"batch.sequence_length=4096", "batch.sequence_length=16384", "batch.sequence_length=131072"},
      {"attention=flash-1"},
      {"optimizer.zero_stage=1"}};
  for (const std::vector<std::string>& walk : walks) {
    double last = base.first;
    for (const std::string& set : walk) {
      SCOPED_TRACE(set);
      const auto [here, outside] = width({set, "model.n_positions=131072"});
      EXPECT_GT(here, last);
      EXPECT_TRUE(outside);
      last = here;
    }
  }
}

}  // namespace
}  // namespace foretoken::study
