// Writes the validation as one page for a browser, without other files: plots, sortable tables, a breakdown of each
// row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/html/assets.h"
#include "sim/html/markup.h"
#include "validate/assets.h"
#include "validate/plots.h"
#include "validate/split_text.h"
#include "validate/validate.h"

namespace foretoken::validate {
namespace {

using html::escaped;

// The colours of the parts of report::TimeSplit: compute, communication, waiting.
constexpr std::array<std::string_view, 9> kPartColours{"#0072b2", "#d55e00", "#e69f00", "#cc79a7", "#882255",
                                                       "#009e73", "#9aa4ae", "#999933", "#5c6670"};

struct Head {
  std::string_view title;
  bool text = false;
};

std::string table_start(std::string_view id, const std::vector<Head>& heads) {
  std::string page = fmt::format("<div class=\"wide\"><table id=\"{}\"><thead><tr>", id);
  for (const Head& head : heads)
    page += fmt::format("<th{}>{}</th>", head.text ? " class=\"text\"" : "", escaped(head.title));
  return page + "</tr></thead><tbody>\n";
}
constexpr std::string_view kTableEnd = "</tbody></table></div>\n";

std::string text_cell(std::string_view text) { return fmt::format("<td class=\"text\">{}</td>", escaped(text)); }
std::string number_cell(double value, std::string_view shown) {
  return fmt::format("<td data-sort=\"{:.6g}\">{}</td>", value, shown);
}
std::string percent_cell(double fraction) { return number_cell(fraction, fmt::format("{:.1f}", 100 * fraction)); }
std::string count_cell(std::size_t count) { return number_cell(static_cast<double>(count), fmt::format("{}", count)); }

std::string summary_row(const SetResult& result, const QuantityErrors& errors) {
  const Spread& all = errors.all;
  const bool step = errors.quantity == Quantity::kStepTime;
  std::string page = "<tr>" + text_cell(result.set.name) + text_cell(words_of(errors.quantity)) + count_cell(all.count);
  for (const double value : {all.mean, all.median, all.p90, all.worst}) page += percent_cell(value);
  for (const double value : {all.bias, all.middle}) page += number_cell(value, fmt::format("{:+.1f}", 100 * value));
  page += errors.untouched.count == 0 ? "<td></td>" : percent_cell(errors.untouched.mean);
  page += step && result.ranking.pairs > 0 ? number_cell(result.ranking.tau, fmt::format("{:.2f}", result.ranking.tau))
                                           : "<td></td>";
  const auto& coverage = result.coverage;
  page +=
      step && coverage ? percent_cell(coverage->part(static_cast<double>(coverage->without_publication))) : "<td></td>";
  page += step ? fmt::format("<td{0} data-sort=\"{1}\">{1}</td>",
                             result.false_out_of_memory > 0 ? " class=\"bad\"" : "", result.false_out_of_memory)
               : "<td></td>";
  return page + "</tr>\n";
}

std::string summary_table(const Validation& validation) {
  std::string page = table_start("sets", {{"set", true},
                                          {"quantity", true},
                                          {"rows"},
                                          {"mean %"},
                                          {"median %"},
                                          {"p90 %"},
                                          {"worst %"},
                                          {"bias %"},
                                          {"middle %"},
                                          {"untouched %"},
                                          {"tau"},
                                          {"in interval %"},
                                          {"false OOM"}});
  for (const SetResult& result : validation.sets)
    for (const QuantityErrors& errors : result.errors) page += summary_row(result, errors);
  return page + std::string(kTableEnd);
}

std::string ranking_table(const Validation& validation) {
  std::string page = table_start("ranking", {{"set", true}, {"model", true}, {"pairs"}, {"tau"}});
  for (const SetResult& result : validation.sets)
    for (const ModelRanking& one : result.ranking.models)
      page += "<tr>" + text_cell(result.set.name) + text_cell(one.model) + count_cell(one.pairs) +
              number_cell(one.tau, fmt::format("{:.2f}", one.tau)) + "</tr>\n";
  return page + std::string(kTableEnd);
}

// Draws a bar from the middle, full at 30 %.
std::string error_cell(double error) {
  constexpr double kFull = 0.3;
  const double half = 50 * std::min(1.0, std::abs(error) / kFull);
  return number_cell(
      error, fmt::format("{}<span class=\"error\"><i{} style=\"left:{:.1f}%;width:{:.1f}%\"></i></span>",
                         signed_percent(error), error < 0 ? " class=\"low\"" : "", error < 0 ? 50 - half : 50, half));
}

std::string split_cell(const CaseResult& one) {
  const auto parts = split_parts(one.split);
  std::string page = fmt::format("<td data-sort=\"{:.4f}\"><div class=\"split\" title=\"{}\">",
                                 one.split.compute / one.step_time, escaped(split_text(one)));
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const double percent = 100 * (parts[p].second / one.step_time);
    if (percent >= 0.5)
      page += fmt::format("<i style=\"width:{:.1f}%;background:{}\"></i>", percent, kPartColours.at(p));
  }
  return page + "</div></td>";
}

std::string split_key() {
  std::string page = "<p class=\"key dim\">Step:";
  const auto parts = split_parts({});
  for (std::size_t p = 0; p < parts.size(); ++p)
    page += fmt::format("<i style=\"background:{}\"></i>{}", kPartColours.at(p), parts[p].first);
  return page + "</p>\n";
}

std::string rows_table(const Validation& validation) {
  std::string page = table_start("rows", {{"set", true},
                                          {"row", true},
                                          {"GPUs"},
                                          {"quantity", true},
                                          {"measured"},
                                          {"predicted"},
                                          {"error"},
                                          {"fitted", true},
                                          {"step, compute first"}});
  for (const SetResult& result : validation.sets)
    for (const CaseResult& one : result.cases)
      for (const Comparison& comparison : one.comparisons) {
        const bool bytes = comparison.quantity == Quantity::kPeakMemory;
        const double unit = bytes ? 1e9 : 1;
        const auto value = [&](double v) {
          return number_cell(v, fmt::format("{:.4g} {}", v / unit, bytes ? "GB" : "s"));
        };
        page += "<tr>" + text_cell(result.set.name) + text_cell(one.row.id) +
                count_cell(static_cast<std::size_t>(one.gpus)) + text_cell(words_of(comparison.quantity)) +
                value(comparison.measured) + value(comparison.predicted) + error_cell(comparison.error()) +
                text_cell(one.row.fitted ? "fitted" : "") + split_cell(one) + "</tr>\n";
      }
  return page + std::string(kTableEnd);
}

std::string sources(const Validation& validation) {
  std::string page;
  for (const SetResult& result : validation.sets) {
    const CaseSet& set = result.set;
    page += fmt::format("<h3>{}</h3>\n<p>{}. <span class=\"dim\">Source: {}. Quality {}.</span> {}</p>\n",
                        escaped(set.name), escaped(set.title), escaped(set.source), escaped(set.quality),
                        escaped(set.notes));
    if (!set.residues.empty()) page += fmt::format("<p>{}</p>\n", escaped(set.residues));
  }
  return page;
}

std::string introduction(const Validation& validation) {
  std::size_t cases = 0;
  for (const SetResult& result : validation.sets) cases += result.cases.size();
  std::string page = fmt::format(
      "<h1>Foretoken: predicted beside published</h1>\n<p>{} published runs in {} sets. Errors are predicted over "
      "measured, less one. Rows marked fitted took part in fitting a number of their runtime; untouched is the mean "
      "over "
      "the others. Click a column to sort by it.</p>\n",
      cases, validation.sets.size());
  if (validation.intervals) {
    const Coverage& all = validation.intervals->all;
    page += fmt::format(
        "<p>{:.1f} % of {} step times lie in their 90 % interval, which is made without the row's own "
        "publication.</p>\n",
        100 * all.part(static_cast<double>(all.without_publication)), all.rows);
  }
  for (const std::string& sentence : validation.broken)
    page += fmt::format("<p class=\"bad\">Bound broken: {}</p>\n", escaped(sentence));
  return page;
}

}  // namespace

std::string as_html(const Validation& validation) {
  return html::filled(kValidationHtml, {{"style", std::string(kValidationCss)},
                                        {"introduction", introduction(validation)},
                                        {"plots", steps_plot(validation, true) + errors_plot(validation, true)},
                                        {"sets", summary_table(validation)},
                                        {"ranking", ranking_table(validation)},
                                        {"rows", split_key() + rows_table(validation)},
                                        {"sources", sources(validation)},
                                        {"script", std::string(html::kTablesJs) + std::string(kValidationJs)}});
}

}  // namespace foretoken::validate
