// Text on a terminal: columns, colours, bars, tables and wrapped paragraphs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::report {

inline constexpr std::size_t kPageColumns = 100;

/// Colours that a terminal shows; the palette keeps forward and backward apart for the colour-blind.
enum class Ink : std::uint8_t { kBold, kDim, kBlue, kOrange, kGreen, kRed, kCyan, kMagenta };

/// Paints text, or returns it as it is.
class Paint {
 public:
  explicit Paint(bool colour) : colour_(colour) {}
  [[nodiscard]] std::string operator()(Ink ink, std::string_view text) const;
  [[nodiscard]] bool colour() const { return colour_; }

 private:
  bool colour_;
};

/// Columns that `text` takes: characters, without escape sequences.
[[nodiscard]] std::size_t columns_of(std::string_view text);
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t columns);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t columns);
/// The glyph `count` times.
[[nodiscard]] std::string repeat(std::string_view glyph, std::size_t count);

/// A bar of `fraction` x `columns`, fine to an eighth of a column.
[[nodiscard]] std::string bar(double fraction, std::size_t columns);

/// Cells of the parts of a stacked bar: whole columns that add up to the rounded sum, so that no part drifts.
[[nodiscard]] std::vector<std::size_t> stacked_columns(const std::vector<double>& parts, double whole,
                                                       std::size_t columns);

/// Breaks `text` at spaces into lines of at most `columns`; the first starts with `first`, the others are indented to
/// its width. Ends with a newline.
[[nodiscard]] std::string paragraph(std::string_view first, std::string_view text, std::size_t columns = kPageColumns);

/// Rows of cells under a header; columns as wide as their widest cell.
class Table {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };
  struct Column {
    std::string head;
    Align align = Align::kRight;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// A row of one text that spans the table after the first `cells.size()` columns.
  void add_note(std::vector<std::string> cells, std::string note);
  [[nodiscard]] std::string text(const Paint& paint, std::size_t indent = 2) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // the last cell of a short row is a note
};

}  // namespace foretoken::report
