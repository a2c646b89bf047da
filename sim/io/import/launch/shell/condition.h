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

/// Returns the outcome of the words between [ and ], or [[ and ]]. `patterns` is true for [[ ]], where == compares
/// with a pattern. A variable that nobody sets is compared as an empty text; its name goes to `empties`.
[[nodiscard]] Outcome condition(const std::vector<std::string>& words, bool patterns, std::set<std::string>& empties);

}  // namespace foretoken::io::shell
