// A valid scenario, and the form of the tables of wrong changes to it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/io/json/test_text.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {

inline const char* const kSound = R"({
  "name": "t", "model": "gpt3-175b", "cluster": "dgx-a100-80gb-hdr", "gpus": 1024,
  "profile": "a100-sxm4-80gb", "runtime": "megatron-2022",
  "parallelism": {"tensor": 8, "pipeline": 8, "virtual_pipeline": 3, "data": 16, "sequence_parallel": true},
  "schedule": "interleaved-1f1b",
  "batch": {"micro": 1, "global": 1536, "sequence_length": 2048},
  "precision": "bf16", "recompute": "selective", "attention": "unfused"
})";

inline std::string patched(const char* patch) {
  nlohmann::json value = nlohmann::json::parse(kSound);
  value.merge_patch(nlohmann::json::parse(patch));
  return value.dump();
}

struct Wrong {
  const char* name;
  const char* patch;                    ///< merged over kSound; null removes a key
  std::vector<std::string> complaints;  ///< pointer and message of each
};

inline void expect_complaints(const std::vector<Wrong>& cases) {
  for (const Wrong& c : cases) {
    SCOPED_TRACE(c.name);
    std::string lines;
    for (const std::string& complaint : c.complaints) lines += "t.json: " + complaint + "\n";
    EXPECT_EQ(thrown_by([&] { (void)read_scenario_text(patched(c.patch), "t.json"); }), lines);
  }
}

}  // namespace foretoken::io
