// The passes and messages of a sheet by stage and micro-batch, each found once.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "sim/schedule/csv/sheet.h"

namespace foretoken::schedule {

/// All actions of a sheet with a micro-batch. A complete sheet has every forward pass once, and every backward pass
/// once: whole, or as its two parts. It lives no longer than its sheet.
class CsvPasses {
 public:
  /// Finds the actions. Returns the first missing or repeated one of an incomplete sheet. Settles the meaning of B and
  /// W in the sheet: `pass` of its actions, and `older_letters`.
  [[nodiscard]] static std::variant<CsvPasses, CsvFault> find(CsvSheet& sheet);

  /// Returns that action, or nullptr.
  [[nodiscard]] const CsvAction* action(CsvWord word, int stage, int microbatch) const {
    const auto& of_word = at_[static_cast<std::size_t>(word)];
    return of_word.empty() ? nullptr : of_word[slot(stage, microbatch)];
  }
  /// Returns the pass that makes an output, or the gradient of an input.
  [[nodiscard]] const CsvAction& maker(Result result, int stage, int microbatch) const;
  /// Returns the pass whose input comes from that neighbour.
  [[nodiscard]] const CsvAction& taker(Neighbour from, int stage, int microbatch) const {
    return maker(from == Neighbour::kPrevious ? Result::kOutput : Result::kInputGradient, stage, microbatch);
  }

 private:
  explicit CsvPasses(const CsvSheet& sheet) : sheet_(&sheet) {}
  [[nodiscard]] std::size_t slot(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(sheet_->microbatches) +
           static_cast<std::size_t>(microbatch);
  }
  [[nodiscard]] std::optional<CsvFault> check_forwards() const;
  [[nodiscard]] std::optional<CsvFault> fill();
  [[nodiscard]] std::optional<CsvFault> settle_letters(CsvSheet& sheet);
  [[nodiscard]] std::optional<CsvFault> check_backward(int stage, int microbatch) const;
  [[nodiscard]] CsvFault missing(CsvWord word, int stage, int microbatch) const;

  const CsvSheet* sheet_;
  std::array<std::vector<const CsvAction*>, kCsvWords> at_;  // by word, then stage and micro-batch; empty: unused
};

}  // namespace foretoken::schedule
