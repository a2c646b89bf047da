// Reads a question from a file, or makes one of the options.
#include "tools/options/asked_source.h"

#include <algorithm>
#include <utility>

#include "tools/options/scenario_argument.h"
#include "tools/options/search_values.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace {

// Returns a question for the largest of the sizes, so that its batch suits them all.
study::ScenarioSource stated_source(QuestionOptions asked, const OpenOptions& open, const std::string& command) {
  if (!open.gpus.empty()) asked.gpus = std::to_string(parse_gpus(open.gpus).back());
  std::vector<std::string> sets = open.sets;
  sets.insert(sets.end(), open.fixes.begin(), open.fixes.end());
  StatedQuestion stated = stated_question(asked, sets, command);
  for (const std::string& assumption : stated.assumptions) print_error("Assumed: " + assumption);
  return {std::move(stated.text), kStatedOrigin};
}

}  // namespace

AskedSource asked_source(const std::string& argument, QuestionOptions asked, const OpenOptions& open,
                         const std::string& command) {
  std::vector<std::string> stated = sets_of(asked);
  if (argument.empty() && !open.variables.empty())
    throw ConfigError({{command, "", "--env states variables of a launch script; give the script as SCENARIO"}});
  study::ScenarioSource source = argument.empty()
                                     ? stated_source(std::move(asked), open, command)
                                     : scenario_source(argument, script_variables(open.variables, command));
  Overrides over = overrides(source, open, stated);
  over.sets.insert(over.sets.end(), stated.begin(), stated.end());
  return {std::move(source), std::move(over.sets), over.stated_zero_stage};
}

}  // namespace foretoken::tools
