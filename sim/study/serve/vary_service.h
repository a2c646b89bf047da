// Predicts a service with other values of some keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/process/watch.h"
#include "sim/serve/predict.h"
#include "sim/study/otherwise/grid.h"

namespace foretoken::study {

/// One combination of values.
struct VariedServiceRow {
  std::vector<std::size_t> choice;  ///< by key, the index of its value
  int gpus = 0;
  std::optional<serve::Prediction> prediction{};
  std::vector<std::string> assumptions{};
  std::vector<Complaint> impossible{};  ///< the reasons when there is no prediction
};

struct VariedService {
  serve::Service service;  ///< as it is stated
  serve::Prediction base;
  std::vector<Varied> keys;
  std::vector<VariedServiceRow> rows;
  std::optional<std::size_t> most_throughput{}, lowest_latency{};  ///< of the rows that fit
};

struct VaryServiceQuestion {
  std::string service;            ///< a file, or the name of a shipped one
  std::vector<std::string> sets;  ///< overrides, in order
  std::vector<Varied> keys;
  int threads = 1;
};

/// Predicts every combination of values, the last key first. Throws ConfigError when the service itself is wrong, or
/// when all combinations are impossible. Work that is stopped gives the rows that are done.
[[nodiscard]] VariedService vary_service(const VaryServiceQuestion& question, const Watch& watch = {});

/// Describes a combination: "requests.concurrency = 8, precision = fp8".
[[nodiscard]] std::string choice_text(const std::vector<Varied>& keys, const std::vector<std::size_t>& choice);

}  // namespace foretoken::study
