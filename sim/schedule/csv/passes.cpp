// Finds every pass of a sheet, and says which one is missing or repeated.
#include "sim/schedule/csv/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace foretoken::schedule {

std::variant<CsvPasses, CsvFault> CsvPasses::find(CsvSheet& sheet) {
  CsvPasses passes(sheet);
  std::optional<CsvFault> fault = passes.check_forwards();
  if (!fault) fault = passes.fill();
  if (!fault) fault = passes.settle_letters(sheet);
  for (int stage = 0; !fault && stage < sheet.stages; ++stage)
    for (int microbatch = 0; !fault && microbatch < sheet.microbatches; ++microbatch)
      fault = passes.check_backward(stage, microbatch);
  if (fault) return *std::move(fault);
  return passes;
}

const CsvAction& CsvPasses::maker(Result result, int stage, int microbatch) const {
  if (result == Result::kOutput) return *action(CsvWord::kForward, stage, microbatch);
  // Of these words one pass makes the gradient of the input: a B beside its W does so in older letters.
  for (const CsvWord word : {CsvWord::kBackwardInput, CsvWord::kOlderBackward})
    if (const CsvAction* const found = action(word, stage, microbatch)) return *found;
  return *action(CsvWord::kBackward, stage, microbatch);
}

CsvFault CsvPasses::missing(CsvWord word, int stage, int microbatch) const {
  return sheet_->fault_behind(
      sheet_->row_of[static_cast<std::size_t>(stage)],
      fmt::format("expected {0} somewhere in this row, as stage {1} meets micro-batches 0 to {2}, found none; try to "
                  "add {0}",
                  to_text(stage, word, microbatch), stage, sheet_->microbatches - 1));
}

// Proves that every stage has a forward pass of every micro-batch, without a table of a size that one cell states.
std::optional<CsvFault> CsvPasses::check_forwards() const {
  std::vector<std::vector<int>> found(static_cast<std::size_t>(sheet_->stages));
  for (const CsvRow& row : sheet_->rows)
    for (const CsvAction& action : row.actions)
      if (action.word == CsvWord::kForward) found[static_cast<std::size_t>(action.stage)].push_back(action.microbatch);
  for (int stage = 0; stage < sheet_->stages; ++stage) {
    std::vector<int>& here = found[static_cast<std::size_t>(stage)];
    std::ranges::sort(here);
    here.erase(std::unique(here.begin(), here.end()), here.end());
    int expected = 0;
    while (expected < static_cast<int>(here.size()) && here[static_cast<std::size_t>(expected)] == expected) ++expected;
    if (expected < sheet_->microbatches) return missing(CsvWord::kForward, stage, expected);
  }
  return std::nullopt;
}

std::optional<CsvFault> CsvPasses::fill() {
  const std::size_t slots = static_cast<std::size_t>(sheet_->stages) * static_cast<std::size_t>(sheet_->microbatches);
  for (const CsvRow& row : sheet_->rows) {
    for (const CsvAction& action : row.actions) {
      if (!traits(action.word).has_microbatch) continue;
      auto& of_word = at_[static_cast<std::size_t>(action.word)];
      if (of_word.empty()) of_word.resize(slots, nullptr);
      const CsvAction*& place = of_word[slot(action.stage, action.microbatch)];
      if (place)
        return sheet_->fault(action, fmt::format("expected {} once, found it again after column {}; try to remove one",
                                                 to_text(action), place->column));
      place = &action;
    }
  }
  return std::nullopt;
}

// In files since 2025 a backward pass is B, or I and W. In those of 2024 it is BW, or B and W. Nothing in a file names
// its year, but no file of 2024 has an I, and none since 2025 has a B beside a W of the same micro-batch.
std::optional<CsvFault> CsvPasses::settle_letters(CsvSheet& sheet) {
  const bool newer = sheet.has(CsvWord::kBackwardInput);
  sheet.older_letters = !newer && (sheet.has(CsvWord::kOlderBackward) || sheet.has(CsvWord::kBackwardWeight));
  for (CsvRow& row : sheet.rows) {
    for (CsvAction& each : row.actions) {
      if (newer && each.word == CsvWord::kOlderBackward)
        return sheet.fault(each, fmt::format("expected B for a whole backward pass in a file with I, found {}; try {}",
                                             to_text(each), to_text(each.stage, CsvWord::kBackward, each.microbatch)));
      if (sheet.older_letters && each.word == CsvWord::kBackward) each.pass = OpKind::kBackwardInput;
    }
  }
  return std::nullopt;
}

std::optional<CsvFault> CsvPasses::check_backward(int stage, int microbatch) const {
  const CsvWord input = sheet_->older_letters ? CsvWord::kBackward : CsvWord::kBackwardInput;
  const CsvWord both = sheet_->older_letters ? CsvWord::kOlderBackward : CsvWord::kBackward;
  const CsvAction* const whole = action(both, stage, microbatch);
  const CsvAction* const first = action(input, stage, microbatch);
  const CsvAction* const second = action(CsvWord::kBackwardWeight, stage, microbatch);
  if (whole) {
    const CsvAction* const part = first ? first : second;
    if (!part) return std::nullopt;
    return sheet_->fault(*part, fmt::format("expected {0} without a part beside it, found {1}; try {0} alone, or {2} "
                                            "and {3}",
                                            to_text(*whole), to_text(*part), to_text(stage, input, microbatch),
                                            to_text(stage, CsvWord::kBackwardWeight, microbatch)));
  }
  if (first && second) return std::nullopt;
  if (!first && !second) return missing(both, stage, microbatch);
  const CsvAction& found = first ? *first : *second;
  const std::string other = to_text(stage, first ? CsvWord::kBackwardWeight : input, microbatch);
  return sheet_->fault(found, fmt::format("expected {} in the same row as {}, found none; try to add it, or {} in "
                                          "place of both",
                                          other, to_text(found), to_text(stage, both, microbatch)));
}

}  // namespace foretoken::schedule
