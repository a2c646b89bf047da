// The order of a schedule file: passes and messages that follow each other, and rows that wait for no one forever.
#pragma once

#include <optional>

#include "sim/schedule/csv/passes.h"

namespace foretoken::schedule {

/// Returns the first action that stands before one that it follows in its row: a backward pass before its forward, a
/// pass of a stage whose weights are not gathered, a reduction of gradients before the last backward pass.
[[nodiscard]] std::optional<CsvFault> check_rows_in_order(const CsvSheet& sheet, const CsvPasses& passes);

/// Returns the first message that lacks its other end, its pass or its turn. PyTorch sends a result once its pass has
/// ended, and a pass waits for the message that was received before it. Messages from one rank to another arrive in the
/// order of their sending: NCCL's have no names (torch.distributed.batch_isend_irecv). A file without messages has no
/// such fault, because PyTorch adds them.
[[nodiscard]] std::optional<CsvFault> check_messages(const CsvSheet& sheet, const CsvPasses& passes);

/// Returns the first action that never runs, when every row runs strictly in order. A receipt waits for its message, a
/// pass without messages for the pass that makes its input. Source: PyTorch, schedules.py, _simulate_comms_compute.
/// Precondition: neither check above finds a fault.
[[nodiscard]] std::optional<CsvFault> check_progress(const CsvSheet& sheet, const CsvPasses& passes);

}  // namespace foretoken::schedule
