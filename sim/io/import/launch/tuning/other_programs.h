// Programs that train as the Trainer does and name their arguments otherwise: OpenRLHF, llama-recipes.
#pragma once

#include <string>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::tuning {

/// Returns true for the arguments of such a program.
[[nodiscard]] bool is_other_program(const std::vector<Argument>& arguments);

/// Gives the arguments of such a program the Trainer's names, and adds its defaults; also those of qlora.py.
void take_names_of_trainer(const std::vector<std::string>& program, std::vector<Argument>& arguments);

/// Returns the word of a program's name that says of preferences, rewards or distillation: "grpo" of grpo_value.py.
[[nodiscard]] std::string other_method_of(const std::string& program);

/// Refuses a program that does not train plainly, by its name.
void refuse_other_methods(const std::vector<std::string>& program, Report& report);

}  // namespace foretoken::io::launch::tuning
