// Computes the parts of words that are sums and the outputs of commands.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/io/import/launch/shell/arithmetic.h"
#include "sim/io/import/launch/shell/expand.h"

namespace foretoken::io::shell {

std::string Expander::number(std::string_view expression) {
  const std::string known = known_text(expression);
  Assigned assigned;
  std::string why;  // a name in it has no known value
  const auto value = while_on(asks_, [&]() -> std::optional<std::int64_t> {
    if (is_unknown(known)) return std::nullopt;
    return arithmetic(
        known,
        [&](std::string_view name) {
          std::string text = value_of(name);
          if (why.empty()) why = why_unknown(text);
          return text;
        },
        &assigned);
  });
  if (value) {
    for (const auto& [name, number] : assigned) variables_.set(name, {fmt::format("{}", number)});
    return fmt::format("{}", *value);
  }
  forget_assigned(expression);
  if (is_unknown(known)) return unknown_because(why_unknown(known));
  if (!why.empty()) return unknown_because(why);
  return unknown_because(fmt::format("$(({}))", known));
}

void Expander::forget_assigned(std::string_view expression) {
  for (const std::string& name : assigned_in(expression))
    variables_.set(name, {unknown_because(fmt::format("{} in $(({}))", name, expression))});
}

std::string Expander::output_of(std::string_view command) {
  budget_.step();
  const std::string_view trimmed = command.substr(std::min(command.find_first_not_of(" \t\n"), command.size()));
  if (trimmed.starts_with("getopt ") && variables_.arguments.empty() && !variables_.arguments_stated)
    variables_.lacks_options = true;
  if (auto known = output_of_(command)) return std::move(*known);
  return unknown_because(fmt::format("the output of `{}`", command));
}

// NODES=($(scontrol show hostnames $SLURM_JOB_NODELIST)) has an element for each node of the job.
std::optional<std::string> Expander::count_of_hosts(const Texts& array) {
  constexpr std::string_view kBegin = "the output of `";
  const std::string reason = array.size() == 1 && is_one_unknown(array[0], "") ? why_unknown(array[0]) : "";
  if (!reason.starts_with(kBegin) || !reason.ends_with('`')) return std::nullopt;
  const std::string command = reason.substr(kBegin.size(), reason.size() - kBegin.size() - 1);
  if (!command.starts_with("scontrol ")) return std::nullopt;
  const std::string count = output_of(command + " | wc -l");
  return is_unknown(count) ? std::nullopt : std::optional(count);
}

}  // namespace foretoken::io::shell
