// Names of tasks and streams.
#include "sim/lowering/task_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/check.h"

namespace foretoken::lowering {
namespace {

constexpr std::size_t kMostRanks = 8;  // more are counted, not listed

std::string_view work_of(TaskMeaning kind) {
  switch (kind) {
    case TaskMeaning::kForward:
      return "forward pass";
    case TaskMeaning::kBackward:
      return "backward pass";
    case TaskMeaning::kHostIssue:
      return "host";
    case TaskMeaning::kPassOverhead:
      return "pause between passes";
    case TaskMeaning::kSendForward:
      return "activations sent on";
    case TaskMeaning::kSendBackward:
      return "gradients sent back";
    case TaskMeaning::kGradReduce:
      return "gradient reduction";
    case TaskMeaning::kNormReduce:
      return "reduction of norm gradients";
    case TaskMeaning::kParamGather:
      return "parameter gathering";
    case TaskMeaning::kEmbeddingTie:
      return "reduction of the tied embedding";
    case TaskMeaning::kGradNorm:
      return "gradient norm";
    case TaskMeaning::kOptimizer:
      return "optimizer";
    case TaskMeaning::kStepOverhead:
      return "overhead of the step";
  }
  contract_broken("every meaning has a name", __FILE__, __LINE__);
}

std::string task_text(const Meaning& meaning) {
  const bool of_microbatch = meaning.kind <= TaskMeaning::kSendBackward;
  std::string text(work_of(meaning.kind));
  if (of_microbatch) text += fmt::format(" of micro-batch {}, chunk {}", meaning.microbatch, meaning.chunk);
  return text;
}

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const std::size_t shown = std::min(ranks.size(), kMostRanks);
  const std::string list =
      fmt::format("{}", fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return fmt::format("ranks {}{}", list, shown < ranks.size() ? fmt::format(" and {} more", ranks.size() - shown) : "");
}

/// The folded task that a task of the unfolded step belongs to, and the stage ranks that carry it out. Tasks of an
/// instance are numbered from its `begin` up to the next one's.
std::string unfolded_text(des::TaskId task, const LoweredStep& step, const UnfoldedStep& unfolded) {
  const auto after =
      std::upper_bound(unfolded.instances.begin(), unfolded.instances.end(), task,
                       [](des::TaskId wanted, const Instance& instance) { return wanted < instance.begin; });
  const auto instance = static_cast<std::uint32_t>(after - unfolded.instances.begin() - 1);
  const auto later = std::upper_bound(unfolded.tasks.begin(), unfolded.tasks.end(), instance,
                                      [](std::uint32_t wanted, const UnfoldedTask& t) { return wanted < t.first; });
  const auto folded = static_cast<std::size_t>(later - unfolded.tasks.begin() - 1);
  const Meaning& meaning = step.workload.meaning[folded];
  const UnfoldedTask& spread = unfolded.tasks[folded];
  std::vector<int> ranks;
  for (int rank = 0; rank < unfolded.ranks.count(); ++rank)
    if (spread.spread.instance_of(rank, unfolded.ranks) == static_cast<int>(instance - spread.first))
      ranks.push_back(meaning.stage * unfolded.ranks.count() + rank);
  return fmt::format("{} on {}", task_text(meaning), ranks_text(ranks));
}

}  // namespace

des::Names names_of(const LoweredStep& step) {
  return {[&step](des::TaskId task) {
            const Meaning& meaning = step.workload.meaning[task.value];
            return fmt::format("{} on stage {}", task_text(meaning), meaning.stage);
          },
          [](des::StreamId stream) { return fmt::format("stream {}", stream.value); }};
}

des::Names names_of(const LoweredStep& step, const UnfoldedStep& unfolded) {
  return {[&step, &unfolded](des::TaskId task) { return unfolded_text(task, step, unfolded); },
          [&unfolded](des::StreamId stream) {
            const auto ranks = static_cast<std::uint32_t>(unfolded.ranks.count());
            return fmt::format("stream {} of stage rank {}", stream.value / ranks, stream.value % ranks);
          }};
}

}  // namespace foretoken::lowering
