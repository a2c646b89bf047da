// Writes pieces of HTML.
#include "sim/html/markup.h"

#include <fmt/format.h>

#include "sim/report/text/number.h"

namespace foretoken::html {

std::string script_json(std::string json) {
  for (std::size_t at = json.find('<'); at != json.npos; at = json.find('<', at)) json.replace(at, 1, "\\u003c");
  return json;
}

std::string paragraph(std::string_view text, std::string_view style) {
  return style.empty() ? fmt::format("<p>{}</p>\n", escaped(text))
                       : fmt::format("<p class=\"{}\">{}</p>\n", style, escaped(text));
}

std::string unbroken(std::string text) {
  constexpr std::string_view kHyphen = "\u2011";
  for (std::size_t at = text.find('-'); at != text.npos; at = text.find('-', at)) text.replace(at, 1, kHyphen);
  return text;
}

std::string legend(const std::vector<draw::Key>& keys) {
  constexpr int kSquare = 12;
  std::string html = "<ul class=\"legend\">";
  for (const draw::Key& key : keys) {
    std::string squares;
    int at = 0;
    for (const std::string& name : key.classes) {
      squares += fmt::format("<rect class=\"{}\" x=\"{}\" width=\"{}\" height=\"{}\"/>", name, at, kSquare, kSquare);
      at += kSquare;
    }
    html += fmt::format("<li><svg width=\"{}\" height=\"{}\" aria-hidden=\"true\">{}</svg>{}</li>", at, kSquare,
                        squares, escaped(key.words));
  }
  return html + "</ul>\n";
}

std::string pipeline_legend(std::span<const report::Gantt> charts) {
  std::vector<draw::Key> keys = draw::gantt_keys(charts);
  keys.push_back({{"c-bubble"}, "bubble"});
  return legend(keys);
}

namespace {

std::string note(std::size_t columns) { return fmt::format(" colspan=\"{}\" class=\"note\"", columns); }

// Long words take a line of their own on a phone.
std::string kind_of(const Table::Head& head, const Table::Cell& cell) {
  constexpr std::size_t kLong = 16;
  if (head.is_number) return " class=\"n\"";
  return cell.html.size() > kLong ? " class=\"long\"" : "";
}

// Repeats the head of the column. A phone has no room for columns, and shows a row as a list of labelled values.
std::string labelled(const Table::Head& head, const Table::Cell& cell) {
  return cell.html.empty() ? "" : fmt::format(" data-label=\"{}\"", escaped(head.text));
}

}  // namespace

std::string for_both_widths(const std::function<std::string(bool is_narrow)>& draw) {
  return fmt::format("<div class=\"for-wide\">{}</div><div class=\"for-narrow\">{}</div>\n", draw(false), draw(true));
}

std::string Table::html(bool sortable) const {
  std::string html = fmt::format("<div class=\"table\"><table{}>\n<thead><tr>", sortable ? " class=\"sortable\"" : "");
  for (const Head& head : heads_)
    html += fmt::format("<th scope=\"col\"{}>{}</th>", head.is_number ? " class=\"n\"" : "", escaped(head.text));
  html += "</tr></thead>\n<tbody>\n";
  for (const Row& row : rows_) {
    html += row.is_marked ? "<tr class=\"marked\">" : "<tr>";
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const Cell& cell = row.cells[c];
      const std::string sort = cell.sort ? fmt::format(" data-sort=\"{:.9g}\"", *cell.sort) : "";
      // A short row ends with a note over the remaining columns.
      const bool is_note = c + 1 == row.cells.size() && row.cells.size() < heads_.size();
      html += fmt::format("<td{}{}{}>{}</td>", is_note ? note(heads_.size() - c) : kind_of(heads_[c], cell), sort,
                          labelled(heads_[c], cell), cell.html);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string filled(std::string_view page, const std::map<std::string_view, std::string>& values) {
  std::string out;
  for (std::size_t open = page.find("{{"); open != page.npos; open = page.find("{{")) {
    const std::size_t close = page.find("}}", open);
    out += page.substr(0, open);
    out += values.at(page.substr(open + 2, close - open - 2));
    page.remove_prefix(close + 2);
  }
  return out += page;
}

}  // namespace foretoken::html
