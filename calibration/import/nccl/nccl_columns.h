// Reads rows of one nccl-tests table by the columns that its header names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/nccl/nccl_run.h"

namespace foretoken::measured {

inline constexpr std::string_view kBlanks = " \t\r";

/// Splits a text at blanks.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view text);

class NcclColumns {
 public:
  /// Reads "size count type redop root time algbw busbw #wrong time algbw busbw #wrong". Returns nothing, with the
  /// reason in `problem`, when the text is not such a header or names CPU times.
  [[nodiscard]] static std::optional<NcclColumns> from_header(std::string_view header, std::string& problem);

  /// Returns nothing, with the reason in `problem`, when the line is not a whole row of these columns.
  [[nodiscard]] std::optional<NcclRow> read(std::string_view line, std::string& problem) const;

 private:
  [[nodiscard]] bool read_result(const std::vector<std::string_view>& words, std::size_t first, NcclRow& row,
                                 std::string& problem) const;

  std::vector<std::string> parameters_;  ///< before the first time
  std::vector<std::string> block_;       ///< from one time to the next
  std::size_t blocks_ = 0;
  std::size_t trailing_words_ = 0;  ///< a timestamp is two words
};

}  // namespace foretoken::measured
