// Collects the spans of a stage by their cause, and counts every instant once.
#include "sim/observe/stage_spans.h"

#include <algorithm>
#include <utility>

namespace foretoken::observe {

using des::Duration;
using step::TaskMeaning;

void StageSpans::add_work(const step::PassTiming& timing, std::int64_t times) {
  inside_.compute += times * timing.compute;
  for (const auto& [axis, name] : kAxisNames) inside_.comm[axis] += times * timing.comm[axis];
  inside_.host += times * timing.host;
  work_ += times * timing.total;
}

void StageSpans::add_pass(Interval span, Duration stretched) {
  passes_.push_back(span);
  stretched_ += stretched;
}

void StageSpans::add_links(const PerAxis<Duration>& longer) {
  for (const auto& [axis, name] : kAxisNames) links_[axis] += longer[axis];
}

void StageSpans::add_task(TaskMeaning kind, Interval span) {
  switch (kind) {
    case TaskMeaning::kPass:
      return parts_.push_back(span);
    case TaskMeaning::kPassOverhead:
      return between_.push_back(span);
    case TaskMeaning::kOptimizer:
      return optimizer_.push_back(span);
    case TaskMeaning::kStepOverhead:
      return other_.push_back(span);
    case TaskMeaning::kHostUpdate:
      return offload_.push_back(span);
    case TaskMeaning::kHostIssue:
    case TaskMeaning::kCommunication:
      return;
  }
}

void StageSpans::add_communication(const step::Communication& row, Interval span) {
  if (row.purpose == step::Purpose::kHostCopy) return offload_.push_back(span);
  (row.counts_for ? moving_[*row.counts_for] : other_).push_back(span);
}

StageSplit StageSpans::split(Duration length) && {
  StageSplit split = inside_;
  // A pass is longer than its work by slow GPUs, by its links, and where it waits for parameters or for the host to
  // issue a unit.
  Coverage coverage;
  std::int64_t longer = coverage.add(std::move(passes_)) - work_.ps;
  std::int64_t known = stretched_.ps;
  for (const auto& [axis, name] : kAxisNames) known += links_[axis].ps;
  // Kernels may hide a part of the causes. Each cause then takes what is left, in turn.
  const bool all_shows = longer >= 0 ? known >= 0 && known <= longer : known <= 0 && known >= longer;
  const auto take = [&](std::int64_t cause) {
    const std::int64_t least = std::min<std::int64_t>(0, longer), most = std::max<std::int64_t>(0, longer);
    const std::int64_t part = all_shows ? cause : std::clamp(cause, least, most);
    longer -= part;
    return part;
  };
  split.compute.ps += take(stretched_.ps);
  for (const auto& [axis, name] : kAxisNames) split.comm[axis].ps += take(links_[axis].ps);
  const std::int64_t waited = longer;

  // The exchanges of experts are one part of an answer, over either of their axes.
  split.comm[Axis::kExpert] += split.comm[Axis::kExpertTensor];
  split.comm[Axis::kExpertTensor] = {};

  std::vector<Interval>& data = moving_[Axis::kData];
  Coverage beside;
  if (waited > 0) (void)beside.add(std::move(parts_));
  const std::int64_t exposed = beside.add(data);
  const std::int64_t exposed_copies = beside.add(offload_);
  split.host.ps += coverage.add(std::move(between_));
  split.optimizer.ps = coverage.add(std::move(optimizer_));
  split.other.ps = coverage.add(std::move(other_));
  split.comm[Axis::kTensor].ps += coverage.add(std::move(moving_[Axis::kTensor]));
  const std::int64_t outside_work = coverage.add(std::move(data));
  const std::int64_t for_data = std::clamp<std::int64_t>(exposed - outside_work, 0, waited);
  split.comm[Axis::kData].ps = outside_work + for_data;
  const std::int64_t copies_outside = coverage.add(std::move(offload_));
  const std::int64_t for_copies = std::clamp<std::int64_t>(exposed_copies - copies_outside, 0, waited - for_data);
  split.offload.ps = copies_outside + for_copies;
  split.host.ps += waited - for_data - for_copies;
  split.comm[Axis::kPipeline].ps = coverage.add(std::move(moving_[Axis::kPipeline]));
  split.bubble.ps = length.ps - coverage.covered();
  return split;
}

}  // namespace foretoken::observe
