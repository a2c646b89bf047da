// Tests what embedding and head that train whole beside LoRA add to an answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sim/io/scenario/read_scenario.h"
#include "sim/job/make.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using testing::Contains;
using testing::HasSubstr;

Prediction answer(const char* model, const nlohmann::json& whole, int zero_stage = 0) {
  nlohmann::json scenario = nlohmann::json::parse(R"({
    "cluster": "dgx-h100-ndr", "gpus": 8, "runtime": "huggingface-trainer",
    "batch": {"micro": 1, "global": 16, "sequence_length": 1024}, "recompute": "full",
    "training": {"method": "lora", "rank": 16}})");
  scenario["model"] = model;
  scenario["optimizer"]["zero_stage"] = zero_stage;
  if (!whole.is_null()) scenario["training"]["whole"] = whole;
  return predict(io::read_scenario_text(scenario.dump(), "test"));
}

struct Added {
  const char *name, *model;
  nlohmann::json parts;
  double table, copies;
};

// vocab_size and hidden size of the models' config.json. GPT-2 ties embedding and head.
const Added kAdded[] = {{"an embedding", "llama-3-8b", {"embedding"}, 128256.0 * 4096, 1},
                        {"a head", "llama-3-8b", "head", 128256.0 * 4096, 1},
                        {"both", "llama-3-8b", {"embedding", "head"}, 128256.0 * 4096, 2},
                        {"both of one table", "gpt2", {"embedding", "head"}, 50257.0 * 768, 2}};

// A copy has a weight and a gradient of 16 bits, a master weight and two moments of 32. The original was there before.
TEST(WholeParts, ParametersAndStatesGrowByACopyOfEach) {
  for (const auto& [name, model, parts, table, copies] : kAdded) {
    SCOPED_TRACE(name);
    const report::Metrics before = answer(model, nullptr).metrics, after = answer(model, parts).metrics;
    EXPECT_EQ(after.parameters.trainable - before.parameters.trainable, copies * table);
    EXPECT_EQ(after.parameters.total, before.parameters.total);
    const auto& held = before.memory.per_stage.front();
    const auto& holds = after.memory.per_stage.front();
    EXPECT_EQ((holds.weights - held.weights).value(), copies * 2 * table);
    EXPECT_EQ((holds.gradients - held.gradients).value(), copies * 2 * table);
    EXPECT_EQ((holds.optimizer - held.optimizer).value(), copies * (4 + 8) * table);
    EXPECT_EQ((after.memory.model_state - before.memory.model_state).value(), copies * 16 * table);
    EXPECT_GT(after.step_time.value(), before.step_time.value());
  }
}

TEST(WholeParts, ShardedCopiesTakeTheirShareOfStates) {
  const auto optimizer = [](const nlohmann::json& whole) {
    return answer("llama-3-8b", whole, 3).metrics.memory.per_stage.front().optimizer.value();
  };
  EXPECT_EQ(optimizer({"embedding", "head"}) - optimizer(nullptr), 2 * (4 + 8) * 128256.0 * 4096 / 8);
}

TEST(WholeParts, TheAnswerSaysThatCopiesAreTiedToNothing) {
  EXPECT_THAT(answer("gpt2", {"head"}).metrics.assumptions, Contains(HasSubstr("tied to nothing")));
  EXPECT_THAT(answer("llama-3-8b", {"head"}).metrics.assumptions, Not(Contains(HasSubstr("tied to nothing"))));
  EXPECT_THAT(answer("llama-3-8b", {"head"}).metrics.assumptions, Contains(HasSubstr("the frozen original stays")));
}

}  // namespace
}  // namespace foretoken::study
