// Tells training of a GPT, a BERT or a T5 from other programs of Megatron-LM: inference, reinforcement learning.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::megatron {

/// The programs whose flags mean something else than those of pretrain_gpt.py. Unknown: no program is named.
enum class Program : std::uint8_t { kUnknown, kOther, kBert, kT5 };

/// Returns the program that a command starts: pretrain_bert.py, pretrain_t5.py.
[[nodiscard]] Program program_of(const std::vector<std::string>& words);
/// Returns the program of a functional test: .../test_cases/t5/NAME/model_config.yaml.
[[nodiscard]] Program program_of_test(const std::string& path);

/// Refuses a command whose program trains no GPT, BERT or T5: run_text_generation_server.py.
void refuse_entry_point(const std::vector<std::string>& words, const std::string& place, Report& report);

/// Asks for the parts of a layer where no flag states any, and the program is called after a model that is no GPT:
/// pretrain_llama.py of a fork builds its layers in its code.
void ask_for_layers_of_program(const std::vector<std::string>& words, Report& report);

/// Maps what Pai-Megatron-Patch's program of GLM-130B decides in its code.
void settle_program_of_glm(const std::vector<std::string>& words, Report& report);

/// Refuses a functional test of another kind, by its folder and its TEST_TYPE or MODE.
void refuse_test_kind(const nlohmann::ordered_json& document, const std::string& path, Report& report);

}  // namespace foretoken::io::launch::megatron
