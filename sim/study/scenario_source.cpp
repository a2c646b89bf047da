// Reads a scenario again with other overrides.
#include "sim/study/scenario_source.h"

#include <vector>

#include "sim/io/scenario/read_scenario.h"

namespace foretoken::study {

job::Made ScenarioSource::read(std::span<const std::string> sets, const job::Patch& patch) const {
  std::vector<std::string> all(sets.begin(), sets.end());
  for (const job::Edit& edit : patch) all.push_back(job::as_set(edit));
  return text_ ? io::read_scenario_text(*text_, file_, all) : io::read_scenario_file(file_, all, variables_);
}

std::string ScenarioSource::merged(std::span<const std::string> sets) const {
  return text_ ? io::merged_scenario_text(*text_, file_, sets) : io::merged_scenario_file(file_, sets, variables_);
}

std::vector<io::ReadFile> ScenarioSource::files(std::span<const std::string> sets) const {
  return text_ ? io::files_of_scenario(*text_, file_, sets) : io::files_of_scenario(file_, sets, variables_);
}

io::OpenScenario ScenarioSource::read_open(std::span<const std::string> sets) const {
  return text_ ? io::read_open_scenario_text(*text_, file_, sets)
               : io::read_open_scenario_file(file_, sets, variables_);
}

}  // namespace foretoken::study
