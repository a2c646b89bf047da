// Deals the layers of each candidate out by their own times, as PipeDream does.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/check.h"
#include "sim/fast/replay.h"
#include "sim/job/make.h"
#include "sim/schedule/partition.h"
#include "sim/study/search/space.h"

namespace foretoken::search {
namespace {

using job::Job;
using schedule::OpKind;

// Returns the lengths of the blocks of a pass in forward order.
std::vector<std::int64_t> block_lengths(const step::PassTiming& timing, OpKind kind) {
  std::vector<std::int64_t> lengths;
  std::int64_t before = 0;
  for (const des::Duration end : timing.block_ends) {
    lengths.push_back(end.ps - before);
    before = end.ps;
  }
  if (kind != OpKind::kForward) std::ranges::reverse(lengths);
  return lengths;
}

// Returns the times of all layers over one micro-batch, in picoseconds. Embedding and head count for the layers beside
// them.
std::vector<std::int64_t> layer_times(const Job& job, const step::Passes& passes) {
  const bool whole = std::ranges::count(passes.kinds(), OpKind::kBackward) > 0;
  std::vector<std::int64_t> times;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    std::vector<std::int64_t> blocks;
    for (const OpKind kind : passes.kinds()) {
      if (whole && (kind == OpKind::kBackwardInput || kind == OpKind::kBackwardWeight)) continue;
      const std::vector<std::int64_t> lengths = block_lengths(passes.timing(stage, Chunk{0}, kind), kind);
      blocks.resize(lengths.size());
      std::ranges::transform(blocks, lengths, blocks.begin(), std::plus{});
    }
    const job::ChunkContents held = job::contents_of(job, stage, Chunk{0});
    auto from = blocks.begin();
    const std::int64_t embedding = held.embedding ? *from++ : 0;
    const auto layers = from + held.layer_count();
    expects(layers <= blocks.end(), "a pass has a block for every layer");
    const std::int64_t head = std::accumulate(layers, blocks.end(), std::int64_t{0});
    const std::size_t first = times.size();
    times.insert(times.end(), from, layers);
    times[first] += embedding;
    times.back() += head;
  }
  return times;
}

}  // namespace

bool Space::deals_by_time(const Candidate& candidate) const {
  const job::Question& asked = question_->asked();
  const int stages = candidate.degrees[Axis::kPipeline];
  return options_.partition == Partition::kPipeDream && stages > 1 && stages <= asked.model.layers &&
         candidate.virtual_pipeline == 1 && !schedules_[static_cast<std::size_t>(candidate.schedule)].place &&
         !asked.model.encoder_decoder;
}

// Leaves out partitions that are even: these stand in the space without a list.
void Space::deal_by_time() {
  if (options_.partition != Partition::kPipeDream) return;
  fast::Replayer replayer;
  job::Maker maker(question_->asked());
  const std::vector<Candidate> dealt = std::exchange(candidates_, {});
  for (const Group& group : std::exchange(groups_, {})) {
    const std::vector<int>* last = nullptr;
    for (std::size_t at = group.begin; at < group.end; ++at) {
      Candidate candidate = dealt[at];
      std::vector<int>& layers = candidate.layers_per_stage;
      const Job* const job = layers.empty() ? nullptr : maker.make(patch_of(candidate, {}));
      if (job != nullptr)
        layers = schedule::partition(layer_times(*job, replayer.passes(*job)), job->parallelism.pipeline);
      if (!layers.empty() && std::ranges::count(layers, layers.front()) == std::ssize(layers)) continue;
      // Candidates of a group share the order of passes, and which stages hold the same.
      if (last != nullptr && *last == layers)
        ++groups_.back().end;
      else
        groups_.push_back({candidates_.size(), candidates_.size() + 1});
      candidates_.push_back(std::move(candidate));
      last = &candidates_.back().layers_per_stage;
    }
    replayer.trim();
  }
}

}  // namespace foretoken::search
