// Imports measurements from files of every known form, for `foretoken calibrate import`. All functions throw
// ConfigError.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/import/gemm_csv.h"
#include "calibration/import/nccl/nccl_tests_text.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Returns all bytes of a file.
[[nodiscard]] std::string text_of(const std::filesystem::path& path);

/// Reads files that nccl-tests printed, or wrote with -J. The first character shows which.
[[nodiscard]] Samples import_nccl_tests(const std::vector<std::filesystem::path>& files,
                                        const NcclTestsHints& hints = {});

/// Reads a table of matrix products. parse_gemm_csv() lists the columns.
[[nodiscard]] Samples import_gemm_csv(const std::filesystem::path& file, const GemmCsvHints& hints = {});

/// Reads a folder that foretoken-calibrate wrote, or one of its files. The *.jsonl files of a folder are read in the
/// order of their names.
[[nodiscard]] Samples import_samples(const std::filesystem::path& folder_or_file);

/// Reads the text of a *.csv table of products, attention, quantisation or exchanges of tokens. Its columns show which.
/// Rows that do not pass `choice` are left out unread.
[[nodiscard]] Samples import_csv(const std::string& text, const std::string& file, const RowChoice& choice = {});

/// Reads any of these forms without hints: a folder or a file of samples, a *.csv table of products, attention,
/// quantisation or exchanges of tokens, or else the output of nccl-tests.
[[nodiscard]] Samples import_any(const std::filesystem::path& folder_or_file);

/// Writes the samples as one file of JSON lines, which import_samples() reads. An existing file is replaced only when
/// the new one is complete.
void write_samples(const Samples& samples, const std::filesystem::path& file);

}  // namespace foretoken::measured
