// Tests fine-tuning of NeMo 1 whose model stands in a file of weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::nemo {
namespace {

Report read_tuning(const std::string& model, std::vector<std::string> sets = {}) {
  Findings findings;
  Launch launch;
  launch.sets = std::move(sets);
  launch.sets.insert(launch.sets.begin(), "cluster=dgx-h100-ndr");
  Report report = read_launch_text(
      "name: tuning\ntrainer: {precision: bf16, devices: 8, num_nodes: 1}\nmodel: {micro_batch_size: 2, "
      "global_batch_size: 64, mcore_gpt: true, peft: {peft_scheme: lora, lora_tuning: {adapter_dim: 16}}, "
      "data: {train_ds: {max_seq_length: 2048}}, " +
          model + "}\n",
      "squad.yaml", launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

std::vector<std::string> asked_keys(const Report& report) {
  std::vector<std::string> keys;
  for (const Asked& one : report.asked) keys.push_back(one.key);
  return keys;
}

TEST(RestoredModel, IsAskedForAsOneFact) {
  const Report report = read_tuning("restore_from_path: /results/megatron_own.nemo, hidden_dropout: 0.0");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(asked_keys(report), std::vector<std::string>{"model"});
  EXPECT_FALSE(report.has("model")) << "no default of pre-training";
  EXPECT_TRUE(std::ranges::none_of(
      report.assumed, [](const Assumed& one) { return one.key.starts_with("model.") && !one.value.empty(); }));
}

TEST(RestoredModel, MakesAWholeScenarioOnceItIsStated) {
  const Report report = read_tuning("restore_from_path: null", {"model=llama-2-7b"});
  EXPECT_TRUE(report.complete()) << refused_lines(report);
  EXPECT_EQ(report.at("model"), "llama-2-7b");
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
}

TEST(RestoredModel, IsKnownByTheNameOfItsWeights) {
  EXPECT_EQ(read_tuning("restore_from_path: /data/llama2_70b.nemo").at("model"), "llama-2-70b");
  EXPECT_NE(refused_lines(read_tuning("restore_from_path: /data/llama2_70b.nemo, hidden_dropout: 0.1"))
                .find("model.hidden_dropout"),
            std::string::npos);
}

TEST(RestoredModel, HasItsSizesInTheFileWhereTheyStandThere) {
  const Report report =
      read_tuning("restore_from_path: a.nemo, num_layers: 24, hidden_size: 1024, num_attention_heads: 16");
  EXPECT_EQ(report.whole("model.num_layers"), 24);
}

}  // namespace
}  // namespace foretoken::io::launch::nemo
