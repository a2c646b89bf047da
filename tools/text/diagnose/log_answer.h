// Writes the answer of `foretoken diagnose` about a training log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/log/training_log.h"
#include "sim/report/text/layout.h"
#include "sim/study/diagnose/diagnose.h"
#include "sim/study/near/near_runs.h"

namespace foretoken::tools {

struct LogAnswer {
  std::string file;
  io::log::TrainingLog log;
  study::Steady steady;
  std::optional<study::Diagnosis> diagnosis{};  ///< with a scenario
  std::vector<study::NearRun> near_runs;
  std::optional<Seconds> step{};  ///< of the steady state, where the log or the scenario states enough

  /// Returns tokens a second of all GPUs, where the batch and the sequence are known.
  [[nodiscard]] std::optional<double> tokens_per_s() const;
  [[nodiscard]] std::optional<double> samples_per_s() const;
  /// Returns what a reader should know besides: of the log, of its steady state, and of the comparison.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// Returns MFU by the definition of `simulate`, with a scenario.
  [[nodiscard]] std::optional<double> mfu() const;
};

[[nodiscard]] std::string log_answer_text(const LogAnswer& answer, const report::Paint& paint);
[[nodiscard]] std::string log_answer_json(const LogAnswer& answer);

}  // namespace foretoken::tools
