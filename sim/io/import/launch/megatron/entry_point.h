// Tells training of a GPT, a BERT or a T5 from other programs of Megatron-LM: inference, reinforcement learning.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::megatron {

/// Refuses a command whose program trains no GPT, BERT or T5: run_text_generation_server.py.
void refuse_entry_point(const std::vector<std::string>& words, const std::string& place, Report& report);

/// Refuses a functional test of another kind, by its folder and its TEST_TYPE or MODE.
void refuse_test_kind(const nlohmann::ordered_json& document, const std::string& path, Report& report);

}  // namespace foretoken::io::launch::megatron
