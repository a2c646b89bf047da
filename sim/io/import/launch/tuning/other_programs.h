// Programs that train as the Trainer does and name their arguments otherwise: OpenRLHF, llama-recipes.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::tuning {

/// Returns true for the arguments of such a program. `program` is its file or module with its words.
[[nodiscard]] bool is_other_program(const std::vector<std::string>& program, const std::vector<Argument>& arguments);

/// An argument that the user does not state, and the program whose default it is; empty for the one of `Origins`.
struct ProgramDefault {
  Argument argument{};
  std::string program{};
};

/// The origin of the Trainer's arguments of such a program.
struct Origins {
  std::vector<std::pair<std::string, std::string>> names{};  ///< the Trainer's, then the program's own
  std::vector<ProgramDefault> defaults{};
  std::string program{};       ///< whose defaults they are: "alpaca-lora"
  bool defaults_known = true;  ///< false for a program of the user's own
};

/// Returns true for a flag that stands without a value, or with any but one that turns it off.
[[nodiscard]] bool is_on(const std::vector<Argument>& arguments, std::string_view name);

/// An argument's name, and the Trainer's.
using Renamed = std::pair<std::string_view, const char*>;

/// The arguments of a program, which become the Trainer's.
struct Taken {
  std::vector<Argument>& arguments;
  Origins& origins;

  void rename(std::span<const Renamed> names) const {
    for (Argument& argument : arguments) {
      const auto found = std::ranges::find(names, argument.name, &Renamed::first);
      if (found == names.end()) continue;
      origins.names.emplace_back(found->second, argument.name);
      argument.name = found->second;
    }
  }
  void add_default(std::string_view name, std::vector<std::string> values, const char* program = "") const {
    if (last_of(arguments, name) != nullptr) return;
    arguments.push_back({std::string(name), std::move(values), ""});
    origins.defaults.push_back({arguments.back(), program});
  }
};

/// Gives the arguments of such a program the Trainer's names, and adds its defaults; also those of qlora.py. Asks for
/// what a name leaves open.
[[nodiscard]] Origins take_names_of_trainer(const std::vector<std::string>& program, std::vector<Argument>& arguments,
                                            Report& report);

/// Names the program's own flags in the report, and lists its defaults as assumed.
void name_origins(const Origins& origins, Report& report);

}  // namespace foretoken::io::launch::tuning
