// The subcommands of `foretoken`, one file each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace foretoken::tools {

/// The action that the command line asks for. Parsing sets it, run_program() calls it; it returns the exit status.
using Action = std::function<int()>;

// Each function adds its subcommand to `program`. When the command line names the subcommand, parsing sets `chosen`.
void add_simulate(CLI::App& program, Action& chosen);
void add_compare(CLI::App& program, Action& chosen);
void add_whatif(CLI::App& program, Action& chosen);
void add_report(CLI::App& program, Action& chosen);
void add_explain(CLI::App& program, Action& chosen);
void add_schedule(CLI::App& program, Action& chosen);
void add_lists(CLI::App& program, Action& chosen);            ///< models, clusters, profiles, runtimes, scenarios
void add_cluster_import(CLI::App& clusters, Action& chosen);  ///< clusters import
/// Adds import. `passed` are the words behind "--".
void add_import(CLI::App& program, Action& chosen, std::vector<std::string> passed);
void add_export(CLI::App& program, Action& chosen);
void add_search(CLI::App& program, Action& chosen);
void add_plan(CLI::App& program, Action& chosen);
void add_diagnose(CLI::App& program, Action& chosen);
void add_serve(CLI::App& program, Action& chosen);
void add_validate(CLI::App& program, Action& chosen);
void add_calibrate(CLI::App& program, Action& chosen);
void add_completion(CLI::App& program, Action& chosen);
void add_man(CLI::App& program, Action& chosen);
void add_doctor(CLI::App& program, Action& chosen);

/// Returns the version: "0.1.0".
[[nodiscard]] std::string_view version();

/// Parses and runs the command line, and turns failures into an exit status:
///   0 done; 1 the answer is no; 2 the input or the environment is wrong; 3 a fault of the program
[[nodiscard]] int run_program(int argc, const char* const* argv);

}  // namespace foretoken::tools
