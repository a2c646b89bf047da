// Writes one action a cell. A virtual stage is written by its position on the way of a micro-batch.
#include "sim/schedule/csv/write_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/base/check.h"
#include "sim/schedule/csv/actions.h"

namespace foretoken::schedule {
namespace {

const CsvWordTraits* word_of(OpKind kind) {
  const auto found = std::ranges::find(kCsvWordTraits, std::optional(unpaired(kind)), &CsvWordTraits::pass);
  return found == kCsvWordTraits.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string> why_no_csv(const Program& program) {
  if (program.placement.ways() > 1)
    return fmt::format("PyTorch's CSV has one copy of the model, found {}; try a schedule with one copy",
                       program.placement.ways());
  for (const StageProgram& ops : program.stages)
    for (const StageOp& op : ops)
      if (!word_of(op.kind))
        return fmt::format("PyTorch's CSV has no word for {}; try a schedule of forward and backward passes",
                           traits(op.kind).name);
  // A reader numbers the chunks of a stage in the order of the model.
  for (const Stage stage : program.stages.ids())
    for (int chunk = 1; chunk < program.placement.chunks(); ++chunk)
      if (program.placement.position_of({stage, id_of<Chunk>(chunk - 1)}) >
          program.placement.position_of({stage, id_of<Chunk>(chunk)}))
        return "PyTorch's CSV numbers the chunks of a stage in the order of the model, found another order; try a "
               "schedule whose chunks are in order";
  return std::nullopt;
}

std::string to_csv(const Program& program) {
  expects(!why_no_csv(program), "the format can hold the program");
  std::string text;
  for (const Stage stage : program.stages.ids()) {
    const char* before = "";
    for (const StageOp& op : program.stages[stage]) {
      const bool opens = op.kind == OpKind::kPairedForward, closes = op.kind == OpKind::kPairedBackward;
      fmt::format_to(std::back_inserter(text), "{}{}{}{}{}", closes ? ";" : before, opens ? "(" : "",
                     program.placement.position_of({stage, op.chunk}), word_of(op.kind)->text, op.microbatch.number());
      if (closes) fmt::format_to(std::back_inserter(text), "){}", kOverlapWord);
      before = ",";
    }
    text += '\n';
  }
  return text;
}

}  // namespace foretoken::schedule
