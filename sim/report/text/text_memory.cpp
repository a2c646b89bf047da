// Writes the memory of every stage as numbers and as a bar against the capacity.
#include <fmt/format.h>

#include <algorithm>

#include "sim/report/text/number.h"
#include "sim/report/text/text.h"

namespace foretoken::report {
namespace {

constexpr std::size_t kBarColumns = 24, kNarrowBarColumns = 12;
constexpr std::size_t kMostStages = 8;  // more stages are summarised

struct Part {
  const char* name;
  const char* short_name;  // on a narrow page
  const char* glyph;
  Ink ink;
  Bytes StageMemory::*bytes;
};
constexpr Part kParts[] = {{"weights", "weights", "█", Ink::kBlue, &StageMemory::weights},
                           {"gradients", "grads", "▓", Ink::kCyan, &StageMemory::gradients},
                           {"optimizer", "optim", "▒", Ink::kMagenta, &StageMemory::optimizer},
                           {"activations", "activ", "░", Ink::kOrange, &StageMemory::activations},
                           {"other", "other", "▚", Ink::kDim, &StageMemory::other}};

constexpr const char* kOutsideGlyph = "▞";

std::string legend(const Paint& paint) {
  std::vector<std::string> entries;
  for (const Part& part : kParts) entries.push_back(fmt::format("{} {}", paint(part.ink, part.glyph), part.name));
  entries.insert(entries.end(), {paint(Ink::kDim, kOutsideGlyph) + " outside", "· free", "| capacity"});
  return paint.items(entries);
}

bool is_narrow(const Paint& paint) { return paint.columns() < kPageColumns; }

// Draws the bar of a stage. Its full width is the capacity, or the fullest stage when that needs more; | marks the
// capacity.
std::string stage_bar(const StageMemory& stage, const Memory& memory, Bytes scale, const Paint& paint) {
  std::vector<double> parts;
  for (const Part& part : kParts) parts.push_back((stage.*part.bytes).value());
  parts.push_back(memory.outside_allocator.value());
  const std::size_t columns = is_narrow(paint) ? kNarrowBarColumns : kBarColumns;
  const std::vector<std::size_t> cells = stacked_columns(parts, scale.value(), columns);
  std::vector<std::string> glyphs;
  for (std::size_t p = 0; p < std::size(kParts); ++p)
    glyphs.insert(glyphs.end(), cells[p], paint(kParts[p].ink, kParts[p].glyph));
  glyphs.insert(glyphs.end(), cells.back(), paint(Ink::kDim, kOutsideGlyph));
  glyphs.resize(columns, paint(Ink::kDim, "·"));
  const auto mark = static_cast<std::size_t>(stage.capacity / scale * static_cast<double>(columns));
  std::string text;
  for (std::size_t c = 0; c < glyphs.size(); ++c) text += (c == mark ? "|" : "") + glyphs[c];
  return mark >= columns ? text + "|" : text;
}

// Returns the stages that are shown one by one. The others are summarised.
std::vector<Stage> shown_stages(const PerStage<StageMemory>& stages, Stage fullest) {
  std::vector<Stage> shown;
  if (stages.size() <= kMostStages) {
    for (const Stage stage : stages.ids()) shown.push_back(stage);
    return shown;
  }
  shown = {Stage{0}, Stage{1}, fullest, Stage{stages.end_id().value - 1}};
  std::sort(shown.begin(), shown.end());
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  return shown;
}

std::string rest_note(const PerStage<StageMemory>& stages, const std::vector<Stage>& shown) {
  Bytes least, most;
  bool first = true;
  for (const Stage stage : stages.ids()) {
    if (std::binary_search(shown.begin(), shown.end(), stage)) continue;
    const Bytes peak = stages[stage].peak;
    least = first ? peak : std::min(least, peak);
    most = std::max(most, peak);
    first = false;
  }
  const std::size_t others = stages.size() - shown.size();
  if (others == 1) return fmt::format("the other stage: a peak of {}", gib(most));
  return fmt::format("the other {} stages: peaks of {} to {}", others, gib(least), gib(most));
}

bool same_capacity(const PerStage<StageMemory>& stages) {
  return std::all_of(stages.begin(), stages.end(),
                     [&](const StageMemory& stage) { return stage.capacity == stages.front().capacity; });
}

std::string stage_table(const Memory& memory, const Paint& paint) {
  using Align = Table::Align;
  std::vector<Table::Column> columns = {{"stage"}, {"layers"}};
  for (const Part& part : kParts) columns.push_back({is_narrow(paint) ? part.short_name : part.name});
  columns.push_back({"peak"});
  const bool mixed = !same_capacity(memory.per_stage);
  if (mixed) columns.push_back({"of"});
  columns.push_back({"", Align::kLeft});
  Table table(std::move(columns));
  Bytes scale;
  for (const StageMemory& stage : memory.per_stage)
    scale = std::max({scale, stage.capacity, stage.peak + memory.outside_allocator});
  const std::vector<Stage> shown = shown_stages(memory.per_stage, memory.fullest);
  for (const Stage s : shown) {
    const StageMemory& stage = memory.per_stage[s];
    std::vector<std::string> row = {fmt::format("{}", s.number()), fmt::format("{}", stage.layers)};
    for (const Part& part : kParts) row.push_back(gib(stage.*part.bytes));
    row.push_back(gib(stage.peak));
    if (mixed) row.push_back(gib(stage.capacity));
    row.push_back(stage_bar(stage, memory, scale, paint));
    table.add(std::move(row));
  }
  if (shown.size() < memory.per_stage.size()) table.add_note({"..."}, rest_note(memory.per_stage, shown));
  return table.text(paint);
}

std::string room_words(const OutsideRoom& room, std::string_view what) {
  return fmt::format("{} of {} GiB of {}{}", gib(room.used), gib(room.capacity), what,
                     room.fits() ? "" : fmt::format(", {} GiB too much", gib(room.used - room.capacity)));
}

// Says what a host keeps for its GPUs, and whether it has the room.
std::string host_text(const Memory& memory, const Paint& paint) {
  if (!memory.host) return "";
  const HostRoom& host = *memory.host;
  std::string words = room_words(host.memory, "memory");
  if (host.disks) words += "; " + room_words(*host.disks, "NVMe");
  const step::OutsideMemory& one = memory.per_stage[memory.fullest].outside.host;
  words += fmt::format(
      ". A GPU of stage {} keeps {} of parameters, {} of gradients, {} of optimizer states and {} of "
      "activations in its host's memory.",
      memory.fullest.number(), gib(one.parameters), gib(one.gradients), gib(one.optimizer), gib(one.activations));
  const char* verdict = host.fits() ? "fits: " : "does not fit: ";
  return paint.paragraph("  ", fmt::format("The host of {} GPUs {}{}", host.gpus, verdict, words));
}

bool gpus_fit(const Memory& memory) { return memory.peak + memory.outside_allocator <= memory.capacity; }

}  // namespace

std::string memory_text(const Memory& memory, const Paint& paint) {
  std::string text = title_text("Memory of one GPU of each stage", "GiB (2^30 bytes), at the stage's peak", paint) +
                     stage_table(memory, paint) + legend(paint);
  const Bytes needed = memory.peak + memory.outside_allocator;
  const std::string sum = fmt::format("{} GiB at the peak and {} outside the allocator (CUDA context, NCCL) of {} GiB",
                                      gib(memory.peak), gib(memory.outside_allocator), gib(memory.capacity));
  if (gpus_fit(memory)) {
    text += paint.paragraph(
        "  ", fmt::format("Fits: {}; {} free. Most of it is {}.", sum, gib(memory.capacity - needed), memory.dominant));
  } else {
    text += paint.paragraph("  ", fmt::format("Does not fit: {}; {} too much. Most of it is {}.", sum,
                                              gib(needed - memory.capacity), memory.dominant));
  }
  text += host_text(memory, paint);
  if (!memory.fits && memory.advice) text += paint.paragraph("  To make it fit: ", *memory.advice);
  text += paint.paragraph(
      "  Whole model: ",
      fmt::format("{} ({}) of weights, gradients and optimizer state; layer-boundary activations of the whole batch at "
                  "once {} ({}), of one micro-batch {} ({}).",
                  decimal_bytes(memory.model_state), binary_bytes(memory.model_state),
                  decimal_bytes(memory.boundary_whole_batch), binary_bytes(memory.boundary_whole_batch),
                  decimal_bytes(memory.boundary_one_microbatch), binary_bytes(memory.boundary_one_microbatch)));
  return text;
}

}  // namespace foretoken::report
