// Tells programs that do not train plainly by their names and their switches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::tuning {

/// The answer says this of a program that only evaluates.
inline constexpr const char* kOnlyEvaluates = "it evaluates a model; without --do_train the program trains nothing";

/// Returns true for a program with --do_train False, and for one of Hugging Face's examples with --do_eval or
/// --do_predict and without --do_train. `program` has its words.
[[nodiscard]] bool only_evaluates(const std::vector<std::string>& program);

/// Returns the word of a program's name that says of preferences, rewards or distillation: "grpo" of grpo_value.py.
[[nodiscard]] std::string other_method_of(const std::string& program);

/// Returns true for a program that only generates, by its name: inference.py, but not train_generation.py.
[[nodiscard]] bool only_generates(const std::string& program);

/// Why a command is no plain training.
struct Untrained {
  std::string setting, because;
};

/// Returns the reason for a command that only evaluates, or that starts a program of another method; else nothing.
[[nodiscard]] std::optional<Untrained> untrained(const shell::Command& command);

/// Refuses a program that does not train plainly, by its name.
void refuse_other_methods(const std::vector<std::string>& program, Report& report);

/// Asks how a program that is named after LoRA trains, where no flag tells of adapters.
void ask_for_method_in_name(const std::vector<std::string>& program, const std::vector<Argument>& arguments,
                            Report& report);

/// Refuses arguments of LLaMA-Factory that train through Megatron-Core.
void refuse_megatron(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::tuning
