// Writes the validation as a table for terminals: a line for each set and quantity, then the rows with largest errors.
#include <fmt/format.h>

#include "validate/split_text.h"
#include "validate/validate.h"

namespace foretoken::validate {
namespace {

using report::Paint;
using report::Table;

std::string covered_text(const std::optional<Coverage>& coverage) {
  if (!coverage) return "-";
  return fmt::format("{:.0f}", 100 * coverage->part(static_cast<double>(coverage->without_publication)));
}

// One line for each publication, left out in turn.
std::string publications_text(const Intervals& intervals, const Paint& paint) {
  constexpr std::size_t kName = 42;
  Table table({{"publication left out", Table::Align::kLeft}, {"rows"}, {"in"}, {"new"}, {"simulated"}, {"headline"}});
  const auto add = [&](std::string_view name, const Coverage& one) {
    const auto percent = [&](std::size_t count) {
      return fmt::format("{:.0f}", 100 * one.part(static_cast<double>(count)));
    };
    table.add({std::string(name.substr(0, kName)), fmt::format("{}", one.rows), percent(one.without_publication),
               percent(one.as_new_publication), fmt::format("{:+.1f}", 100 * one.part(one.simulated_error)),
               fmt::format("{:+.1f}", 100 * one.part(one.headline_error))});
  };
  for (const auto& [name, one] : intervals.publications) add(name, one);
  add("all", intervals.all);
  return table.text(paint, 0) + '\n' +
         paint.paragraph("",
                         "in: percent of rows in their 90 % interval; new: when nothing was calibrated on the "
                         "publication. simulated, headline: mean signed errors in %, the headline with the bias of "
                         "other publications.") +
         '\n';
}

void add_rows(const SetResult& result, Table& table) {
  bool first = true;
  for (const QuantityErrors& errors : result.errors) {
    const Spread& all = errors.all;
    const bool ranked = first && result.ranking.pairs > 0;
    table.add({first ? result.set.name : "", std::string(words_of(errors.quantity)), fmt::format("{}", all.count),
               fmt::format("{:.1f}", 100 * all.mean), fmt::format("{:.1f}", 100 * all.median),
               fmt::format("{:.1f}", 100 * all.p90), fmt::format("{:.1f}", 100 * all.worst),
               fmt::format("{:+.1f}", 100 * all.bias), fmt::format("{:+.1f}", 100 * all.middle),
               errors.untouched.count == 0 ? "-" : fmt::format("{:.1f}", 100 * errors.untouched.mean),
               ranked ? fmt::format("{:.2f}", result.ranking.tau) : "-",
               errors.quantity == Quantity::kStepTime ? covered_text(result.coverage) : "-",
               first ? fmt::format("{}", result.false_out_of_memory) : ""});
    first = false;
  }
}

std::string sets_text(const Validation& validation, const Paint& paint) {
  using enum Table::Align;
  Table table({{"set", kLeft},
               {"quantity", kLeft},
               {"rows"},
               {"mean"},
               {"median", kRight, 2},
               {"p90", kRight, 3},
               {"worst"},
               {"bias"},
               {"middle", kRight, 5},
               {"untouched", kRight, 4},
               {"tau", kRight, 1},
               {"in"},
               {"OOM"}});
  for (const SetResult& result : validation.sets) add_rows(result, table);
  return table.text(paint, 0);
}

std::string worst_of(const SetResult& result, std::size_t count, const Paint& paint) {
  std::string text = '\n' + paint.paragraph("", fmt::format("{}: {}", result.set.name, result.set.title));
  for (const ModelRanking& one : result.ranking.models)
    text +=
        paint.paragraph(fmt::format("  tau {:>5.2f}  ", one.tau), fmt::format("{} pairs of {}", one.pairs, one.model));
  for (const std::size_t c : worst_cases(result, count)) {
    const CaseResult& one = result.cases[c];
    const Comparison& comparison = one.comparisons.front();
    text += paint.paragraph(fmt::format("  {:>8}  ", signed_percent(comparison.error())), one.row.id);
    text += paint.paragraph("            ", split_text(one));
  }
  return text;
}

}  // namespace

std::string as_text(const Validation& validation, std::size_t worst_rows, const report::Paint& paint) {
  std::string text = paint.paragraph("",
                                     "Absolute errors in %, predicted against measured. untouched: mean over rows "
                                     "that no fit used.") +
                     '\n' + sets_text(validation, paint) + '\n' +
                     paint.paragraph("",
                                     "tau: Kendall's, of configurations of one model by GPU seconds a token. in: "
                                     "percent of rows inside their 90 % interval, made without their publication. "
                                     "OOM: rows that ran, predicted not to fit.");
  if (validation.intervals) text += '\n' + publications_text(*validation.intervals, paint);
  if (worst_rows > 0) {
    text += '\n' + paint.paragraph("", "Rows with the largest errors, and the parts of the predicted step in percent:");
    for (const SetResult& result : validation.sets) text += worst_of(result, worst_rows, paint);
  }
  if (!validation.broken.empty()) text += "\nBroken bounds:\n";
  for (const std::string& sentence : validation.broken) text += paint.paragraph("  ", sentence);
  return text;
}

}  // namespace foretoken::validate
