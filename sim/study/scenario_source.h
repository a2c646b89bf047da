// A scenario that is read several times, each time with other overrides.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/scenario/open_scenario.h"
#include "sim/job/made.h"
#include "sim/job/patch.h"

namespace foretoken::study {

/// A file that is read anew each time, or a text.
class ScenarioSource {
 public:
  /// A file or a name.
  explicit ScenarioSource(std::string file) : file_(std::move(file)) {}
  /// A text; `origin` is what complaints call it.
  ScenarioSource(std::string text, std::string origin) : file_(std::move(origin)), text_(std::move(text)) {}
  /// The name of the source in complaints.
  [[nodiscard]] const std::string& name() const { return file_; }
  /// With the overrides `sets`, and then with the edits of `patch`, which change choices only.
  [[nodiscard]] job::Made read(std::span<const std::string> sets, const job::Patch& patch = {}) const;
  /// The question itself as JSON, overrides applied.
  [[nodiscard]] std::string merged(std::span<const std::string> sets) const;
  /// The files behind it: its own, and those that it names.
  [[nodiscard]] std::vector<io::ReadFile> files(std::span<const std::string> sets) const;
  /// With keys left open, to be searched.
  [[nodiscard]] io::OpenScenario read_open(std::span<const std::string> sets) const;

 private:
  std::string file_;
  std::optional<std::string> text_;
};

}  // namespace foretoken::study
