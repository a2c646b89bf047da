// Tests jobs with two-way schedules, pairs of passes and moved activations: all ways to run them, memory, reductions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/step/memory/memory.h"
#include "sim/step/passes/passes.h"
#include "sim/step/replicas/replicas.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using testing::HasSubstr;

// `degrees` adds to the parallelism, and `also` to the scenario.
std::string dense(const std::string& schedule, const std::string& also = "", const std::string& degrees = "") {
  return R"({"model": "gpt2-medium", "cluster": "dgx-a100-80gb-hdr", "runtime": "megatron-core", "gpus": 32,
             "parallelism": {"tensor": 2, "pipeline": 4)" +
         degrees + R"(}, "schedule": ")" + schedule +
         R"(", "batch": {"micro": 1, "global": 64, "sequence_length": 1024})" + also + "}";
}

std::string experts(const std::string& schedule, const std::string& also = "", const std::string& degrees = "") {
  return R"({"model": "mixtral-8x7b", "cluster": "dgx-h100-ndr", "runtime": "megatron-core", "gpus": 64,
             "parallelism": {"pipeline": 4, "expert": 8)" +
         degrees + R"(}, "schedule": ")" + schedule +
         R"(", "batch": {"micro": 1, "global": 256, "sequence_length": 4096}, "optimizer": {"zero_stage": 1})" + also +
         "}";
}

constexpr const char* kTwoChunks = R"(, "virtual_pipeline": 2)";
constexpr const char* kShards =
    R"(, "optimizer": {"zero_stage": 1}, "overlap": {"grad_reduce": true, "param_gather": true})";

job::Job job_from(const std::string& text) { return io::read_scenario_text(text, "test", {}).job; }

TEST(TwoWay, EveryGpuAndEveryKernelGiveTheFoldedStep) {
  for (const std::string& text :
       {dense("chimera"), dense("chimera", kShards), dense("bpipe"), dense("bpipe", kShards), experts("bpipe"),
        dense("dualpipe", R"(, "recompute": "full")"), dense("dualpipe-v", kShards, kTwoChunks), experts("chimera"),
        experts("dualpipe"), experts("dualpipe", R"(, "recompute": "full")"), experts("dualpipe-v", "", kTwoChunks)}) {
    SCOPED_TRACE(text);
    const job::Job job = job_from(text);
    const Prediction folded = predict(job);
    const Prediction unfolded = predict(job, How{.unfolded = true, .traffic = ranks::Traffic::kAnalytic});
    EXPECT_EQ(folded.run.makespan.ps, unfolded.run.makespan.ps);
    EXPECT_TRUE(folded.run.end == unfolded.run.end);
    EXPECT_EQ(folded.run.makespan.ps, predict(job, How{.fidelity = step::Fidelity::kKernel}).run.makespan.ps);
  }
}

TEST(TwoWay, AStageHoldsItsOwnPartAndThatOfItsTwin) {
  const job::Job one = job_from(experts("1f1b")), two = job_from(experts("dualpipe"));
  const step::LocalParameters of_one(one), of_two(two);
  const step::JobMemory memory_of_one(one), memory_of_two(two);
  for (const Stage stage : ids<Stage>(4)) {
    const Stage twin = step::twin_of(two, stage);
    EXPECT_DOUBLE_EQ(of_two.of_stage(stage), of_one.of_stage(stage) + of_one.of_stage(twin));
    const auto gradients = [&](const step::JobMemory& memory, Stage at) { return memory.held(at).gradients.value(); };
    const auto optimizer = [&](const step::JobMemory& memory, Stage at) { return memory.held(at).optimizer.value(); };
    EXPECT_DOUBLE_EQ(gradients(memory_of_two, stage), gradients(memory_of_one, stage) + gradients(memory_of_one, twin));
    EXPECT_DOUBLE_EQ(optimizer(memory_of_two, stage), optimizer(memory_of_one, stage) + optimizer(memory_of_one, twin));
  }
}

// Rows between stages 0 and 3, and 1 and 2.
std::vector<step::Communication> copy_rows(const Prediction& prediction) {
  std::vector<step::Communication> rows;
  for (const step::Communication& row : prediction.step.workload.communications)
    if (row.purpose == step::Purpose::kCopyGradients) rows.push_back(row);
  return rows;
}

