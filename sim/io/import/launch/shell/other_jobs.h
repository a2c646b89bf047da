// Options of jobs of Grid Engine and PBS in the comments of a script: #$ -l rt_AF=4, #PBS -l select=2:ngpus=8.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Adds to `machine` the hosts that such options of `text` state. Returns the variables that follow from them: NHOSTS.
///
/// Known of Grid Engine are the node-exclusive resource types of ABCI, whose numbers are numbers of nodes.
/// Sources: ABCI User Guide (aistabci/abci-docs, en/docs/job-execution.md), "Available Resource Types" and "Environment
/// Variables"; openpbs/openpbs, doc/man1/pbs_resources.7B, mpiprocs and nchunk.
[[nodiscard]] std::map<std::string, std::string, std::less<>> variables_of_other_jobs(std::string_view text,
                                                                                      Machine& machine);

}  // namespace foretoken::io::shell
