// The arguments of a launch as a list of flags with their values and places.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

struct Argument {
  std::string name{};                 ///< without leading dashes; - for _ : "num-layers"
  std::vector<std::string> values{};  ///< none for a switch
  std::string place{};                ///< "run.sh:12"
};

/// Returns the flags among `words`: "--name", "--name=value", "--name value value". Words before the first flag, and
/// files such as pretrain_gpt.py, belong to no flag.
[[nodiscard]] std::vector<Argument> arguments_of(const std::vector<std::string>& words, const std::string& place);

/// Returns the values of an argument, parted by spaces.
[[nodiscard]] std::string joined_values(const Argument& argument);

/// Returns the last argument of that name, which counts; nullptr without one.
[[nodiscard]] const Argument* last_of(const std::vector<Argument>& arguments, std::string_view name);
/// Returns true for arguments of which one has such a name.
[[nodiscard]] bool has_any_of(const std::vector<Argument>& arguments, std::span<const std::string_view> names);
/// Returns the first value of the last argument of that name; empty without one.
[[nodiscard]] std::string value_of(const std::vector<Argument>& arguments, std::string_view name);

/// Reads flags into a report. A value that nobody can know is asked for; one of a wrong form is refused.
class Flags {
 public:
  Flags(std::vector<Argument> arguments, Report& report) : arguments_(std::move(arguments)), report_(report) {}

  [[nodiscard]] const std::vector<Argument>& all() const { return arguments_; }
  [[nodiscard]] Report& report() const { return report_; }

  /// Returns the last argument of that name.
  [[nodiscard]] const Argument* find(std::string_view name) const;
  /// Returns true when some rule has asked for that name.
  [[nodiscard]] bool was_asked(std::string_view name) const { return asked_.contains(name); }

  /// Returns true when a switch is given and not false.
  [[nodiscard]] bool on(std::string_view name) const;

  /// Returns the value of a flag. Asks for `key` where the value is missing or unknown.
  [[nodiscard]] std::optional<std::string> text(std::string_view name, std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view name, std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view name, std::string_view key) const;

  /// Returns the flag with its place: "--num-layers (run.sh:12)".
  [[nodiscard]] std::string from(std::string_view name) const;

  /// Maps the flag to `key`. Returns the value, where there is one.
  std::optional<std::int64_t> map_whole(std::string_view name, std::string_view key) const;

 private:
  std::vector<Argument> arguments_;
  Report& report_;
  mutable std::set<std::string, std::less<>> asked_;  // names
};

/// Returns the whole number that a text states, up to 2^31, also as 8.0 or 1_000; nothing for another text.
[[nodiscard]] std::optional<std::int64_t> whole_of(std::string_view text);
[[nodiscard]] std::optional<double> number_of_text(std::string_view text);

/// Returns true for true, True, 1, yes, on; false for false, False, 0, no, off, null; nothing for another text.
[[nodiscard]] std::optional<bool> switch_of(std::string_view text);

}  // namespace foretoken::io::launch
