// Checks each row for itself, then the messages between two rows, then all rows together.
#include "sim/schedule/csv/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace foretoken::schedule {
namespace {

/// Checks the actions of one stage that its row alone decides.
class RowOrder {
 public:
  RowOrder(const CsvSheet& sheet, const CsvPasses& passes)
      : sheet_(sheet),
        passes_(passes),
        gathers_(sheet.has(CsvWord::kUnshard) || sheet.has(CsvWord::kReshard)),
        gathered_(static_cast<std::size_t>(sheet.stages), false),
        reduced_(static_cast<std::size_t>(sheet.stages), nullptr) {}

  [[nodiscard]] std::optional<CsvFault> check(const CsvAction& action) {
    if (action.pass) return check_pass(action);
    if (action.word == CsvWord::kUnshard || action.word == CsvWord::kReshard) return check_weights(action);
    if (action.word == CsvWord::kReduceGrad) return check_reduction(action);
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<CsvFault> check_pass(const CsvAction& action) const {
    const auto stage = static_cast<std::size_t>(action.stage);
    if (const auto follows = traits(*action.pass).follows) {
      const CsvAction& before = passes_.maker(*follows, action.stage, action.microbatch);
      if (before.at > action.at)
        return sheet_.fault(action, fmt::format("expected {} before {}, found it in column {}; try to swap them",
                                                to_text(before), to_text(action), before.column));
    }
    if (gathers_ && !gathered_[stage])
      return sheet_.fault(action, fmt::format("expected {0} before {1}, found none since the start or {2}; try {0} "
                                              "in the cell before",
                                              to_text(action.stage, CsvWord::kUnshard, 0), to_text(action),
                                              to_text(action.stage, CsvWord::kReshard, 0)));
    if (reduced_[stage] && traits(*action.pass).makes.has(Result::kWeightGradient))
      return sheet_.fault(action, fmt::format("expected {} before {}, found it behind; try to swap them",
                                              to_text(action), sheet_.located(*reduced_[stage])));
    return std::nullopt;
  }

  [[nodiscard]] std::optional<CsvFault> check_weights(const CsvAction& action) {
    const auto stage = static_cast<std::size_t>(action.stage);
    const bool gather = action.word == CsvWord::kUnshard;
    if (gathered_[stage] == gather)
      return sheet_.fault(action, fmt::format("expected {} before {}, found none; try to remove one {}",
                                              to_text(action.stage, gather ? CsvWord::kReshard : CsvWord::kUnshard, 0),
                                              to_text(action), to_text(action)));
    gathered_[stage] = gather;
    return std::nullopt;
  }

  [[nodiscard]] std::optional<CsvFault> check_reduction(const CsvAction& action) {
    const CsvAction*& first = reduced_[static_cast<std::size_t>(action.stage)];
    if (first)
      return sheet_.fault(action, fmt::format("expected {} once, found it again after column {}; try to remove one",
                                              to_text(action), first->column));
    first = &action;
    return std::nullopt;
  }

  const CsvSheet& sheet_;
  const CsvPasses& passes_;
  bool gathers_;  // FSDP: weights are there between UNSHARD and RESHARD only
  std::vector<bool> gathered_;
  std::vector<const CsvAction*> reduced_;
};

CsvWord send_of(Result result) { return result == Result::kOutput ? CsvWord::kSendForward : CsvWord::kSendBackward; }

CsvWord receipt_of(Result result) {
  return result == Result::kOutput ? CsvWord::kReceiveForward : CsvWord::kReceiveBackward;
}

Neighbour way_of(Result result) { return result == Result::kOutput ? Neighbour::kNext : Neighbour::kPrevious; }

/// Checks the messages of a file that has them.
class Messages {
 public:
  Messages(const CsvSheet& sheet, const CsvPasses& passes) : sheet_(sheet), passes_(passes) {}

  [[nodiscard]] std::optional<CsvFault> check() const {
    for (const CsvRow& row : sheet_.rows)
      for (const CsvAction& action : row.actions)
        if (auto fault = check_action(action)) return fault;
    for (std::size_t row = 0; row < sheet_.rows.size(); ++row)
      if (auto fault = check_turns(static_cast<int>(row))) return fault;
    return std::nullopt;
  }

