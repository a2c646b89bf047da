// Tests openness: a kind of layer and a schedule that no production file knows go from a question to every report.
//
// The model mixes dense layers with the scan of test_own_layer.h, and uses the schedule of test_own_schedule.h. Its two
// stages form a V: stage 0 holds layers 0, 1 and 6, 7 with both ends of the model, stage 1 holds layers 2 to 5.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"
#include "sim/cost/test_clusters.h"
#include "sim/html/test_own_layer.h"
#include "sim/html/test_own_schedule.h"
#include "sim/html/test_page.h"
#include "sim/job/make.h"
#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/flop.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/counts/saved_bytes.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/report/trace.h"
#include "sim/schedule/check_program.h"
#include "sim/step/duration.h"
#include "sim/study/search/searcher.h"

namespace foretoken::html {
namespace {

using des::Duration;
using schedule::OpKind;
using testing::HasSubstr;
using testing::Not;

constexpr int kMicrobatches = 3, kReplicas = 2, kStages = 2, kChunks = 2;
constexpr std::int64_t kHidden = 1024, kSequence = 512, kVocabulary = 51200;
constexpr double kH = kHidden, kS = kSequence;  // h and s of the formulas
constexpr ScanLayer kScan{.hidden = kHidden, .states = 1536};

// The number of layers of each kind on a stage, and the ends of the model there.
struct StageMake {
  double dense, scans;
  bool ends;
};
constexpr StageMake kMakes[kStages] = {{3, 1, true}, {1, 3, false}};

// A GPT's dense layer: 12 h^2 of matrices, 13 h of biases and norms.
constexpr double kDenseParameters = 12 * kH * kH + 13 * kH;
// Token table, positions and the final norm. The head is tied to the table and stands on the same stage.
constexpr double kEndParameters = kVocabulary * kH + kS * kH + 2 * kH;

double parameters_of(const StageMake& make) {
  return make.dense * kDenseParameters + make.scans * kScan.parameters() + (make.ends ? kEndParameters : 0);
}
double trained_of(const StageMake& make) {
  return parameters_of(make) - make.scans * (kScan.parameters() - kScan.trained());
}

model::Transformer dense_model() {
  model::Transformer dense;
  dense.layers = 8;
  dense.hidden = kHidden;
  dense.heads = dense.kv_heads = 16;
  dense.head_dim = kHidden / 16;
  dense.ffn_hidden = 4 * kHidden;
  dense.vocabulary = kVocabulary;
  dense.max_positions = kSequence;
  return dense;
}

model::Transformer mixed_model() {
  model::Transformer mixed = dense_model();
  const model::Block dense{
      "dense", [](const model::LayerContext& context) { return model::dense_layer(dense_model(), context); }};
  const model::Block scan{"scan", [](const model::LayerContext& context) { return scan_block(kScan, context); }};
  mixed.stack = {{dense, 3}, {scan, 4}, {dense, 1}};
  return mixed;
}

job::Question mixed_question() {
  job::Question question;
  question.file = question.name = "mixed";
  question.model = mixed_model();
  question.cluster.gpu.name = "a100";
  question.cluster.gpu.peak[Precision::kBf16] = teraflops(312);
  question.cluster.gpu.memory = Bytes(80e9);
  question.cluster.links = cost::dgx_a100();
  question.profile = cost::example_a100_profile();
  question.profile.gpu = "a100";
  question.choices.gpus = kStages * kReplicas;
  question.choices.parallelism.degrees[Axis::kPipeline] = kStages;
  question.choices.parallelism.virtual_pipeline = kChunks;
  question.choices.schedule = zigzag_schedule();
  question.choices.batch = {.micro = 1, .global = kMicrobatches * kReplicas, .sequence_length = kSequence};
  return question;
}

study::Prediction predicted(step::Fidelity fidelity = step::Fidelity::kStage) {
  return study::predict(job::make(mixed_question()), {.fidelity = fidelity});
}

TEST(Openness, ParametersAndOperationsFollowFromTheTensors) {
  EXPECT_EQ(model::find_mistake(scan_block(kScan, {})), std::nullopt);
  const model::Transformer mixed = mixed_model();
  EXPECT_EQ(model::total_parameters(mixed), parameters_of(kMakes[0]) + parameters_of(kMakes[1]));
  EXPECT_EQ(model::trained_parameters(mixed), trained_of(kMakes[0]) + trained_of(kMakes[1]));

  const double dense = 2 * kS * 12 * kH * kH + 4 * kS * kS * kH, head = 2 * kS * kVocabulary * kH;
  const double scan = kS * kScan.flop_per_token();
  const double flop = 3 * (4 * dense + 4 * scan + head) - 4 * kS * kScan.frozen_flop_per_token();
  EXPECT_EQ(model::model_flop_per_sequence(mixed, kSequence).value(), flop) << "frozen weights have no gradient";
  const report::Metrics metrics = predicted().metrics;
  const double flop_per_s = flop * kMicrobatches * kReplicas / metrics.step_time.value();
  EXPECT_DOUBLE_EQ(metrics.model_tflops_per_gpu, flop_per_s / (kStages * kReplicas) / 1e12);
}

TEST(Openness, MemoryOfAStageIsThatOfItsLayers) {
  const study::Prediction prediction = predicted();
  const model::LayerContext context = prediction.job.layer_context();
  const auto saved = [](const model::BlockOps& block) {
    return model::saved_bytes(block, model::RecomputeGranularity::kNone).value();
  };
  const double dense = saved(model::dense_layer(dense_model(), context));
  const double ends =
      saved(model::embedding_block(dense_model(), context)) + saved(model::head_block(dense_model(), context));
  for (const Stage stage : ids<Stage>(kStages)) {
    const StageMake& make = kMakes[stage.index()];
    const report::StageMemory& memory = prediction.metrics.memory.per_stage[stage];
    EXPECT_EQ(memory.weights.value(), 2 * parameters_of(make));
    EXPECT_EQ(memory.gradients.value(), 4 * trained_of(make)) << "of weights that train";
    EXPECT_EQ(memory.optimizer.value(), 12 * trained_of(make));
    // The first backward starts behind all forwards: every micro-batch is alive in both chunks.
    const double scans = make.scans * kS * kScan.saved_bytes_per_token();
    EXPECT_EQ(memory.activations.value(), kMicrobatches * (make.dense * dense + scans + (make.ends ? ends : 0)));
    EXPECT_EQ(memory.peak_microbatch_chunks, kChunks * kMicrobatches);
  }
}

// Times of the kernels of one scan layer, by pass.
struct ScanTimes {
  Duration forward, for_input, for_weight;
};

ScanTimes scan_times(const cost::Profile& profile) {
  const std::int64_t tokens = kSequence, gates = 2 * kScan.states;
  const auto gemm = [&](GemmShape shape) { return step::duration_of(cost::gemm_time(shape, profile)); };
  const auto moved = [&](double bytes) { return step::duration_of(cost::memory_bound_time({Bytes(bytes)}, profile)); };
  const ScanBytes scan = scan_bytes(kScan, kS);
  // The sum into the 32-bit gradient is a kernel of its own: six bytes a weight.
  const double accumulated = 6 * static_cast<double>(gates) * kH;
  return {.forward = gemm({.m = tokens, .n = gates, .k = kHidden}) + moved(scan.forward) +
                     gemm({.m = tokens, .n = kHidden, .k = kScan.states}),
          .for_input = gemm({.m = tokens, .n = kScan.states, .k = kHidden, .pass = GemmPass::kInputGradient}) +
                       moved(scan.for_input) +
                       gemm({.m = tokens, .n = kHidden, .k = gates, .pass = GemmPass::kInputGradient}),
          .for_weight = moved(scan.for_weight) +
                        gemm({.m = gates, .n = kHidden, .k = tokens, .pass = GemmPass::kWeightGradient}) +
                        moved(accumulated)};
}

TEST(Openness, PassesOfTheOwnLayerTakeTheTimeOfItsKernels) {
  const study::Prediction prediction = predicted();
  const ScanTimes own = scan_times(prediction.job.profile);
  const auto time = [&](OpKind kind) { return prediction.step.passes->timing(Stage{1}, Chunk{1}, kind).total; };
  EXPECT_EQ(time(OpKind::kForward), own.forward + own.forward) << "the second chunk of stage 1 holds two scans";
  EXPECT_EQ(time(OpKind::kBackwardInput), own.for_input + own.for_input);
  EXPECT_EQ(time(OpKind::kBackwardWeight), own.for_weight + own.for_weight) << "none for the frozen weight";
}

// The end of every stage's last op, from the rule alone: an op starts when the op before it on its stage has ended and
// its input is there. Virtual stages 0 to 3 stand on stages 0, 1, 1, 0.
class HandReplay {
 public:
  explicit HandReplay(const study::Prediction& prediction)
      : passes_(*prediction.step.passes),
        message_(step::message_durations(prediction.job).to_next.front()),
        ops_(zigzag({.stages = kStages, .microbatches = kMicrobatches, .chunks = kChunks}).stages.front()) {}

