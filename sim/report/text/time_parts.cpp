// The parts of a step's time: computing, what moves along each axis, and waiting.
#include "sim/report/text/time_parts.h"

#include <fmt/format.h>

#include <vector>

#include "sim/net/rank_grid.h"

namespace foretoken::report {
namespace {

TimePart communication_along(Axis axis) {
  const std::string_view name = name_of(axis);
  if (axis == Axis::kPipeline)
    return {"pipeline_comm", "pipeline", "pipeline communication", "pipeline messages", TimeKind::kComm, axis};
  const std::string words = fmt::format("{}-parallel communication", name);
  return {fmt::format("{}_parallel_comm", name), std::string(name), words, words, TimeKind::kComm, axis};
}

std::vector<TimePart> all_parts() {
  std::vector<TimePart> parts = {{"compute", "compute", "compute", "compute", TimeKind::kCompute}};
  for (const auto& [axis, name] : kAxisNames)
    if (net::kDenseAxes.contains(axis) || axis == Axis::kExpert) parts.push_back(communication_along(axis));
  parts.push_back({"optimizer", "optimizer", "optimizer", "optimizer", TimeKind::kOptimizer});
  parts.push_back({"offload", "offload", "offload (copies, update on the host)", "offload", TimeKind::kOffload});
  parts.push_back({"bubble", "bubble", "bubble (waiting for another stage)", "pipeline bubble", TimeKind::kBubble});
  parts.push_back({"host", "host", "host (waiting for launches)", "host", TimeKind::kHost});
  parts.push_back({"other", "other", "other", "other", TimeKind::kOther});
  return parts;
}

}  // namespace

std::span<const TimePart> time_parts() {
  static const std::vector<TimePart> kParts = all_parts();
  return kParts;
}

}  // namespace foretoken::report
