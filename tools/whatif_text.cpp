// What `foretoken whatif` concludes, and how it says so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/parse_number.h"
#include "sim/io/json/text.h"
#include "sim/report/text/number.h"
#include "sim/report/text/range.h"
#include "sim/report/text/text.h"
#include "tools/reason.h"
#include "tools/whatif.h"

namespace foretoken::tools {
namespace {

using report::Ink;
using report::Paint;
using report::Table;

bool better(const WhatIfRow& a, const WhatIfRow& b) {
  if (a.metrics->memory.fits != b.metrics->memory.fits) return a.metrics->memory.fits;
  return a.metrics->step_time < b.metrics->step_time;
}

// The knee along one key: rows that agree with the best one in every other key. Nothing when a value is no number.
std::optional<Knee> knee_along(const WhatIf& whatif, std::size_t key) {
  const std::vector<std::size_t>& best = whatif.rows[*whatif.best].choice;
  std::vector<Trial> trials;
  for (const WhatIfRow& row : whatif.rows) {
    bool on_line = true;
    for (std::size_t i = 0; i < best.size(); ++i) on_line = on_line && (i == key || row.choice[i] == best[i]);
    if (!on_line) continue;
    const std::optional<double> value = parse_positive(whatif.keys[key].values[row.choice[key]]);
    if (!value) return std::nullopt;
    if (row.metrics) trials.push_back({*value, row.metrics->step_time.value()});
  }
  return knee_of(std::move(trials));
}

// "+3.4 %"; "0.0 %" for what rounds to nothing.
std::string change(Seconds time, Seconds base, int digits = 1) {
  const std::string text = fmt::format("{:+.{}f} %", 100 * (time / base - 1), digits);
  return text.find_first_of("123456789") == text.npos ? text.substr(1) : text;
}

// The last part of a key, or all of it where two keys end alike.
std::string short_name(const std::vector<Varied>& keys, std::size_t key) {
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
  cells.push_back(report::gib(m.memory.peak));
  cells.emplace_back(m.memory.fits ? "yes" : "NO");
  if (base.run) cells.push_back(m.run ? report::significant(m.run->days) : "");
  if (base.run && base.run->cost) cells.push_back(m.run && m.run->cost ? report::in_words3(*m.run->cost) : "");
  table.add(std::move(cells));
}

std::string rows_text(const WhatIf& whatif, const Paint& paint) {
  std::vector<Table::Column> columns;
  for (std::size_t k = 0; k < whatif.keys.size(); ++k) columns.push_back({short_name(whatif.keys, k)});
  for (const char* head : {"step", "to base", "tokens/s", "MFU", "bubble", "peak GiB", "fits"})
    columns.push_back({head});
  if (whatif.base.run) columns.push_back({"days"});
  if (whatif.base.run && whatif.base.run->cost) columns.push_back({whatif.base.run->currency});
  Table table(columns);
  std::vector<std::string> as_is(whatif.keys.size(), "as is");
  add_row(table, as_is, whatif.base, whatif.base, true);
  for (std::size_t i = 0; i < whatif.rows.size(); ++i) {
    const WhatIfRow& row = whatif.rows[i];
    std::vector<std::string> cells;
    for (std::size_t k = 0; k < whatif.keys.size(); ++k) cells.push_back(whatif.keys[k].values[row.choice[k]]);
    if (row.metrics)
      add_row(table, std::move(cells), *row.metrics, whatif.base, false);
    else
      table.add_note(std::move(cells), reason(row.impossible.front()));
  }
  return table.text(paint);
}

std::string choice_text(const WhatIf& whatif, const WhatIfRow& row) {
  std::string text;
  for (std::size_t k = 0; k < whatif.keys.size(); ++k)
    text += fmt::format("{}{} = {}", k == 0 ? "" : ", ", whatif.keys[k].key, whatif.keys[k].values[row.choice[k]]);
  return text;
}

std::string knee_text(const std::string& key, const Knee& knee) {
  const char* const step = knee.larger_is_better ? "doubling" : "halving";
  if (!knee.matters) return fmt::format("no {} in this range saves {:.0f} % of the step", step, 100 * kKneeGain);
  if (knee.more_pays)
    return fmt::format("none up to {} = {}, the last {} still saves {:.1f} %", key, report::plain(knee.value), step,
                       100 * knee.gain);
  return fmt::format("{} = {}; the next {} saves {:.1f} % of the step", key, report::plain(knee.value), step,
                     100 * knee.gain);
}

std::string conclusions_text(const WhatIf& whatif) {
  const WhatIfRow& best = whatif.rows[*whatif.best];
  const report::Metrics& m = *best.metrics;
  std::string text = report::paragraph(
      "  best   ",
      fmt::format("{}: {} ({:.0f} % interval {}), {} to the base{}", choice_text(whatif, best),
                  report::time_text(m.step_time), 100 * m.interval->level,
                  report::time_range({m.interval->low.value(), m.interval->high.value()}),
                  change(m.step_time, whatif.base.step_time), m.memory.fits ? "" : "; no combination fits in memory"));
  for (std::size_t k = 0; k < whatif.keys.size(); ++k)
    if (whatif.knees[k]) text += report::paragraph("  knee   ", knee_text(whatif.keys[k].key, *whatif.knees[k]));
  return text;
}

// Those of the base, and what a combination adds to them.
std::vector<std::string> warnings_of(const WhatIf& whatif) {
  std::vector<std::string> warnings = whatif.base.warnings;
  for (const WhatIfRow& row : whatif.rows) {
    if (!row.metrics) continue;
    for (const std::string& warning : row.metrics->warnings)
      if (std::find(whatif.base.warnings.begin(), whatif.base.warnings.end(), warning) == whatif.base.warnings.end())
        warnings.push_back(fmt::format("{}: {}", choice_text(whatif, row), warning));
  }
  return warnings;
}

// A bar to the left of the base for time saved, to the right for time lost.
std::string tornado_text(const WhatIf& whatif, const Paint& paint) {
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

void conclude(WhatIf& whatif) {
  whatif.best.reset();
  for (std::size_t i = 0; i < whatif.rows.size(); ++i)
    if (whatif.rows[i].metrics && (!whatif.best || better(whatif.rows[i], whatif.rows[*whatif.best]))) whatif.best = i;
  whatif.knees.assign(whatif.keys.size(), std::nullopt);
  if (!whatif.best) return;
  for (std::size_t key = 0; key < whatif.keys.size(); ++key) whatif.knees[key] = knee_along(whatif, key);
}

std::vector<Complaint> why_all_are_impossible(const WhatIf& whatif, const std::string& scenario) {
  constexpr std::size_t kMostLines = 10;
  const auto line = [&](const Complaint& why, const std::string& prefix) {
    return Complaint{why.file.empty() ? scenario : why.file, "", prefix + reason(why)};
  };
  std::vector<Complaint> complaints;
  const std::vector<Complaint>& first = whatif.rows.front().impossible;
  const bool alike = std::all_of(whatif.rows.begin(), whatif.rows.end(),
                                 [&](const WhatIfRow& row) { return reasons(row.impossible) == reasons(first); });
  if (alike) {
    for (const Complaint& why : first) complaints.push_back(line(why, ""));
    return complaints;
  }
  std::size_t more = 0;
  for (const WhatIfRow& row : whatif.rows) {
    const std::string prefix = io::printable(choice_text(whatif, row)) + ": ";
    for (const Complaint& why : row.impossible)
      if (complaints.size() < kMostLines)
        complaints.push_back(line(why, prefix));
      else
        ++more;
  }
  if (more > 0)
    complaints.push_back(
        {complaints.back().file, "", fmt::format("and {} more", report::whole(static_cast<double>(more)))});
  return complaints;
}

std::string whatif_text(const WhatIf& whatif, const Paint& paint) {
  std::string text = paint(Ink::kBold, whatif.base.name) + '\n';
  if (!whatif.rows.empty()) text += rows_text(whatif, paint) + conclusions_text(whatif);
  if (!whatif.tornado.empty()) text += tornado_text(whatif, paint);
  return text + report::warnings_text(warnings_of(whatif), paint);
}

}  // namespace foretoken::tools
