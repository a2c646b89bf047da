// Reads the text that nccl-tests programs print: all collectives, in-place and out-of-place, any number of runs in a
// file.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/nccl/nccl_run.h"

namespace foretoken::measured {

/// Reads the columns that each table's own header names; their number changed over the years. Skips prefixes of mpirun
/// (--tag-output) and srun (--label), and NCCL's own log lines. Throws ConfigError with every broken row as "FILE:LINE:
/// what": a cut row, a wrong value, wrong results, rates that contradict the times.
[[nodiscard]] Samples parse_nccl_tests_text(std::string_view text, const std::string& file,
                                            const NcclTestsHints& hints = {});

}  // namespace foretoken::measured
