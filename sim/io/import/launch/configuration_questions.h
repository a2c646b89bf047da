// The questions about a configuration that only a program or a recipe holds.
#pragma once

#include <string>
#include <string_view>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// Asks for the facts that a scenario needs, and for those that change its memory or time most, where the report has
/// none. `model_known`: a name stands for the sizes of the model.
void ask_for_configuration(bool model_known, const std::string& because, Report& report);

/// Takes back the question for a key that no flag states, where the file has no flags: another question follows. A
/// flag whose value nobody knows keeps its question.
void drop_question_of_flags(std::string_view key, Report& report);

}  // namespace foretoken::io::launch
