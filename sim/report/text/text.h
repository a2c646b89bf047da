// Writes a prediction as text of at most 100 columns that explains itself.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/job/job.h"
#include "sim/job/notes.h"
#include "sim/observe/stage_times.h"
#include "sim/report/metrics.h"
#include "sim/report/text/layout.h"

namespace foretoken::report {

/// Writes the whole report: headline, configuration, time split, bubble, memory, assumptions, warnings.
[[nodiscard]] std::string to_text(const job::Job& job, const job::Notes& notes, const observe::Observations& observed,
                                  const Metrics& metrics, const Paint& paint);

// These functions write its sections, each ending with a newline.
[[nodiscard]] std::string headline_text(const job::Job& job, const Metrics& metrics, const Paint& paint);
[[nodiscard]] std::string configuration_text(const job::Job& job, const job::Notes& notes, const Paint& paint);
/// Returns the configuration as labels and words; * marks a default.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> configuration_rows(const job::Job& job,
                                                                                  const job::Notes& notes);
[[nodiscard]] std::string time_split_text(Stage busiest_stage, const Metrics& metrics, const Paint& paint);
/// Describes a delay: "GPU 37 (node 4) is 10 % slower: on the critical path for 3.1 s; the step waits 0.42 s (+3.10 %),
/// 13.5 s without it".
[[nodiscard]] std::string delay_words(const Delay& delay, Seconds step);
/// Lists the slow hardware that the step waits for; empty when there is none.
[[nodiscard]] std::string delays_text(const Metrics& metrics, const Paint& paint);
/// Lists the warnings about the job; empty when there are none.
[[nodiscard]] std::string warnings_text(const std::vector<std::string>& warnings, const Paint& paint);
[[nodiscard]] std::string memory_text(const Memory& memory, const Paint& paint);

/// Writes the title of a section.
[[nodiscard]] std::string title_text(std::string_view title, std::string_view remark, const Paint& paint);

}  // namespace foretoken::report
