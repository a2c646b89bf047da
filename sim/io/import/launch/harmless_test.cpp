// Tests what names of settings say.
#include "sim/io/import/launch/harmless.h"

#include <gtest/gtest.h>

namespace foretoken::io::launch {
namespace {

TEST(Harmless, AQuantityOfSomethingHarmlessIsHarmless) {
  for (const char* name : {"num_train_steps", "num_workers", "max_checkpoints", "train_iters", "log_every_n_steps",
                           "n_epochs", "num_labels", "profile_num_steps", "num_examples"})
    EXPECT_TRUE(is_harmless_name(name)) << name;
}

TEST(Harmless, OtherQuantitiesAreNot) {
  for (const char* name : {"gradient_accumulation_steps", "num_layers", "max_tokens", "num_inputs", "freeze_epochs",
                           "inner_steps", "num_experts", "n_head", "max_target_length", "samples_per_step"})
    EXPECT_FALSE(is_harmless_name(name)) << name;
}

TEST(Harmless, AWordThatEndsWithExpertsIsCostly) {
  EXPECT_TRUE(names_something_costly("dense2moe"));
  EXPECT_FALSE(names_something_costly("use_func"));
}

}  // namespace
}  // namespace foretoken::io::launch
