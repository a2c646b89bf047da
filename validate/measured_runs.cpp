// Lists the validated cases with a published step time.
#include "validate/measured_runs.h"

#include "validate/case_set.h"

namespace foretoken::validate {

std::vector<study::MeasuredRun> measured_runs() {
  std::vector<study::MeasuredRun> runs;
  for (const std::string& name : case_set_names()) {
    const CaseSet set = read_case_set(name);
    for (const Case& row : set.cases)
      if (row.measured.step_time)
        runs.push_back({.set = name,
                        .id = row.id,
                        .source = set.title,
                        .scenario = row.scenario,
                        .measured = *row.measured.step_time,
                        .fitted = row.fitted});
  }
  return runs;
}

}  // namespace foretoken::validate
