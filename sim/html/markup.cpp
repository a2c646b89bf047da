// Writes pieces of HTML.
#include "sim/html/markup.h"

#include <fmt/format.h>

#include "sim/draw/gantt_svg.h"
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

std::string legend(const std::vector<std::pair<std::string_view, std::string_view>>& entries) {
  std::string html = "<ul class=\"legend\">";
  for (const auto& [style, name] : entries)
    html += fmt::format(
        "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"{}\" width=\"12\" "
        "height=\"12\" rx=\"2\"/></svg>{}</li>",
        style, escaped(name));
  return html + "</ul>\n";
}

std::string pipeline_legend(std::span<const report::Gantt> charts) {
  std::vector<std::pair<std::string_view, std::string_view>> entries;
  for (const report::PassKind& kind : report::passes_in(charts))
    entries.emplace_back(draw::css_class(kind.activity), kind.name);
  entries.emplace_back("step", "optimizer, step end");
  entries.emplace_back("message", "pipeline message");
  entries.emplace_back("data", "data-parallel communication");
  entries.emplace_back("hatched", "bubble");
  return legend(entries);
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
      const std::string span = is_note               ? fmt::format(" colspan=\"{}\" class=\"note\"", heads_.size() - c)
                               : heads_[c].is_number ? std::string(" class=\"n\"")
                                                     : std::string();
      html += fmt::format("<td{}{}>{}</td>", span, sort, cell.html);
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
