// The file that nccl-tests programs write with -J.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/nccl_run.h"

namespace foretoken::measured {

/// Of the environment that the file records, only NCCL_* variables are kept. Throws ConfigError with every complaint
/// as "FILE: /pointer: what".
[[nodiscard]] Samples parse_nccl_tests_json(std::string_view text, const std::string& file,
                                            const NcclTestsHints& hints = {});

}  // namespace foretoken::measured