  PerStage<des::Instant> ends() {
    PerStage<des::Instant> free(kStages);
    PerStage<std::size_t> next(kStages, 0);
    while (next.front() < ops_.size() || next.back() < ops_.size())
      for (const Stage stage : ids<Stage>(kStages))
        for (; next[stage] < ops_.size(); ++next[stage]) {
          const schedule::StageOp& op = ops_[next[stage]];
          const int place = op.chunk == Chunk{0} ? stage.number() : 3 - stage.number();
          const std::optional<des::Instant> input = input_of(op, place);
          if (!input) break;
          const Duration length = passes_.timing(stage, op.chunk, op.kind).total;
          free[stage] = std::max(free[stage], *input) + length;
          done_[{op.kind, place, op.microbatch.number()}] = free[stage];
        }
    return free;
  }

 private:
  // Absent: not there yet.
  [[nodiscard]] std::optional<des::Instant> input_of(const schedule::StageOp& op, int place) const {
    const int before = op.kind == OpKind::kForward ? place - 1 : place + 1;
    if (op.kind == OpKind::kBackwardWeight || before < 0 || before > 3) return des::Instant{};
    const auto found = done_.find({op.kind, before, op.microbatch.number()});
    if (found == done_.end()) return std::nullopt;
    const bool same_stage = place + before == 3;  // virtual stages 1 and 2
    return same_stage ? found->second : found->second + message_;
  }

