// Follows the redirections of a command: POSIX.1-2017, Shell Command Language, section 2.7, and &> of bash.
#include "sim/io/import/launch/shell/streams.h"

#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::shell {
namespace {

// A place by its name among the files: /dev/stdout.
Goes place_of_file(const Streams& streams, std::string_view file) {
  if (is_unknown(file) || file.empty()) return Goes::kUnread;
  if (file == "/dev/stdout" || file == "/dev/fd/1" || file == "/proc/self/fd/1") return streams.output;
  if (file == "/dev/stderr" || file == "/dev/fd/2" || file == "/proc/self/fd/2") return streams.errors;
  const bool other = file.starts_with("/dev/fd/") || file.starts_with("/proc/");
  return other ? Goes::kUnread : Goes::kElsewhere;
}

}  // namespace

void Streams::redirect(std::string_view op, int stream, std::string_view target) {
  const bool copies = op == ">&" && target.find_first_not_of("0123456789-") == target.npos;
  Goes place = Goes::kUnread;
  if (!copies)
    place = place_of_file(*this, target);
  else if (target == "1" || target == "2")
    place = target == "1" ? output : errors;
  else if (target == "-")
    place = Goes::kElsewhere;
  const bool both = op.starts_with('&') || (op == ">&" && !copies);
  if (both || stream == 1) output = place;
  if (both || stream == 2) errors = place;
}

void Printed::add(const Printed& own, const Streams& streams) {
  const bool prints = !own.text.empty() || !own.known;
  if (streams.output == Goes::kOutput) {
    text += own.text;
    known = known && own.known;
  }
  errors = errors || (prints && streams.output == Goes::kErrors) || (own.errors && streams.errors == Goes::kErrors);
  const bool unread = streams.output == Goes::kUnread || streams.errors == Goes::kUnread;
  if (unread || (own.errors && streams.errors == Goes::kOutput)) known = false;
}

}  // namespace foretoken::io::shell
