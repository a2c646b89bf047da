// The readers of one line of a log, one for each program. Each returns true when the line is of its program.
#pragma once

#include <string_view>

#include "sim/io/import/log/log_builder.h"

namespace foretoken::io::log {

/// Megatron-LM and its forks since 2019: "iteration 10/ 1000 | elapsed time per iteration (ms): 2711.1 | ...", and the
/// tables of timers after it.
bool take_megatron(std::string_view line, LogBuilder& log);
/// MLPerf: ":::MLLOG {...}".
bool take_mlperf(std::string_view line, LogBuilder& log);
/// NeMo: "train_step_timing in s: 7.59", in lines and in progress bars.
bool take_nemo(std::string_view line, LogBuilder& log);
/// nanotron: "elapsed_time_per_iteration_ms: 45" or "time_per_iteration_ms".
bool take_nanotron(std::string_view line, LogBuilder& log);
/// torchtitan: "step: 20 loss: 11.8 ... tps: 4,376".
bool take_torchtitan(std::string_view line, LogBuilder& log);
/// Composer and llm-foundry: "[batch=3/100]:" and metrics of the speed monitor below it.
bool take_composer(std::string_view line, LogBuilder& log);
/// DeepSpeed: "RunningAvgSamplesPerSec=..." or "iter time (s): ...".
bool take_deepspeed(std::string_view line, LogBuilder& log);
/// Hugging Face Trainer: progress bars and "{'train_runtime': ...}".
bool take_trainer(std::string_view line, LogBuilder& log);

}  // namespace foretoken::io::log
