// Options that state a question about serving without a file, or change the one of a file: --model, --engine, --rate.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/serve/service.h"
#include "tools/options/keyed_option.h"

namespace foretoken::tools {

struct ServiceOptions {
  std::string model, cluster, gpus, engine, tensor, pipeline, expert, precision, input, output, rate, concurrency,
      batch;
};

/// Adds all but --gpus, --concurrency and --batch, which a search reads as several values.
void add_service_options(CLI::App& command, ServiceOptions& options);

/// Returns the overrides that the options stand for. One kind of arrivals replaces the others.
[[nodiscard]] std::vector<std::string> sets_of(const ServiceOptions& options);

/// Returns the degrees that the options state, as a search holds them: "parallelism.tensor=8".
[[nodiscard]] std::vector<std::string> fixed_degrees_of(const ServiceOptions& options);

/// Returns the options that were given, as words of a command line.
[[nodiscard]] std::vector<std::string> words_of(const ServiceOptions& options);

[[nodiscard]] std::vector<Complaint> as_given(std::vector<Complaint> complaints, const ServiceOptions& options);

/// A question. Without a file its notes say what is assumed of keys that no option states.
struct StatedService {
  serve::Service service;
  std::vector<std::string> varied{};  ///< notes about what a search varies: load and degree
};

/// Reads the question of the options alone, changed by `sets`. Engine, lengths, arrivals and the tensor-parallel degree
/// are assumed where no option states them. Throws ConfigError unless model and
/// cluster are stated.
[[nodiscard]] StatedService stated_service(const ServiceOptions& options, const std::vector<std::string>& sets);

}  // namespace foretoken::tools
