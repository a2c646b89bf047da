// Writes the answer of `foretoken whatif` as text.
#include "tools/text/whatif_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/text/number.h"
#include "sim/report/text/range.h"
#include "sim/report/text/text.h"
#include "sim/study/reason.h"

namespace foretoken::tools {
namespace {

using report::Ink;
using report::Paint;
using report::Table;

// Writes a change: "+3.4 %", or "0.0 %" when it rounds to zero.
std::string change(Seconds time, Seconds base, int digits = 1) {
  const std::string text = fmt::format("{:+.{}f} %", 100 * (time / base - 1), digits);
  return text.find_first_of("123456789") == text.npos ? text.substr(1) : text;
}

// Returns the last part of a key, or all of it where two keys end alike.
std::string short_name(const std::vector<study::Varied>& keys, std::size_t key) {
  const auto last = [](const std::string& text) { return text.substr(text.rfind('.') + 1); };
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (i != key && last(keys[i].key) == last(keys[key].key)) return keys[key].key;
  return last(keys[key].key);
}

void add_row(Table& table, std::vector<std::string> cells, const report::Metrics& m, const report::Metrics& base,
             bool is_base) {
  cells.push_back(report::time_text(m.step_time));
  cells.push_back(is_base ? "base" : change(m.step_time, base.step_time));
  cells.push_back(report::significant(m.tokens_per_s));
  cells.push_back(report::percent(m.mfu));
  cells.push_back(report::percent(m.bubble_fraction));
  cells.push_back(report::gib(m.memory.needed()));
  cells.emplace_back(m.memory.fits ? "yes" : "NO");
  if (base.run) cells.push_back(m.run ? report::significant(m.run->days) : "");
  if (base.run && base.run->cost) cells.push_back(m.run && m.run->cost ? report::in_words3(*m.run->cost) : "");
  table.add(std::move(cells));
}

std::string rows_text(const study::WhatIf& whatif, const Paint& paint) {
  std::vector<Table::Column> columns;
  for (std::size_t k = 0; k < whatif.keys.size(); ++k) columns.push_back({short_name(whatif.keys, k)});
  for (const auto& [head, spare] : {std::pair{"step", 0}, {"to base", 0}, {"tokens/s", 2}, {"MFU", 1}, {"bubble", 3}})
    columns.push_back({head, Table::Align::kRight, spare});
  columns.insert(columns.end(), {{"GiB"}, {"fits"}});
  if (whatif.base.run) columns.push_back({"days"});
  if (whatif.base.run && whatif.base.run->cost) columns.push_back({whatif.base.run->currency});
  Table table(columns);
  std::vector<std::string> as_is(whatif.keys.size(), "as is");
  add_row(table, as_is, whatif.base, whatif.base, true);
  for (std::size_t i = 0; i < whatif.rows.size(); ++i) {
    const study::WhatIfRow& row = whatif.rows[i];
    std::vector<std::string> cells;
    for (std::size_t k = 0; k < whatif.keys.size(); ++k) cells.push_back(whatif.keys[k].values[row.choice[k]]);
    if (row.metrics)
      add_row(table, std::move(cells), *row.metrics, whatif.base, false);
    else
      table.add_note(std::move(cells), study::reason(row.impossible.front()));
  }
  return table.text(paint, 2, "--csv and --json") + paint.paragraph("  ", "GiB: memory that the fullest GPU needs");
}

std::string knee_text(const std::string& key, const study::Knee& knee) {
  const char* const step = knee.larger_is_better ? "doubling" : "halving";
  if (!knee.matters) return fmt::format("no {} in this range saves {:.0f} % of the step", step, 100 * study::kKneeGain);
  if (knee.more_pays)
    return fmt::format("none up to {} = {}, the last {} still saves {:.1f} %", key, report::plain(knee.value), step,
                       100 * knee.gain);
  return fmt::format("{} = {}; the next {} saves {:.1f} % of the step", key, report::plain(knee.value), step,
                     100 * knee.gain);
}

std::string conclusions_text(const study::WhatIf& whatif, const Paint& paint) {
  const study::WhatIfRow& best = whatif.rows[*whatif.best];
  const report::Metrics& m = *best.metrics;
  std::string text = paint.paragraph(
      "  best   ",
      fmt::format("{}: {} ({:.0f} % interval {}), {} to the base{}", study::choice_text(whatif, best),
                  report::time_text(m.step_time), 100 * m.interval->level,
                  report::time_range({m.interval->low.value(), m.interval->high.value()}),
                  change(m.step_time, whatif.base.step_time), m.memory.fits ? "" : "; no combination fits in memory"));
  for (std::size_t k = 0; k < whatif.keys.size(); ++k)
    if (whatif.knees[k]) text += paint.paragraph("  knee   ", knee_text(whatif.keys[k].key, *whatif.knees[k]));
  return text;
}

// Lists the warnings of the base, then the new warnings of each combination.
std::vector<std::string> warnings_of(const study::WhatIf& whatif) {
  std::vector<std::string> warnings = whatif.base.warnings;
  for (const study::WhatIfRow& row : whatif.rows) {
    if (!row.metrics) continue;
    for (const std::string& warning : row.metrics->warnings)
      if (std::find(whatif.base.warnings.begin(), whatif.base.warnings.end(), warning) == whatif.base.warnings.end())
        warnings.push_back(fmt::format("{}: {}", study::choice_text(whatif, row), warning));
  }
  return warnings;
}

// Draws a bar to the left of the base for time saved, to the right for time lost.
std::string tornado_text(const study::WhatIf& whatif, const Paint& paint) {
  constexpr std::size_t kHalf = 14;
  double widest = 0;
  const double base = whatif.base.step_time.value();
  for (const study::Sensitivity& each : whatif.tornado)
    widest = std::max({widest, std::abs(each.smaller.value() / base - 1), std::abs(each.larger.value() / base - 1)});
  Table table({{"hardware property", Table::Align::kLeft},
               {fmt::format("-{:g} %", 100 * whatif.part)},
               {fmt::format("+{:g} %", 100 * whatif.part)},
               {"faster", Table::Align::kRight},
               {"slower", Table::Align::kLeft}});
  for (const study::Sensitivity& each : whatif.tornado) {
    const double low = std::min({each.smaller.value(), each.larger.value(), base}) / base - 1;
    const double high = std::max({each.smaller.value(), each.larger.value(), base}) / base - 1;
    const auto cells = [&](double part) {
      return widest > 0 ? static_cast<std::size_t>(std::lround(std::abs(part) / widest * kHalf)) : 0;
    };
    table.add({std::string(each.name), change(each.smaller, whatif.base.step_time, 2),
               change(each.larger, whatif.base.step_time, 2), paint(Ink::kBlue, report::repeat("█", cells(low))),
               paint(Ink::kOrange, report::repeat("█", cells(high)))});
  }
  return report::title_text("Hardware", "step time with one property smaller or larger, the rest as it is", paint) +
         table.text(paint);
}

}  // namespace

std::string whatif_text(const study::WhatIf& whatif, const Paint& paint) {
  std::string text = paint.name(whatif.base.name);
  if (!whatif.rows.empty()) text += rows_text(whatif, paint);
  if (whatif.best) text += conclusions_text(whatif, paint);
  if (!whatif.tornado.empty()) text += tornado_text(whatif, paint);
  return text + report::warnings_text(warnings_of(whatif), paint);
}

}  // namespace foretoken::tools
