// Reads comma-separated tables row by row, and chooses rows by their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::measured {

/// Splits one line at commas outside double quotes. Removes the quotes and the blanks around a field.
[[nodiscard]] std::vector<std::string> split_csv(std::string_view line);

/// A test of one column: its text is one of these, or its number lies between two bounds.
struct ColumnTest {
  std::string column;  ///< in lower case, like all names of columns here
  std::vector<std::string> one_of{};
  std::optional<double> least{}, most{};
};

/// A choice of a table's rows: the rows that pass every test.
struct RowChoice {
  std::vector<ColumnTest> where{};
};

/// The names of a table's columns in lower case, and their places.
using Columns = std::map<std::string, std::size_t>;

/// One row. A wrong value throws std::invalid_argument, which read_csv() turns into a complaint.
class CsvRow {
 public:
  CsvRow(const Columns& columns, std::string_view line) : columns_(&columns), fields_(split_csv(line)) {}

  [[nodiscard]] bool has(const std::string& column) const { return columns_->contains(column); }
  [[nodiscard]] const std::string& text(const std::string& column) const;
  /// Returns the text of the first of these columns that the table has.
  [[nodiscard]] std::optional<std::string> find(std::initializer_list<const char*> names) const;
  [[nodiscard]] double number(const std::string& column) const;           ///< above 0
  [[nodiscard]] std::int64_t dimension(const std::string& column) const;  ///< whole, 1 .. 2^31
  [[nodiscard]] bool passes(const RowChoice& choice) const;

 private:
  const Columns* columns_;
  std::vector<std::string> fields_;
};

/// Calls `header` once and `row` for every line below it; blank lines and those that begin with # are left out. Throws
/// ConfigError with every std::invalid_argument as "FILE:LINE: what", and when there is no row. A wrong column is said
/// once, at the header.
void read_csv(std::string_view text, const std::string& file, const std::function<void(const Columns&)>& header,
              const std::function<void(const CsvRow&)>& row);

}  // namespace foretoken::measured
