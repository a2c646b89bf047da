// The writers of launch files, one for each framework.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/job/job.h"

namespace foretoken::io {

[[nodiscard]] std::string write_megatron(const job::Job& job, const nlohmann::json& scenario);
[[nodiscard]] std::string write_deepspeed(const job::Job& job, const nlohmann::json& scenario);
[[nodiscard]] std::string write_bridge(const job::Job& job, const nlohmann::json& scenario);
[[nodiscard]] std::string write_torchtitan(const job::Job& job, const nlohmann::json& scenario);
[[nodiscard]] std::string write_nanotron(const job::Job& job, const nlohmann::json& scenario);

}  // namespace foretoken::io
