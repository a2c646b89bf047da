// Splits a text into cells, and finds the row of every stage.
#include "sim/schedule/csv/sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/noun.h"

namespace foretoken::schedule {
namespace {

// Returns the text up to the end of a line, and removes it. Lines may end in a carriage return, too.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<CsvFault> read_row(std::string_view line, CsvSheet& sheet) {
  CsvRow& row = sheet.rows.back();
  const int number = static_cast<int>(sheet.rows.size()) - 1;
  for (bool more = true; more;) {
    const std::size_t comma = line.find(',');
    more = comma != line.npos;
    CsvCell cell = parse_cell(line.substr(0, comma));
    line.remove_prefix(more ? comma + 1 : line.size());
    ++row.cells;
    if (!cell.wrong.empty()) return CsvFault{number + 1, row.cells, std::move(cell.wrong)};
    if (cell.actions.empty()) ++sheet.idle_cells;
    if (cell.actions.size() > 1) ++sheet.pairs;
    for (CsvAction action : cell.actions) {
      action.row = number;
      action.at = static_cast<int>(row.actions.size());
      action.column = row.cells;
      ++sheet.counts[static_cast<std::size_t>(action.word)];
      if (traits(action.word).has_microbatch) sheet.microbatches = std::max(sheet.microbatches, action.microbatch + 1);
      row.actions.push_back(action);
    }
  }
  return std::nullopt;
}

// Reads all rows. Blank lines at the end do not count.
std::optional<CsvFault> read_rows(std::string_view text, CsvSheet& sheet) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf", kBlanks = " \t\r\n";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  if (text.empty()) return CsvFault{1, 1, "expected a row of actions for every rank, found nothing; try 0F0,0B0"};
  for (int line = 1; !text.empty(); ++line) {
    sheet.rows.emplace_back();
    if (auto fault = read_row(take_line(text), sheet)) return fault;
    if (sheet.rows.back().actions.empty())
      return CsvFault{
          line, 1, fmt::format("expected the actions of rank {}, found an empty row; try to remove the row", line - 1)};
  }
  sheet.microbatches = std::max(sheet.microbatches, 1);
  return std::nullopt;
}

// Finds the row of every stage. A stage may be any number so far, so the list is sorted instead of a table.
std::optional<CsvFault> find_stages(CsvSheet& sheet) {
  std::vector<const CsvAction*> firsts;
  for (const CsvRow& row : sheet.rows) {
    std::vector<const CsvAction*> here;
    for (const CsvAction& action : row.actions) here.push_back(&action);
    std::ranges::stable_sort(here, {}, &CsvAction::stage);
    const auto same = [](const CsvAction* a, const CsvAction* b) { return a->stage == b->stage; };
    firsts.insert(firsts.end(), here.begin(), std::unique(here.begin(), here.end(), same));
  }
  std::ranges::stable_sort(firsts, {}, &CsvAction::stage);
  for (std::size_t at = 0; at < firsts.size(); ++at) {
    const CsvAction& first = *firsts[at];
    if (at > 0 && firsts[at - 1]->stage == first.stage)
      return sheet.fault(
          first, fmt::format("expected stage {} in row {} only, where {} stands, found {}; try one row", first.stage,
                             firsts[at - 1]->row + 1, to_text(*firsts[at - 1]), to_text(first)));
    if (first.stage != static_cast<int>(at))
      return sheet.fault(first, fmt::format("expected stages without gaps from 0, found {} and no action of stage {}; "
                                            "try stage {}",
                                            to_text(first), at, at));
    sheet.row_of.push_back(first.row);
  }
  sheet.stages = static_cast<int>(firsts.size());
  return std::nullopt;
}

// Every rank holds as many stages, and messages go to the same rank or to a rank beside it on the ring.
std::optional<CsvFault> check_rows(const CsvSheet& sheet) {
  const int ranks = static_cast<int>(sheet.rows.size());
  std::vector<int> held(sheet.rows.size(), 0);
  for (const int row : sheet.row_of) ++held[static_cast<std::size_t>(row)];
  for (const CsvRow& row : sheet.rows) {
    const int found = held[static_cast<std::size_t>(row.actions.front().row)];
    if (found == held.front()) continue;
    const int whole = (sheet.stages + ranks - 1) / ranks * ranks;
    return sheet.fault(row.actions.front(),
                       fmt::format("expected as many stages in every row, found {} here and {} in row 1; try {} "
                                   "over {}",
                                   found, held.front(), with_noun(whole, "stage"), with_noun(ranks, "row")));
  }
  for (int stage = 1; stage < sheet.stages; ++stage) {
    const int here = sheet.row_of[static_cast<std::size_t>(stage)],
              before = sheet.row_of[static_cast<std::size_t>(stage) - 1];
    const int distance = (here - before + ranks) % ranks;
    if (distance <= 1 || distance == ranks - 1) continue;
    const auto& actions = sheet.rows[static_cast<std::size_t>(here)].actions;
    return sheet.fault(
        *std::ranges::find(actions, stage, &CsvAction::stage),
        fmt::format("expected stage {} in the row of stage {} (row {}) or in a row beside it, found row {}; try "
                    "stage {} in row {}",
                    stage, stage - 1, before + 1, here + 1, stage, (before + 1) % ranks + 1));
  }
  return std::nullopt;
}

}  // namespace

bool CsvSheet::has_messages() const {
  return std::ranges::any_of(kCsvWordTraits,
                             [&](const CsvWordTraits& one) { return (one.sends || one.receives) && has(one.word); });
}

std::optional<int> CsvSheet::beside(int stage, Neighbour which) const {
  const int there = which == Neighbour::kPrevious ? stage - 1 : stage + 1;
  return there >= 0 && there < stages ? std::optional(there) : std::nullopt;
}

CsvFault CsvSheet::fault(const CsvAction& at, std::string message) const {
  return {at.row + 1, at.column, std::move(message)};
}

CsvFault CsvSheet::fault_behind(int row, std::string message) const {
  return {row + 1, rows[static_cast<std::size_t>(row)].cells + 1, std::move(message)};
}

std::string CsvSheet::located(const CsvAction& action) const {
  return fmt::format("{} (row {}, column {})", to_text(action), action.row + 1, action.column);
}

std::variant<CsvSheet, CsvFault> read_sheet(std::string_view text) {
  CsvSheet sheet;
  std::optional<CsvFault> fault = read_rows(text, sheet);
  if (!fault) fault = find_stages(sheet);
  if (!fault) fault = check_rows(sheet);
  if (fault) return *std::move(fault);
  return sheet;
}

}  // namespace foretoken::schedule
