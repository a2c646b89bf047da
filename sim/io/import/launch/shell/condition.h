// Conditions of a script: [ -z "$X" ], [[ $A == b && $N -gt 1 ]], (( N > 1 )).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace foretoken::io::shell {

/// The outcome of a command: known, or open where it depends on something that no reading can know.
enum class Outcome : std::uint8_t { kNo, kYes, kOpen };

[[nodiscard]] inline Outcome outcome_of(bool yes) { return yes ? Outcome::kYes : Outcome::kNo; }

[[nodiscard]] inline Outcome opposite(Outcome outcome) {
  if (outcome == Outcome::kOpen) return outcome;
  return outcome_of(outcome == Outcome::kNo);
}

/// The variables that nobody sets and that a condition asks for.
struct Unset {
  std::set<std::string> compared{};  ///< the names of those that are compared, as empty texts
  bool tested = false;               ///< -z or -n asks for one, or for an unstated argument; it counts as not set
};

/// Returns the outcome of the words between [ and ], or [[ and ]]. `patterns` is true for [[ ]], where == compares
/// with a pattern. Notes the variables that nobody sets.
[[nodiscard]] Outcome condition(const std::vector<std::string>& words, bool patterns, Unset& unset);

}  // namespace foretoken::io::shell