 private:
  [[nodiscard]] int row_of(int stage) const { return sheet_.row_of[static_cast<std::size_t>(stage)]; }

  /// Returns the stage beside `stage` if it stands in another row.
  [[nodiscard]] std::optional<int> elsewhere(int stage, Neighbour which) const {
    const std::optional<int> there = sheet_.beside(stage, which);
    return there && row_of(*there) != row_of(stage) ? there : std::nullopt;
  }

  [[nodiscard]] std::optional<CsvFault> check_action(const CsvAction& action) const {
    const CsvWordTraits& its = traits(action.word);
    if (its.sends) return check_end(action, *its.sends, false);
    if (its.receives) return check_end(action, *its.receives, true);
    if (action.pass && traits(*action.pass).result_to) return check_pass(action);
    return std::nullopt;
  }

  // Checks one end of a message: it goes to another row, and the pass stands on the right side of it.
  [[nodiscard]] std::optional<CsvFault> check_end(const CsvAction& action, Neighbour which, bool receives) const {
    const std::string side = which == Neighbour::kNext ? "next" : "previous";
    if (!elsewhere(action.stage, which))
      return sheet_.fault(
          action, fmt::format("expected no {}, as the {} stage {}, found it; try to remove it", to_text(action), side,
                              sheet_.beside(action.stage, which) ? "stands in the same row" : "does not exist"));
    const Result result = receives == (which == Neighbour::kPrevious) ? Result::kOutput : Result::kInputGradient;
    const CsvAction& pass = passes_.maker(result, action.stage, action.microbatch);
    if (receives ? pass.at > action.at : pass.at < action.at) return std::nullopt;
    return sheet_.fault(action,
                        fmt::format("expected {} {} {}, found it in column {}; try to swap them", to_text(action),
                                    receives ? "before" : "behind", to_text(pass), pass.column));
  }

  // Checks that the input of a pass is received, and its result sent, where they cross rows.
  [[nodiscard]] std::optional<CsvFault> check_pass(const CsvAction& pass) const {
    const Result result = *pass.pass == OpKind::kForward ? Result::kOutput : Result::kInputGradient;
    const auto missing = [&](CsvWord word, const char* side) {
      return sheet_.fault(pass, fmt::format("expected {0} {1} {2}, as this file has messages, found none; try to add "
                                            "{0}, or to remove all messages",
                                            to_text(pass.stage, word, pass.microbatch), side, to_text(pass)));
    };
    if (elsewhere(pass.stage, opposite(way_of(result))) &&
        !passes_.action(receipt_of(result), pass.stage, pass.microbatch))
      return missing(receipt_of(result), "before");
    if (elsewhere(pass.stage, way_of(result)) && !passes_.action(send_of(result), pass.stage, pass.microbatch))
      return missing(send_of(result), "behind");
    return std::nullopt;
  }

  // Checks that the messages of two rows arrive in the order of their sending. Every message has both its ends.
  [[nodiscard]] std::optional<CsvFault> check_turns(int row) const {
    std::vector<int> latest(sheet_.rows.size(), -1);  // of each sending row, the place of its latest message
    for (const CsvAction& action : sheet_.rows[static_cast<std::size_t>(row)].actions) {
      const std::optional<Neighbour> from = traits(action.word).receives;
      if (!from) continue;
      const int sender = *sheet_.beside(action.stage, *from);
      const Result result = result_from(*from);
      const CsvAction& send = *passes_.action(send_of(result), sender, action.microbatch);
      int& before = latest[static_cast<std::size_t>(send.row)];
      if (send.at < before)
        return sheet_.fault(
            action, fmt::format("expected messages in the order of their sending, found {} behind the receipt of a "
                                "later one; try to receive {} sooner",
                                to_text(action), sheet_.located(send)));
      before = send.at;
    }
    return std::nullopt;
  }

  const CsvSheet& sheet_;
  const CsvPasses& passes_;
};

/// Runs the rows in order without times. Every row goes as far as it can.
class Progress {
 public:
  Progress(const CsvSheet& sheet, const CsvPasses& passes)
      : sheet_(sheet), passes_(passes), messages_(sheet.has_messages()), next_(sheet.rows.size(), 0) {}

