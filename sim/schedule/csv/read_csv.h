// Reads a schedule in PyTorch's CSV format: a row of actions for every rank.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/schedule/csv/sheet.h"
#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// A schedule that was read, and one sentence for each thing that was mapped, assumed or ignored.
struct ImportedSchedule {
  Program program;
  PipelineShape shape;  ///< ranks are stages, and the stages of a rank are its chunks
  std::vector<std::string> remarks;
};

/// Reads what PyTorch's `_dump_csv` writes (torch/distributed/pipelining/schedules.py), with messages or without them.
///
/// A row holds the actions of one rank in order; empty cells are idle. The stages of a row, by number, become the
/// chunks of a stage. So the placement of the virtual stages follows from the rows: looped, V-shaped or any other whose
/// neighbours stand on one rank, or on ranks that follow each other on the ring. A program read here is valid
/// (check_program). Returns the first mistake of any other text.
[[nodiscard]] std::variant<ImportedSchedule, CsvFault> read_csv(std::string_view text);

}  // namespace foretoken::schedule
