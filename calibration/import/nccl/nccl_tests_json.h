// Reads the file that nccl-tests programs write with -J.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/nccl/nccl_run.h"

namespace foretoken::measured {

/// Reads samples from the file's text. Of the recorded environment it keeps only NCCL_* variables. Throws ConfigError
/// with every complaint as "FILE: /pointer: what".
[[nodiscard]] Samples parse_nccl_tests_json(std::string_view text, const std::string& file,
                                            const NcclTestsHints& hints = {});

}  // namespace foretoken::measured
