// Tests formats of stored weights that names of models say.
#include "sim/io/import/launch/names/stored_weights.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/model_names.h"

namespace foretoken::io::launch {
namespace {

struct Stored {
  const char* name;
  int bits;  ///< by bitsandbytes or nobody's library; 16 for others
  bool fp8 = false;
  const char* other = "";
};

TEST(StoredWeights, EveryFormatThatIsLeftOutOfANameSaysItsBits) {
  constexpr Stored kStored[] = {{"some-org/Meta-Llama-3.1-405B-BNB-NF4-BF16", 4},
                                {"unsloth/llama-3-8b-bnb-4bit", 4},
                                {"org/Llama-3-8B-bnb4bit", 4},
                                {"org/Llama-3-8B-bnb-8bit", 8},
                                {"org/Meta-Llama-3-8B-Instruct-4bit", 4, false, "4bit"},
                                {"org/Meta-Llama-3-8B-Instruct-8bit", 8, false, "8bit"},
                                {"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", 16, false, "GPTQ"},
                                {"Qwen/Qwen2.5-7B-Instruct-AWQ-4bit", 16, false, "AWQ"},
                                {"org/Llama-3-8B-AutoAWQ", 16, false, "AWQ"},
                                {"some-org/Llama-3.3-70B-Instruct-FP8-dynamic", 16, true},
                                {"org/Llama-3.1-8B-Instruct-FP8-BF16", 16, true},
                                {"org/llama_3.1_8b_fp8", 16, true},
                                {"Qwen/Qwen2.5-7B-bf16", 16},
                                {"/data/gptq/fp8/Llama-3-8B", 16},
                                {"/data/bnb-4bit/Llama-3-8B", 16},
                                {"Llama-3-8B/checkpoint4", 16}};
  for (const Stored& one : kStored) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(holds_four_bits(one.name), one.bits == 4);
    EXPECT_EQ(holds_eight_bits(one.name), one.bits == 8);
    EXPECT_EQ(holds_fp8(one.name), one.fp8);
    EXPECT_EQ(other_library_in(one.name), one.other);
  }
}

TEST(StoredWeights, FoldersSayNoFormat) {
  Report report;
  map_named_model("/data/gptq/Llama-3-8B", "model_name_or_path", report);
  EXPECT_TRUE(report.refused.empty());
  EXPECT_TRUE(report.has("model"));
}

}  // namespace
}  // namespace foretoken::io::launch
