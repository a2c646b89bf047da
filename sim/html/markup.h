// Writes pieces of HTML: escaped text, tables, legends.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/draw/gantt_keys.h"
#include "sim/draw/svg.h"
#include "sim/report/gantt.h"
#include "sim/report/text/range.h"

namespace foretoken::html {

using draw::escaped;

using report::in_words3;

/// Returns `page` with every {{name}} replaced. Replacements are not searched for further names.
[[nodiscard]] std::string filled(std::string_view page, const std::map<std::string_view, std::string>& values);

/// Escapes JSON for a script element: no "<" remains that could end the element.
[[nodiscard]] std::string script_json(std::string json);

[[nodiscard]] std::string paragraph(std::string_view text, std::string_view style = "");

/// Replaces hyphens by ones at which no line breaks, for ranges such as 23.1-26.4.
[[nodiscard]] std::string unbroken(std::string text);

/// Returns coloured squares with their meanings. The classes are those of draw/palette.h and report.css.
[[nodiscard]] std::string legend(const std::vector<draw::Key>& keys);

/// Returns the legend of drawn pipelines: the kinds of passes in them with the shades of their chunks, messages,
/// bubbles.
[[nodiscard]] std::string pipeline_legend(std::span<const report::Gantt> charts);

/// Returns a drawing for a page (1000 units wide) and another for a phone (kNarrow), of which the style shows one.
[[nodiscard]] std::string for_both_widths(const std::function<std::string(bool is_narrow)>& draw);
inline constexpr double kNarrow = 340;

/// A table: rows under a header. With JavaScript a click on the header of a sortable table sorts it.
class Table {
 public:
  struct Head {
    std::string text;
    bool is_number = true;  ///< right aligned
  };
  struct Cell {
    std::string html;
    std::optional<double> sort{};  ///< the value to sort by; without one the text
  };
  explicit Table(std::vector<Head> heads) : heads_(std::move(heads)) {}
  /// Makes a cell of escaped text.
  [[nodiscard]] static Cell text(std::string_view text) { return {escaped(text), std::nullopt}; }
  [[nodiscard]] static Cell number(double value, std::string_view text) { return {escaped(text), value}; }
  /// Makes a cell of a number, with its interval in small letters below it if there is one.
  [[nodiscard]] static Cell number(double value, std::string_view text, const std::optional<std::string>& range) {
    return {escaped(text) + (range ? "<br><small>" + escaped(*range) + "</small>" : ""), value};
  }
  void add(std::vector<Cell> cells, bool is_marked = false) { rows_.push_back({std::move(cells), is_marked}); }
  [[nodiscard]] std::string html(bool sortable = false) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    bool is_marked;
  };
  std::vector<Head> heads_;
  std::vector<Row> rows_;
};

}  // namespace foretoken::html
