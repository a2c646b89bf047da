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

Program program_of(const CsvSheet& sheet) {
  const std::vector<Place> places = places_of(sheet);
  const int ranks = static_cast<int>(sheet.rows.size());
  Program program{.placement = Placement(ranks, sheet.stages / ranks, {places}), .stages = {}};
  for (const CsvRow& row : sheet.rows) {
    StageProgram& ops = program.stages.emplace_back();
    for (const CsvAction& action : row.actions)
      if (action.pass)
        ops.push_back(
            {*action.pass, id_of<MicroBatch>(action.microbatch), places[static_cast<std::size_t>(action.stage)].chunk});
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

std::vector<std::string> remarks_of(const CsvSheet& sheet, const Placement& placement) {
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
         "assumed to take the time of both passes, one after the other in the order of the cell");
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

  ImportedSchedule imported{.program = program_of(sheet), .shape = {}, .remarks = {}};
  const Placement& placement = imported.program.placement;
  imported.shape = {.stages = placement.stages(), .microbatches = sheet.microbatches, .chunks = placement.chunks()};
  imported.remarks = remarks_of(sheet, placement);
  const std::vector<std::string> problems = check_program(imported.program, imported.shape);
  expects(problems.empty(), "a file without faults is a valid program");
  return imported;
}

}  // namespace foretoken::schedule
