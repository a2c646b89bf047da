// Contracts: a broken rule is our own fault, printed and fatal in every build.
#pragma once

namespace foretoken {

/// Prints the rule and the place where it was broken, then exits with status 3. Debug builds abort instead.
[[noreturn]] void contract_broken(const char* rule, const char* file, int line);

/// States a precondition or an invariant: `condition` must hold, and `rule` says it in words.
inline constexpr void expects(bool condition, const char* rule, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  if (!condition) [[unlikely]]
    contract_broken(rule, file, line);
}

}  // namespace foretoken
