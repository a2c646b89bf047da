// A schedule file as a sheet: a row of actions for every rank, and the stages that stand in each row.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/schedule/csv/actions.h"

namespace foretoken::schedule {

/// A mistake in a file. Rows and columns count cells from 1, as a spreadsheet does.
struct CsvFault {
  int row = 1, column = 1;
  std::string message;  ///< "expected 1F3 before 1B3, found it in column 9; try to swap them"
};

/// The actions of one rank.
struct CsvRow {
  int cells = 0;  ///< idle ones included
  std::vector<CsvAction> actions;
};

/// All rows. Stages are numbered from 0 without gaps, each stands in one row, and every row has as many of them.
struct CsvSheet {
  std::vector<CsvRow> rows;
  int stages = 0;                               ///< virtual stages of the model
  int microbatches = 0;                         ///< one more than the largest number
  std::vector<int> row_of;                      ///< by stage
  std::array<std::size_t, kCsvWords> counts{};  ///< of actions by word
  std::size_t idle_cells = 0, pairs = 0;
  bool older_letters = false;  ///< B and W are the two parts of a backward pass, as in files of 2024

  [[nodiscard]] bool has(CsvWord word) const { return counts[static_cast<std::size_t>(word)] > 0; }
  [[nodiscard]] bool has_messages() const;
  /// Returns the stage before or after `stage`, if the model has one.
  [[nodiscard]] std::optional<int> beside(int stage, Neighbour which) const;
  [[nodiscard]] CsvFault fault(const CsvAction& at, std::string message) const;
  /// Returns a fault behind the last cell of a row.
  [[nodiscard]] CsvFault fault_behind(int row, std::string message) const;
  /// Returns "1F3 (row 2, column 4)".
  [[nodiscard]] std::string located(const CsvAction& action) const;
};

/// Reads the rows of `text` and finds their stages. Returns the first mistake of another text.
[[nodiscard]] std::variant<CsvSheet, CsvFault> read_sheet(std::string_view text);

}  // namespace foretoken::schedule
