// The variables of a submission.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/mlperf/defaults.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::mlperf {

struct Stated {
  std::string value, from;
  bool is_default = false;
};

/// Looks variables up: as the scripts set them, then as the submission's defaults have them.
class Settings {
 public:
  Settings(const shell::Script& script, const Defaults& defaults) : script_(script), defaults_(defaults) {}

  [[nodiscard]] const shell::Variables& variables() const { return script_.variables; }
  [[nodiscard]] const Defaults& defaults() const { return defaults_; }
  /// Returns true where a rule has looked the variable up.
  [[nodiscard]] bool was_asked(std::string_view name) const { return asked_.contains(name); }
  /// Returns true where a file of conf/ reads the variable.
  [[nodiscard]] bool is_read(std::string_view name) const {
    return defaults_.contains(std::string(kReadMark) + std::string(name));
  }

  /// Returns true where a file of conf/ reads the variable, or no file of conf/ is there.
  [[nodiscard]] bool may_be_read(std::string_view name) const {
    const auto first = defaults_.lower_bound(kReadMark);
    return first == defaults_.end() || !first->first.starts_with(kReadMark) || is_read(name);
  }

  [[nodiscard]] std::optional<Stated> find(std::initializer_list<std::string_view> names) const {
    asked_.insert(names.begin(), names.end());
    for (const std::string_view name : names)
      if (const shell::Texts* found = script_.variables.find(name); found != nullptr && found->size() == 1)
        return Stated{found->front(), std::string(name)};
    for (const std::string_view name : names)
      if (const auto found = defaults_.find(name); found != defaults_.end())
        return Stated{found->second.value, fmt::format("{} ({})", name, found->second.from), true};
    return std::nullopt;
  }

  [[nodiscard]] bool on(std::initializer_list<std::string_view> names) const {
    const auto stated = find(names);
    return stated && switch_of(stated->value).value_or(false);
  }

 private:
  const shell::Script& script_;
  const Defaults& defaults_;
  mutable std::set<std::string, std::less<>> asked_{};  ///< every name that find() has had
};

/// Maps a variable that a script sets; assumes the default of one that none sets.
inline void write(Report& report, std::string_view key, Json value, const Stated& stated) {
  if (stated.is_default)
    report.assume(key, std::move(value), "default of the submission: " + stated.from);
  else
    report.map(key, std::move(value), stated.from);
}

}  // namespace foretoken::io::launch::mlperf
