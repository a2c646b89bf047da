// Reads a scenario several times, each time with other overrides.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/scenario/launch_document.h"
#include "sim/io/scenario/open_scenario.h"
#include "sim/job/made.h"
#include "sim/job/patch.h"

namespace foretoken::study {

/// A file that is read again each time, or a text.
class ScenarioSource {
 public:
  /// Makes a source of a file or a name. A launch script is read with `variables`.
  explicit ScenarioSource(std::string file, io::ScriptVariables variables = {})
      : file_(std::move(file)), variables_(std::move(variables)) {}
  /// Makes a source of a text. Complaints name it `origin`.
  ScenarioSource(std::string text, std::string origin) : file_(std::move(origin)), text_(std::move(text)) {}
  /// Returns the name of the source in complaints.
  [[nodiscard]] const std::string& name() const { return file_; }
  /// Reads it with the overrides `sets`, then with the edits of `patch`, which change only choices.
  [[nodiscard]] job::Made read(std::span<const std::string> sets, const job::Patch& patch = {}) const;
  /// Returns the question as JSON with the overrides applied.
  [[nodiscard]] std::string merged(std::span<const std::string> sets) const;
  /// Returns the files behind it: its own, and those that it names.
  [[nodiscard]] std::vector<io::ReadFile> files(std::span<const std::string> sets) const;
  /// Reads it with open keys, for a search.
  [[nodiscard]] io::OpenScenario read_open(std::span<const std::string> sets) const;

 private:
  std::string file_;
  std::optional<std::string> text_;
  io::ScriptVariables variables_;
};

}  // namespace foretoken::study
