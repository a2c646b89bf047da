// Turns a checked sheet into a program, and says what became of its actions.
#include "sim/schedule/csv/read_csv.h"

#include <fmt/format.h>

#include <utility>

#include "sim/base/check.h"
#include "sim/base/noun.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/csv/order.h"

namespace foretoken::schedule {
namespace {

/// Returns the places of the stages in their order. The chunks of a row are numbered in that order.
std::vector<Place> places_of(const CsvSheet& sheet) {
  std::vector<Place> places;
  std::vector<int> chunks(sheet.rows.size(), 0);
  for (const int row : sheet.row_of)
    places.push_back({id_of<Stage>(row), id_of<Chunk>(chunks[static_cast<std::size_t>(row)]++)});
  return places;
}

/// Returns true for the first of two actions that become a pair. A part of a backward pass runs after its forward pass.
bool opens_pair(const CsvRow& row, std::size_t at) {
  if (at + 1 >= row.actions.size()) return false;
  const CsvAction &first = row.actions[at], &second = row.actions[at + 1];
  if (first.column != second.column) return false;
  return first.pass == OpKind::kBackward || second.pass == OpKind::kBackward;
}

/// `pairs` makes pairs of the passes that share a cell. Otherwise they run one after the other.
Program program_of(const CsvSheet& sheet, bool pairs) {
  const std::vector<Place> places = places_of(sheet);
  const int ranks = static_cast<int>(sheet.rows.size());
  Program program{.placement = Placement(ranks, sheet.stages / ranks, {places}), .stages = {}};
  for (const CsvRow& row : sheet.rows) {
    StageProgram& ops = program.stages.emplace_back();
    const auto add = [&](const CsvAction& action, OpKind kind) {
      ops.push_back({kind, id_of<MicroBatch>(action.microbatch), places[static_cast<std::size_t>(action.stage)].chunk});
    };
    for (std::size_t at = 0; at < row.actions.size(); ++at) {
      const CsvAction& action = row.actions[at];
      if (!action.pass) continue;
      if (!pairs || !opens_pair(row, at)) {
        add(action, *action.pass);
        continue;
      }
      const CsvAction& other = row.actions[++at];
      const bool forward_first = action.pass == OpKind::kForward;
      add(forward_first ? action : other, OpKind::kPairedForward);
      add(forward_first ? other : action, OpKind::kPairedBackward);
    }
  }
  return program;
}

std::string placement_words(const Placement& placement) {
  if (placement.chunks() == 1) return placement.is_looped() ? "in order" : "in the order of the file";
  if (placement.is_looped()) return "looped";
  return placement == Placement::v_shaped(placement.stages()) ? "in V placement" : "placed as in the file";
}

std::size_t count_of(const CsvSheet& sheet, std::initializer_list<CsvWord> words) {
  std::size_t count = 0;
  for (const CsvWord word : words) count += sheet.counts[static_cast<std::size_t>(word)];
  return count;
}

std::vector<std::string> remarks_of(const CsvSheet& sheet, const Placement& placement, bool pairs) {
  using enum CsvWord;
  std::vector<std::string> remarks = {fmt::format("{} became {} with {} each, {}", with_noun(placement.stages(), "row"),
                                                  with_noun(placement.stages(), "stage"),
                                                  with_noun(placement.chunks(), "chunk"), placement_words(placement))};
  const auto remark = [&](std::size_t count, std::string_view one, std::string_view many, std::string_view what) {
    if (count > 0)
      remarks.push_back(fmt::format("{}: {}", with_noun(static_cast<std::int64_t>(count), one, many), what));
  };
  if (sheet.older_letters)
    remarks.emplace_back("letters of 2024: B is the backward pass for the input, W for the weights, BW the whole one");
  remark(count_of(sheet, {kSendForward, kSendBackward, kReceiveForward, kReceiveBackward}), "SEND or RECV",
         "SEND and RECV", "checked, then replaced: a result is sent once its pass has ended");
  remark(count_of(sheet, {kUnshard, kReshard}), "UNSHARD or RESHARD", "UNSHARD and RESHARD",
         "checked, then ignored: the weights of a stage stay on its GPUs for the whole step");
  remark(count_of(sheet, {kReduceGrad}), "REDUCE_GRAD", "REDUCE_GRAD",
         "checked, then ignored: overlap.grad_reduce of the job says when gradients are reduced");
  remark(sheet.pairs, "OVERLAP_F_B", "OVERLAP_F_B",
         pairs ? "both passes run as a pair, which hides exchanges of experts (docs/modeller/schedules.md)"
               : "one pass after the other in the order of the cell, because as pairs they would wait for each other");
  remark(sheet.idle_cells, "idle cell", "idle cells", "ignored: a pass starts once its input exists");
  return remarks;
}

}  // namespace

std::variant<ImportedSchedule, CsvFault> read_csv(std::string_view text) {
  std::variant<CsvSheet, CsvFault> read = read_sheet(text);
  if (CsvFault* const fault = std::get_if<CsvFault>(&read)) return std::move(*fault);
  CsvSheet& sheet = *std::get_if<CsvSheet>(&read);
  std::variant<CsvPasses, CsvFault> found = CsvPasses::find(sheet);
  if (CsvFault* const fault = std::get_if<CsvFault>(&found)) return std::move(*fault);
  const CsvPasses& passes = *std::get_if<CsvPasses>(&found);

  std::optional<CsvFault> fault = check_rows_in_order(sheet, passes);
  if (!fault) fault = check_messages(sheet, passes);
  if (!fault) fault = check_progress(sheet, passes);
  if (fault) return *std::move(fault);

  // Two passes of a cell may follow each other where a pair could not start: the first makes what the second awaits.
  ImportedSchedule imported{.program = program_of(sheet, true), .shape = {}, .remarks = {}};
  const Placement placement = imported.program.placement;
  imported.shape = {.stages = placement.stages(), .microbatches = sheet.microbatches, .chunks = placement.chunks()};
  const bool pairs = check_program(imported.program, imported.shape).empty();
  if (!pairs) imported.program = program_of(sheet, false);
  imported.remarks = remarks_of(sheet, placement, pairs);
  expects(pairs || check_program(imported.program, imported.shape).empty(), "a file without faults is a valid program");
  return imported;
}

}  // namespace foretoken::schedule