  const step::Passes& passes_;
  Duration message_;
  schedule::StageProgram ops_;
  std::map<std::tuple<OpKind, int, int>, des::Instant> done_;
};

// The only task of that kind on a stage that carries out such a communication, or none.
Duration time_of(const study::Prediction& prediction, Stage stage, std::string_view name) {
  const step::Workload& workload = prediction.step.workload;
  for (std::uint32_t task = 0; task < workload.meaning.size(); ++task)
    if (workload.meaning[task].stage == stage && step::name_of(workload.meaning[task], workload) == name)
      return workload.graph.duration({task});
  ADD_FAILURE() << "no task " << name << " on stage " << stage.number();
  return {};
}

TEST(Openness, TheStepIsTheReplayByHand) {
  const study::Prediction prediction = predicted();
  const PerStage<des::Instant> ends = HandReplay(prediction).ends();
  des::Instant reduced;
  Duration optimizer;
  for (const Stage stage : ids<Stage>(kStages)) {
    EXPECT_EQ(prediction.observations.stages[stage].last_backward_end, ends[stage]);
    reduced = std::max(reduced, ends[stage] + time_of(prediction, stage, "reduce gradients"));
    // 12 bytes a trained weight for zeroing, scaling and measuring, and those of the update.
    const double bytes = (12 + prediction.job.runtime.optimizer_bytes) * trained_of(kMakes[stage.index()]);
    const Seconds update = cost::memory_bound_time({Bytes(bytes)}, prediction.job.profile);
    EXPECT_EQ(time_of(prediction, stage, "optimizer"), step::duration_of(update));
    optimizer = std::max(optimizer, step::duration_of(update));
  }
  const des::Instant end = reduced + time_of(prediction, Stage{0}, "gradient norm") + optimizer;
  EXPECT_EQ(prediction.run.makespan, end);
  EXPECT_EQ(prediction.metrics.step_time, des::to_seconds(end - des::Instant{}));

  for (const step::Communication& row : prediction.step.workload.communications)
    if (row.purpose == step::Purpose::kGradients) {
      EXPECT_EQ(row.payload.value(), 4 * trained_of(kMakes[row.from.index()])) << "weights that train";
    }
}

TEST(Openness, KernelsAndEveryGpuTakeTheSameTime) {
  const study::Prediction prediction = predicted();
  EXPECT_EQ(predicted(step::Fidelity::kKernel).run.makespan, prediction.run.makespan);
  const job::Job& job = prediction.job;
  EXPECT_EQ(study::step_time(job, {.unfolded = true, .traffic = ranks::Traffic::kAnalytic}),
            prediction.metrics.step_time);
  EXPECT_EQ(schedule::check_program(prediction.step.program, job::pipeline_shape(job)), std::vector<std::string>{});
}

nlohmann::json trace_of(const study::Prediction& prediction) {
  std::string text;
  report::write_trace({.step = prediction.step,
                       .run = prediction.run,
                       .memory = prediction.memory,
                       .metrics = prediction.metrics,
                       .version = "1",
                       .fidelity = "kernel"},
                      [&](std::string_view piece) { text += piece; });
  return nlohmann::json::parse(text);
}

TEST(Openness, TheTraceShowsItsOpsAndKernels) {
  const nlohmann::json trace = trace_of(predicted(step::Fidelity::kKernel));
  std::map<std::string, int> names, categories;
  int messages = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++names[event.at("name")];
    ++categories[event.at("cat")];
    messages += event.contains("flow_out") ? 1 : 0;
    if (event.contains("flow_out")) {
      EXPECT_EQ(event.at("args").at("bytes"), 2 * kS * kH);
    }
  }
  for (const char* op : {"F2.1", "I0.1", "W2.0"}) EXPECT_EQ(names[op], kStages) << op;
  EXPECT_EQ(names.count("B0.0"), 0U) << "no backward pass is whole";
  constexpr int kScans = 4 * kMicrobatches;
  for (const char* kernel : {"scan", "scan for input", "scan for decay", "in for weight", "back for input"})
    EXPECT_EQ(names[kernel], kScans) << kernel;
  EXPECT_EQ(names.count("back for weight"), 0U) << "it never trains";
  EXPECT_EQ(messages, 2 * 2 * kMicrobatches) << "the bottom of the V is one stage";
}

TEST(Openness, TextAndPageNameTheScheduleAndItsPasses) {
  const study::Prediction base = predicted();
  const report::Paint paint(false);
  const std::string text = report::to_text(base.job, base.notes, base.observations, base.metrics, paint);
  EXPECT_THAT(text, HasSubstr("zigzag"));
  for (const report::StageMemory& stage : base.metrics.memory.per_stage)
    EXPECT_THAT(text, HasSubstr(report::gib(stage.peak)));

  const report::Gantt chart = report::gantt_of(base.step.workload, base.run, "");
  const std::string legend = report::gantt_legend({&chart, 1}, paint);
  EXPECT_THAT(legend, HasSubstr("forward  ▓ backward for input  ▀ backward for weight"));
  EXPECT_THAT(legend, Not(HasSubstr("█"))) << "no pass is whole";

  const std::string page = page_of(base);
  EXPECT_THAT(page, HasSubstr("zigzag"));
  EXPECT_THAT(page, HasSubstr("<rect class=\"c-backward-input\" x=\"0\" width=\"12\" height=\"12\"/>"));
  EXPECT_THAT(page, HasSubstr("</svg>backward for input"));
  EXPECT_THAT(page, HasSubstr("class=\"c-backward-weight")) << "drawn";
  EXPECT_THAT(page, Not(HasSubstr("</svg>backward</li>")));
}

TEST(Openness, ASearchKeepsTheScheduleOfItsQuestion) {
  job::Question question = mixed_question();
  question.choices.batch.micro.reset();
  question.choices.recompute = job::Recompute{};
  question.choices.zero_stage = 0;
  const io::OpenScenario open(question, {.value = nlohmann::json::object(), .source = {}, .pointer = "", .name = ""});
  const search::Space space(open, {});
  ASSERT_EQ(space.schedules().size(), 1U);
  const search::SearchResult result = search::run_search(space, {});
  ASSERT_FALSE(result.ranking.top().empty());
  for (const search::Outcome& outcome : result.ranking.top()) {
    job::Maker maker(question);
    const job::Job* job = maker.make(space.patch_of(space.candidates()[outcome.candidate], outcome.overlap));
    ASSERT_NE(job, nullptr);
    EXPECT_EQ(job->schedule.name, "zigzag");
    EXPECT_EQ(study::step_time(*job, {}), des::to_seconds(outcome.step_time));
  }
}

}  // namespace
}  // namespace foretoken::html
