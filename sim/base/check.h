// Contracts: a broken rule is our own fault, printed and fatal in every build.
#pragma once

namespace foretoken {

/// Prints the rule and where it was broken, then exits with status 3 (aborts in debug builds).
[[noreturn]] void contract_broken(const char* rule, const char* file, int line);

/// Precondition or invariant: `condition` must hold, `rule` says what it means in words.
inline constexpr void expects(bool condition, const char* rule, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  if (!condition) [[unlikely]]
    contract_broken(rule, file, line);
}

}  // namespace foretoken