  [[nodiscard]] std::optional<CsvFault> check() {
    for (bool moved = true; moved;) {
      moved = false;
      for (const CsvRow& row : sheet_.rows) moved |= advance(row);
    }
    for (std::size_t row = 0; row < next_.size(); ++row)
      if (const CsvAction* const stopped = stopped_at(row)) return fault(*stopped);
    return std::nullopt;
  }

 private:
  [[nodiscard]] const CsvAction* stopped_at(std::size_t row) const {
    const auto& actions = sheet_.rows[row].actions;
    return next_[row] < actions.size() ? &actions[next_[row]] : nullptr;
  }

  bool advance(const CsvRow& row) {
    std::size_t& next = next_[static_cast<std::size_t>(row.actions.front().row)];
    const std::size_t before = next;
    while (next < row.actions.size() && !awaited(row.actions[next])) ++next;
    return next > before;
  }

  [[nodiscard]] bool has_run(const CsvAction& action) const {
    return static_cast<std::size_t>(action.at) < next_[static_cast<std::size_t>(action.row)];
  }

  /// Returns the action that `action` waits for, or nullptr when it can run.
  [[nodiscard]] const CsvAction* awaited(const CsvAction& action) const {
    std::optional<Neighbour> from = traits(action.word).receives;
    if (!from && action.pass) from = traits(*action.pass).input_from;
    const std::optional<int> there = from ? sheet_.beside(action.stage, *from) : std::nullopt;
    if (!there) return nullptr;
    const Result result = result_from(*from);
    const bool crosses = sheet_.row_of[static_cast<std::size_t>(*there)] != action.row;
    if (action.pass && crosses && messages_) return nullptr;  // its receipt stands before it and has waited
    const CsvAction* const source = action.pass ? &passes_.maker(result, *there, action.microbatch)
                                                : passes_.action(send_of(result), *there, action.microbatch);
    return has_run(*source) ? nullptr : source;
  }

  [[nodiscard]] CsvFault fault(const CsvAction& stopped) const {
    const CsvAction& source = *awaited(stopped);
    if (source.row == stopped.row)
      return sheet_.fault(stopped, fmt::format("expected {} before {}, found it in column {}; try to swap them",
                                               to_text(source), to_text(stopped), source.column));
    return sheet_.fault(stopped, fmt::format("expected rows that all end, found a deadlock: {}; try {} sooner",
                                             waits_from(stopped), to_text(source)));
  }

  /// Returns the waits from `stopped` on, until they close a circle: "0B0 waits for 1B0 (row 2, column 3), but row 2 is
  /// at 1F1, which waits for 0F1 (row 1, column 3), but row 1 is at 0B0". A long circle is cut.
  [[nodiscard]] std::string waits_from(const CsvAction& stopped) const {
    constexpr int kMostWaits = 6;
    std::string text = to_text(stopped);
    std::vector<bool> met(sheet_.rows.size(), false);
    const CsvAction* at = &stopped;
    for (int waits = 0; waits < kMostWaits; ++waits) {
      met[static_cast<std::size_t>(at->row)] = true;
      const CsvAction& source = *awaited(*at);
      text += fmt::format("{} waits for {}", waits == 0 ? "" : ", which", sheet_.located(source));
      at = stopped_at(static_cast<std::size_t>(source.row));
      text += fmt::format(", but row {} is at {}", source.row + 1, to_text(*at));
      if (met[static_cast<std::size_t>(at->row)]) return text;
    }
    return text + ", and so on";
  }

  const CsvSheet& sheet_;
  const CsvPasses& passes_;
  bool messages_;
  std::vector<std::size_t> next_;  // by row: actions that have run
};

}  // namespace

std::optional<CsvFault> check_rows_in_order(const CsvSheet& sheet, const CsvPasses& passes) {
  RowOrder order(sheet, passes);
  for (const CsvRow& row : sheet.rows)
    for (const CsvAction& action : row.actions)
      if (auto fault = order.check(action)) return fault;
  return std::nullopt;
}

std::optional<CsvFault> check_messages(const CsvSheet& sheet, const CsvPasses& passes) {
  if (!sheet.has_messages()) return std::nullopt;
  return Messages(sheet, passes).check();
}

std::optional<CsvFault> check_progress(const CsvSheet& sheet, const CsvPasses& passes) {
  return Progress(sheet, passes).check();
}

}  // namespace foretoken::schedule
