// The search of `foretoken serve --search`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/serve/service.h"
#include "tools/options/options.h"

namespace foretoken::tools {

/// Options that count with --search only; without it, `gpus`, `concurrency` and `batch` are one number of the question.
struct ServeSearchOptions {
  std::string gpus, concurrency, batch, chunks, objective = "throughput", chart;
  std::vector<std::string> precisions, fixes;
  double throughput = 0;
  int share = 90, top = 10, threads = 0;
  bool no_split = false;
};

/// Adds the options. Each but these three needs `search`.
void add_serve_search_options(CLI::App& command, CLI::Option* search, ServeSearchOptions& options);

/// Searches and prints. `question` (words of a command) and `sets` are what the user gave. `varied` are
/// assumptions about what the search varies. Returns the exit status: 1
/// when nothing is found.
[[nodiscard]] int search_services(const serve::Service& service, const ServeSearchOptions& options, Form form,
                                  const std::string& colour, const std::vector<std::string>& question,
                                  const std::vector<std::string>& sets, const std::vector<std::string>& varied);

}  // namespace foretoken::tools
