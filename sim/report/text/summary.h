// Writes a prediction as one screen: at most 25 lines of at most 80 columns.
#pragma once

#include <string>
#include <vector>

#include "sim/job/job.h"
#include "sim/observe/stage_times.h"
#include "sim/report/metrics.h"
#include "sim/report/text/layout.h"

namespace foretoken::report {

/// A command that is worth running next, and its use.
struct Hint {
  std::string command, use;
};

inline constexpr std::size_t kSummaryLines = 25, kSummaryHints = 3;

/// The remarks and commands that stand beside the numbers.
struct SummaryNotes {
  std::vector<std::string> scaled = {};   ///< of scaled_costs()
  std::vector<std::string> assumed = {};  ///< the values that the question left open
  std::vector<Hint> hints = {};           ///< at most kSummaryHints
};

/// Writes what decides: step, interval, throughput, MFU, bubble, memory, and the largest parts of the time. The first
/// line that follows the title says that a job does not fit. Warnings and notes are a line each; where there are too
/// many, the last line counts the rest.
[[nodiscard]] std::string summary_text(const job::Job& job, const observe::Observations& observed,
                                       const Metrics& metrics, const SummaryNotes& notes, const Paint& paint);

/// Returns the configuration as one line: "TP 8, PP 4, DP 2, micro-batch 1, 1f1b, ZeRO 1".
[[nodiscard]] std::string configuration_line(const job::Job& job);

/// Returns the costs of another GPU: "scaled from h100-sxm5-80gb: gemm bf16, attention"; a line for each such GPU.
[[nodiscard]] std::vector<std::string> scaled_costs(const job::Job& job);

/// Writes the remarks on at most so many lines: whole where there is room for all, else a line each. The last line
/// counts those that have no room.
[[nodiscard]] std::string remarks_text(const std::vector<std::string>& remarks, std::size_t most, const Paint& paint);

/// Writes the commands, each as long as `columns` or shorter.
[[nodiscard]] std::string hints_text(const std::vector<Hint>& hints, const Paint& paint,
                                     std::size_t columns = kScreenColumns);

}  // namespace foretoken::report
