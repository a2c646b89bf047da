// Lays out text on a terminal: columns, colours, bars, tables and wrapped paragraphs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::report {

inline constexpr std::size_t kPageColumns = 100;    ///< of a page that is no terminal
inline constexpr std::size_t kScreenColumns = 80;   ///< of the narrowest terminal that pages are made for
inline constexpr std::size_t kWidestColumns = 120;  ///< longer lines are hard to read

/// Colours of a terminal. Colour-blind readers can tell forward from backward.
enum class Ink : std::uint8_t { kBold, kDim, kBlue, kOrange, kGreen, kRed, kCyan, kMagenta };

/// The page that text is written on: its columns, and ink for it. Without colours text stays unchanged.
class Paint {
 public:
  explicit Paint(bool colour, std::size_t columns = kPageColumns) : colour_(colour), columns_(columns) {}
  [[nodiscard]] std::string operator()(Ink ink, std::string_view text) const;
  [[nodiscard]] bool colour() const { return colour_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Breaks `text` at spaces into lines of the page. The first line starts with `first`; the others are indented to its
  /// width. The text ends with a newline. Numbers stay beside their units.
  [[nodiscard]] std::string paragraph(std::string_view first, std::string_view text) const;
  /// Writes a name in bold, on as many lines as the page needs.
  [[nodiscard]] std::string name(std::string_view name) const;
  /// Writes items two spaces apart, on as many lines as the page needs.
  [[nodiscard]] std::string items(const std::vector<std::string>& items) const;

 private:
  bool colour_;
  std::size_t columns_;
};

/// Returns the columns of `text`: its characters without escape sequences.
[[nodiscard]] std::size_t columns_of(std::string_view text);
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t columns);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t columns);
/// Returns the glyph `count` times.
[[nodiscard]] std::string repeat(std::string_view glyph, std::size_t count);

/// Draws a bar of `fraction` x `columns`, exact to an eighth of a column.
[[nodiscard]] std::string bar(double fraction, std::size_t columns);

/// Returns the whole columns of each part of a stacked bar. They add up to the rounded sum of the parts.
[[nodiscard]] std::vector<std::size_t> stacked_columns(const std::vector<double>& parts, double whole,
                                                       std::size_t columns);

/// Does what Paint::paragraph does, for lines of at most `columns`.
[[nodiscard]] std::string paragraph(std::string_view first, std::string_view text, std::size_t columns);

/// Returns `text` if it fits into `columns`, else its beginning and "...". It ends behind a clause where that leaves
/// more than half of the columns, else behind a word. The text has no escape sequences.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t columns);

/// A table: rows of cells under a header. A column is as wide as its widest cell. Where the page is too narrow, the
/// columns with the largest `spare` go first, and a line below names them; 0 stays.
class Table {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };
  struct Column {
    std::string head;
    Align align = Align::kRight;
    int spare = 0;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Adds a row whose `note` spans the table after the first `cells.size()` columns.
  void add_note(std::vector<std::string> cells, std::string note);
  /// `elsewhere` is the option that prints every column.
  [[nodiscard]] std::string text(const Paint& paint, std::size_t indent = 2,
                                 std::string_view elsewhere = "--json") const;

 private:
  [[nodiscard]] std::string text_of(const std::vector<std::size_t>& shown, const Paint& paint,
                                    std::size_t indent) const;
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // the last cell of a short row is a note
};

}  // namespace foretoken::report
