// The ways measurements come in: what `foretoken calibrate import` calls. All throw ConfigError.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/import/gemm_csv.h"
#include "calibration/import/nccl_tests_text.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// All bytes of a file.
[[nodiscard]] std::string text_of(const std::filesystem::path& path);

/// Files printed by nccl-tests, or written by its -J: told apart by their first character.
[[nodiscard]] Samples import_nccl_tests(const std::vector<std::filesystem::path>& files,
                                        const NcclTestsHints& hints = {});

/// A table of matrix products (parse_gemm_csv() lists the columns).
[[nodiscard]] Samples import_gemm_csv(const std::filesystem::path& file, const GemmCsvHints& hints = {});

/// A folder that foretoken-calibrate wrote: its *.jsonl files in the order of their names. Or one such file.
[[nodiscard]] Samples import_samples(const std::filesystem::path& folder_or_file);

/// Any of the above, without hints: a folder or a file of samples, a *.csv table of products, attention or
/// quantisation, else nccl-tests' output.
[[nodiscard]] Samples import_any(const std::filesystem::path& folder_or_file);

/// Writes the samples as one file of JSON lines, which import_samples() reads. An existing file is replaced only when
/// the new one is complete.
void write_samples(const Samples& samples, const std::filesystem::path& file);

}  // namespace foretoken::measured
