// Names tasks and streams.
#include "sim/ranks/task_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace foretoken::ranks {
namespace {

constexpr std::size_t kMostRanks = 8;  // more are counted, not listed

// Returns the name of a task, and its micro-batch.
std::string task_text(const step::Meaning& meaning, const step::Workload& workload) {
  const step::Communication* row = workload.communication_of(meaning);
  const bool of_step = meaning.kind == step::TaskMeaning::kOptimizer ||
                       meaning.kind == step::TaskMeaning::kStepOverhead ||
                       meaning.kind == step::TaskMeaning::kHostUpdate ||
                       (meaning.kind == step::TaskMeaning::kCommunication && !is_message(row->purpose));
  std::string text(step::name_of(meaning, workload));
  if (!of_step)
    text += fmt::format(" of micro-batch {}, chunk {}", meaning.microbatch.number(), meaning.chunk.number());
  return text;
}

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const std::size_t shown = std::min(ranks.size(), kMostRanks);
  const std::string list =
      fmt::format("{}", fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return fmt::format("ranks {}{}", list, shown < ranks.size() ? fmt::format(" and {} more", ranks.size() - shown) : "");
}

/// Returns the name of a task of the unfolded step, with the ranks that carry it out.
std::string unfolded_text(des::TaskId task, const step::LoweredStep& step, const UnfoldedStep& unfolded) {
  const Origin origin = unfolded.origin_of(task);
  const step::Meaning& meaning = step.workload.meaning[origin.folded.value];
  std::vector<int> ranks;
  for (const StageRank rank : unfolded.members_of(origin))
    ranks.push_back(meaning.stage.number() * unfolded.ranks.count() + rank.number());
  return fmt::format("{} on {}", task_text(meaning, step.workload), ranks_text(ranks));
}

}  // namespace

des::Names names_of(const step::LoweredStep& step) {
  return {[&step](des::TaskId task) {
            const step::Meaning& meaning = step.workload.meaning[task.value];
            return fmt::format("{} on stage {}", task_text(meaning, step.workload), meaning.stage.number());
          },
          [](des::StreamId stream) { return fmt::format("stream {}", stream.value); }};
}

des::Names names_of(const step::LoweredStep& step, const UnfoldedStep& unfolded) {
  return {[&step, &unfolded](des::TaskId task) { return unfolded_text(task, step, unfolded); },
          [&unfolded](des::StreamId stream) {
            const auto ranks = static_cast<std::uint32_t>(unfolded.ranks.count());
            return fmt::format("stream {} of stage rank {}", stream.value / ranks, stream.value % ranks);
          }};
}

}  // namespace foretoken::ranks
