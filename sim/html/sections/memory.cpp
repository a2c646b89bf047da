// Shows the memory of every stage against its capacity, and of the fullest stage over time.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/draw/axis.h"
#include "sim/draw/svg.h"
#include "sim/html/markup.h"
#include "sim/html/memory_over_time.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"

namespace foretoken::html {
namespace {

using draw::round_ticks;
using draw::Svg;

struct Part {
  const char* name;
  const char* style;
  Bytes report::StageMemory::*bytes;
};
constexpr Part kParts[] = {{"weights", "c-weights", &report::StageMemory::weights},
                           {"gradients", "c-gradients", &report::StageMemory::gradients},
                           {"optimizer state", "c-optimizer", &report::StageMemory::optimizer},
                           {"activations", "c-activations", &report::StageMemory::activations},
                           {"workspaces, short-lived", "c-workspaces", &report::StageMemory::other}};

// Returns the capacities of the stages, the largest last. GPUs of several kinds have several capacities.
std::set<Bytes> capacities(const report::Memory& memory) {
  std::set<Bytes> all;
  for (const report::StageMemory& stage : memory.per_stage) all.insert(stage.capacity);
  return all;
}

std::string stage_bars(const report::Memory& memory, bool is_narrow) {
  const double width = is_narrow ? kNarrow : 1000, label = is_narrow ? 64 : 76;
  constexpr double kRight = 24;
  const auto stages = static_cast<double>(memory.per_stage.size());
  const double row = std::clamp(640 / stages, 8.0, 26.0), bar = row * 0.76;
  const std::set<Bytes> limits = capacities(memory);
  double full = limits.rbegin()->value();
  for (const report::StageMemory& stage : memory.per_stage)
    full = std::max(full, (stage.peak + memory.outside_allocator).value());
  full *= 1.02;
  const double scale = (width - label - kRight) / full, bottom = row * stages + 22;
  Svg svg(width, bottom + 22, "Memory of one GPU of each stage at its peak");
  for (const double tick : round_ticks(0, full / kGiB, is_narrow ? 5 : 8)) {
    svg.line("grid", label + tick * kGiB * scale, 16, label + tick * kGiB * scale, bottom);
    svg.text("num dim", label + tick * kGiB * scale, bottom + 16, "middle",
             fmt::format("{:g}{}", tick, tick == 0 ? " GiB" : ""));
  }
  const auto label_every = static_cast<std::size_t>(13 / row) + 1;
  for (const Stage s : memory.per_stage.ids()) {
    const double y = 20 + row * s.number();
    double x = label;
    if (s.index() % label_every == 0)
      svg.text("num", label - 10, y + bar / 2 + 4, "end", fmt::format("stage {}", s.number()));
    const auto part = [&](const char* style, const char* name, Bytes bytes) {
      svg.rect(style, x, y, bytes.value() * scale, bar,
               fmt::format("stage {}: {} {}", s.number(), name, report::binary_bytes(bytes)));
      x += bytes.value() * scale;
    };
    for (const Part& each : kParts) part(each.style, each.name, memory.per_stage[s].*each.bytes);
    part("c-other", "outside the allocator", memory.outside_allocator);
  }
  for (const Bytes limit : limits) {
    const double x = label + limit.value() * scale;
    svg.line("limit", x, 14, x, bottom);
    svg.text("limit-text", x - 6, 11, "end", fmt::format("capacity {}", report::binary_bytes(limit)));
  }
  return svg.take();
}

std::string table_of(const report::Memory& memory) {
  Table table({{"stage"},
               {"layers"},
               {"weights"},
               {"gradients"},
               {"optimizer"},
               {"activations"},
               {"other"},
               {"peak"},
               {"free"},
               {"most micro-batches alive"}});
  for (const Stage s : memory.per_stage.ids()) {
    const report::StageMemory& stage = memory.per_stage[s];
    std::vector<Table::Cell> cells{Table::number(s.number(), fmt::format("{}", s.number())),
                                   Table::number(stage.layers, report::whole(stage.layers))};
    for (const Part& part : kParts)
      cells.push_back(Table::number((stage.*part.bytes).value(), report::gib(stage.*part.bytes)));
    cells.push_back(Table::number(stage.peak.value(), report::gib(stage.peak)));
    const Bytes free = stage.capacity - memory.outside_allocator - stage.peak;
    cells.push_back(Table::number(free.value(), report::gib(free)));
    cells.push_back(Table::number(stage.peak_microbatch_chunks, report::whole(stage.peak_microbatch_chunks)));
    table.add(std::move(cells));
  }
  return table.html();
}

// Says what the hosts hold, where the job offloads.
std::string host_paragraph(const report::Memory& memory) {
  if (!memory.host) return "";
  const auto room = [](const report::OutsideRoom& of, const char* what) {
    return fmt::format("{} of {} GiB of {}", report::gib(of.used), report::gib(of.capacity), what);
  };
  std::string words = room(memory.host->memory, "its memory");
  if (memory.host->disks) words += " and " + room(*memory.host->disks, "its disks");
  return paragraph(fmt::format("A host keeps {} for its {}{}.", words, report::counted(memory.host->gpus, "GPU"),
                               memory.host->fits() ? "" : ": it does not fit"));
}

}  // namespace

std::string memory(const ReportData& data) {
  const report::Memory& memory = data.base.metrics.memory;
  const Stage fullest = memory.fullest;
  std::string html = paragraph(fmt::format(
      "One GPU of each stage at its peak, as the framework's allocator counts it, and {} outside of it (CUDA context, "
      "NCCL buffers). Most of the fullest stage, {}, is {}.",
      report::binary_bytes(memory.outside_allocator), fullest.number(), memory.dominant));
  html += host_paragraph(memory);
  html += legend({{{"c-weights"}, "weights"},
                  {{"c-gradients"}, "gradients"},
                  {{"c-optimizer"}, "optimizer state"},
                  {{"c-activations"}, "activations"},
                  {{"c-workspaces"}, "workspaces, short-lived"},
                  {{"c-other"}, "outside the allocator"}});
  html += for_both_widths([&](bool is_narrow) { return stage_bars(memory, is_narrow); });
  html += fmt::format("<h3>Stage {} over one step</h3>\n", fullest.number()) +
          paragraph("Dashed: the capacity inside the allocator.", "remark") + memory_over_time(data, fullest);
  const bool is_long = memory.per_stage.size() > 16;
  if (is_long)
    html += "<details><summary>All stages in numbers, GiB</summary>\n";
  else
    html += "<h3>In numbers, GiB</h3>\n";
  return html + table_of(memory) + (is_long ? "</details>\n" : "");
}

}  // namespace foretoken::html
