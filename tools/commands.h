// The subcommands of `foretoken`, one file each.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace foretoken::tools {

/// What the command line asks for; returns the exit status. Parsing sets it, main runs it.
using Action = std::function<int()>;

// Each adds its subcommand to `program`; when the command line names it, parsing sets `chosen`.
void add_simulate(CLI::App& program, Action& chosen);
void add_compare(CLI::App& program, Action& chosen);
void add_whatif(CLI::App& program, Action& chosen);
void add_report(CLI::App& program, Action& chosen);
void add_explain(CLI::App& program, Action& chosen);
void add_schedule(CLI::App& program, Action& chosen);
void add_lists(CLI::App& program, Action& chosen);            ///< models, clusters, profiles, runtimes, scenarios
void add_cluster_import(CLI::App& clusters, Action& chosen);  ///< clusters import
void add_search(CLI::App& program, Action& chosen);
void add_plan(CLI::App& program, Action& chosen);
void add_validate(CLI::App& program, Action& chosen);
void add_calibrate(CLI::App& program, Action& chosen);
void add_completion(CLI::App& program, Action& chosen);

/// "0.1.0".
[[nodiscard]] std::string_view version();

/// The whole program: parses, runs, and turns failures into an exit status.
///   0 done; 1 the answer is no; 2 the input or the environment is wrong; 3 our own fault
[[nodiscard]] int run_program(int argc, const char* const* argv);

}  // namespace foretoken::tools
