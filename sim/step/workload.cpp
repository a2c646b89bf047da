// Records the meanings of tasks, and names tasks.
#include "sim/step/workload.h"

#include <utility>

#include "sim/base/check.h"

namespace foretoken::step {

CommunicationId Workload::add(Communication row) {
  const CommunicationId id = communications.end_id();
  communications.push_back(std::move(row));
  return id;
}

CommunicationId Workload::pass_row(Stage stage, Axis axis) const {
  CommunicationId id = pass_rows[stage];
  while (communications[id].axes != axis) id = id.next();
  return id;
}

std::string_view name_of(const Meaning& meaning, const Workload& workload) {
  switch (meaning.kind) {
    case TaskMeaning::kPass:
      return schedule::traits(meaning.pass).name;
    case TaskMeaning::kHostIssue:
      return "launch";
    case TaskMeaning::kPassOverhead:
      return "between passes";
    case TaskMeaning::kCommunication:
      return workload.communications[*meaning.communication].name;
    case TaskMeaning::kOptimizer:
      return "optimizer";
    case TaskMeaning::kStepOverhead:
      return "step overhead";
    case TaskMeaning::kHostUpdate:
      return "update on the host";
  }
  contract_broken("every task has a name", __FILE__, __LINE__);
}

}  // namespace foretoken::step
