// Streams of the commands of a substitution: their texts, and the places to which output and errors go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken::io::shell {

/// The places to which a stream of a command may go. kUnread: a place that this reading does not follow.
enum class Goes : std::uint8_t { kOutput, kErrors, kElsewhere, kUnread };

/// The output and the errors of a command behind its redirections.
struct Streams {
  Goes output = Goes::kOutput, errors = Goes::kErrors;

  /// Takes a redirection: the operator `op` (>, >>, >|, >&, &>, &>>) behind the number of a stream, and its target.
  void redirect(std::string_view op, int stream, std::string_view target);
};

/// The text that commands print.
struct Printed {
  std::string text{};
  bool known = true;
  bool errors = false;  ///< something may go to the errors

  /// Adds what a command prints whose streams are redirected. The order of output and errors is not known.
  void add(const Printed& own, const Streams& streams);
};

}  // namespace foretoken::io::shell
