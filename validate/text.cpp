// Writes the validation as a table for terminals: a line for each set and quantity, then the rows with largest errors.
#include <fmt/format.h>

#include "validate/split_text.h"
#include "validate/validate.h"

namespace foretoken::validate {
namespace {

constexpr std::string_view kHeader = "{:<17} {:<14} {:>5} {:>6} {:>6} {:>6} {:>6} {:>6} {:>9} {:>5} {:>4} {:>5}\n";

std::string covered_text(const std::optional<Coverage>& coverage) {
  if (!coverage) return "-";
  return fmt::format("{:.0f}", 100 * coverage->part(static_cast<double>(coverage->without_publication)));
}

// One line for each publication, left out in turn.
std::string publications_text(const Intervals& intervals) {
  constexpr std::string_view kLine = "{:<42} {:>5} {:>6} {:>6} {:>10} {:>9}\n";
  std::string text = fmt::format(kLine, "publication left out", "rows", "in", "new", "simulated", "headline");
  const auto add = [&](std::string_view name, const Coverage& one) {
    const auto percent = [&](std::size_t count) {
      return fmt::format("{:.0f}", 100 * one.part(static_cast<double>(count)));
    };
    text += fmt::format(kLine, name.substr(0, 42), one.rows, percent(one.without_publication),
                        percent(one.as_new_publication), fmt::format("{:+.1f}", 100 * one.part(one.simulated_error)),
                        fmt::format("{:+.1f}", 100 * one.part(one.headline_error)));
  };
  for (const auto& [name, one] : intervals.publications) add(name, one);
  add("all", intervals.all);
  return text +
         "\nin: percent of rows in their 90 % interval; new: when nothing was calibrated on the publication.\n"
         "simulated, headline: mean signed errors in %, the headline with the bias of other publications.\n\n";
}

std::string lines_of(const SetResult& result) {
  std::string text;
  bool first = true;
  for (const QuantityErrors& errors : result.errors) {
    const Spread& all = errors.all;
    const bool ranked = first && result.ranking.pairs > 0;
    text += fmt::format(kHeader, first ? result.set.name : "", words_of(errors.quantity), all.count,
                        fmt::format("{:.1f}", 100 * all.mean), fmt::format("{:.1f}", 100 * all.median),
                        fmt::format("{:.1f}", 100 * all.p90), fmt::format("{:.1f}", 100 * all.worst),
                        fmt::format("{:+.1f}", 100 * all.bias),
                        errors.untouched.count == 0 ? "-" : fmt::format("{:.1f}", 100 * errors.untouched.mean),
                        ranked ? fmt::format("{:.2f}", result.ranking.tau) : "-",
                        errors.quantity == Quantity::kStepTime ? covered_text(result.coverage) : "-",
                        first ? fmt::format("{}", result.false_out_of_memory) : "");
    first = false;
  }
  return text;
}

std::string worst_of(const SetResult& result, std::size_t count) {
  std::string text = fmt::format("\n{}: {}\n", result.set.name, result.set.title);
  for (const ModelRanking& one : result.ranking.models)
    text += fmt::format("  tau {:>5.2f}  {} pairs of {}\n", one.tau, one.pairs, one.model);
  for (const std::size_t c : worst_cases(result, count)) {
    const CaseResult& one = result.cases[c];
    const Comparison& comparison = one.comparisons.front();
    text +=
        fmt::format("  {:>8}  {}\n            {}\n", signed_percent(comparison.error()), one.row.id, split_text(one));
  }
  return text;
}

}  // namespace

std::string as_text(const Validation& validation, std::size_t worst_rows) {
  std::string text =
      "Absolute errors in %, predicted against measured. untouched: mean over rows that no fit used.\n\n";
  text += fmt::format(kHeader, "set", "quantity", "rows", "mean", "median", "p90", "worst", "bias", "untouched", "tau",
                      "in", "OOM");
  for (const SetResult& result : validation.sets) text += lines_of(result);
  text +=
      "\ntau: Kendall's, of configurations of one model by GPU seconds a token. in: percent of rows inside\n"
      "their 90 % interval, made without their publication. OOM: rows that ran, predicted not to fit.\n";
  if (validation.intervals) text += '\n' + publications_text(*validation.intervals);
  if (worst_rows > 0) {
    text += "\nRows with the largest errors, and the parts of the predicted step in percent:\n";
    for (const SetResult& result : validation.sets) text += worst_of(result, worst_rows);
  }
  if (!validation.broken.empty()) text += "\nBroken bounds:\n";
  for (const std::string& sentence : validation.broken) text += "  " + sentence + "\n";
  return text;
}

}  // namespace foretoken::validate
