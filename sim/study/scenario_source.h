// Scenarios for commands that need one several times: from a file, or from standard input, which can be read only once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sim/io/scenario/open_scenario.h"
#include "sim/job/job.h"

namespace foretoken::study {

/// A scenario that may be read again with other overrides.
class ScenarioSource {
 public:
  /// A file or a name; "-" reads all of standard input.
  explicit ScenarioSource(std::string file);
  /// A text; `origin` is what complaints call it.
  ScenarioSource(std::string text, std::string origin) : file_(std::move(origin)), text_(std::move(text)) {}
  [[nodiscard]] job::Job read(std::span<const std::string> sets) const;
  /// The question itself as JSON, overrides applied.
  [[nodiscard]] std::string merged(std::span<const std::string> sets) const;
  /// With keys left open, to be searched.
  [[nodiscard]] io::OpenScenario read_open(std::span<const std::string> sets) const;

 private:
  std::string file_;
  std::optional<std::string> text_;
};

}  // namespace foretoken::study