TEST(TwoWay, BothCopiesReduceWhatARankHolds) {
  const Prediction whole = predict(job_from(dense("chimera"))), shards = predict(job_from(dense("chimera", kShards)));
  const double parameters = step::LocalParameters(whole.job).of_stage(Stage{1});
  ASSERT_EQ(copy_rows(whole).size(), 2U);
  const step::Communication middle = copy_rows(whole)[1];
  EXPECT_EQ(middle.from, Stage{1});
  EXPECT_EQ(middle.to, Stage{2});
  EXPECT_DOUBLE_EQ(middle.payload.value(), parameters * whole.job.recipe.reduce_bytes);
  EXPECT_DOUBLE_EQ(copy_rows(shards)[1].payload.value(), middle.payload.value() / whole.job.parallelism.data);
  EXPECT_EQ(middle.site.group.nodes, 2) << "stages of eight GPUs stand on nodes of their own";
  EXPECT_TRUE(copy_rows(predict(job_from(dense("1f1b")))).empty());
  EXPECT_TRUE(copy_rows(predict(job_from(dense("dualpipe-v", "", kTwoChunks)))).empty()) << "one copy in a V";
}

// Three stashes of the first stage become two and the one in use; its partner keeps room for what is away.
TEST(TwoWay, BPipeMovesActivationsBetweenPartners) {
  const Prediction plain = predict(job_from(dense("1f1b"))), moved = predict(job_from(dense("bpipe")));
  EXPECT_GT(moved.run.makespan, plain.run.makespan) << "moves take time";
  const auto peak = [](const Prediction& of, int stage) {
    return of.metrics.memory.per_stage[id_of<Stage>(stage)].peak.value();
  };
  EXPECT_LT(peak(moved, 0), peak(plain, 0));
  EXPECT_GT(peak(moved, 3), peak(plain, 3));
  const double stash = step::JobMemory(moved.job).of_pass(Stage{0}, Chunk{0}).stash.value();
  EXPECT_NEAR(peak(plain, 0) - peak(moved, 0), stash, 1) << "four held before, three now";
  EXPECT_NEAR(peak(moved, 3) - peak(plain, 3), 2 * stash, 1) << "two are away at once";
  std::int64_t moves = 0;
  for (const Stage stage : ids<Stage>(4)) moves += static_cast<std::int64_t>(moved.step.workload.moves[stage].size());
  std::int64_t ops = 0;
  for (const schedule::StageProgram& program : moved.step.program.stages)
    for (const schedule::StageOp& op : program) ops += schedule::traits(op.kind).is_pass ? 0 : 1;
  EXPECT_EQ(moves, ops);
  for (const observe::MemoryPoint* before = nullptr;
       const observe::MemoryPoint& point : moved.memory[Stage{0}].points) {
    EXPECT_TRUE(before == nullptr || before->at <= point.at);
    before = &point;
  }
}

// The law of moe.overlap, for passes that all have a partner: of a time that it hides, one part in m stays there.
TEST(TwoWay, PairsHideExchangesByTheLawOfCombinedPasses) {
  using schedule::OpKind;
  const job::Job pairs = job_from(experts("dualpipe")),
                 combined = job_from(experts("1f1b", R"(, "moe": {"overlap": true})"));
  const step::Passes in_pairs(pairs), in_turn(combined);
  const auto total = [](const step::Passes& passes, OpKind kind) {
    return static_cast<double>(passes.timing(Stage{1}, Chunk{0}, kind).total.ps);
  };
  const double shown = 1.0 - 1.0 / combined.microbatches();
  for (const auto& [apart, paired] :
       {std::pair{OpKind::kForward, OpKind::kPairedForward}, {OpKind::kBackward, OpKind::kPairedBackward}}) {
    const double hidden = total(in_pairs, apart) - total(in_pairs, paired);
    EXPECT_GT(hidden, 0);
    EXPECT_NEAR(total(in_pairs, apart) - total(in_turn, apart), hidden * shown, 100) << "rounded to picoseconds";
  }
  const job::Job plain = job_from(dense("dualpipe"));
  const step::Passes of_plain(plain);
  EXPECT_EQ(total(of_plain, OpKind::kForward), total(of_plain, OpKind::kPairedForward)) << "nothing is exchanged";
  EXPECT_EQ(total(of_plain, OpKind::kBackward), total(of_plain, OpKind::kPairedBackward));
}

std::string complaint(const std::string& text) {
  try {
    (void)job_from(text);
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.complaints().size(), 1U) << error.what();
    return error.what();
  }
  return "none";
}

TEST(TwoWay, OtherShapesAreRefused) {
  EXPECT_THAT(complaint(dense("chimera", "", R"(, "virtual_pipeline": 3)")),
              HasSubstr("/schedule: chimera: expected 2 chunks a stage "
                        "(virtual pipeline), one of each copy of the model, "
                        "found 3"));
  EXPECT_THAT(complaint(dense("dualpipe", "", R"(, "virtual_pipeline": 1)")), HasSubstr("virtual_pipeline"));
  EXPECT_THAT(complaint(experts("dualpipe", R"(, "moe": {"overlap": true})")),
              HasSubstr("/moe/overlap: expected false: schedule \"dualpipe\" "
                        "has pairs of passes that hide exchanges"));
  EXPECT_EQ(complaint(dense("chimera", "", kTwoChunks)), "none") << "as many as there are";
}

}  // namespace
}  // namespace foretoken::study
