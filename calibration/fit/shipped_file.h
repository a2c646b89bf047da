// Reads shipped data for the fitting programs.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "sim/base/error.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"

namespace foretoken::fit {

/// Returns what `read` makes of the shipped file of a kind and name, or nothing where there is none. Throws ConfigError
/// where it is wrong.
template <class Read>
[[nodiscard]] auto find_shipped(const io::DataKind& kind, const std::string& name, const Read& read)
    -> std::optional<decltype(read(std::declval<const io::Node&>()))> {
  const auto path = io::find_data_file(kind, name);
  if (!path) return std::nullopt;
  io::Findings findings;
  const auto document = io::document_from_file(*path, findings);
  findings.throw_if_wrong();
  auto value = read(document->root(findings));
  findings.throw_if_wrong();
  return value;
}

/// Returns the same. Throws ConfigError where there is no such file, too.
template <class Read>
[[nodiscard]] auto read_shipped(const io::DataKind& kind, const std::string& name, const Read& read) {
  auto value = find_shipped(kind, name, read);
  if (!value) throw ConfigError({{name, "", "no such file of the shipped data"}});
  return *std::move(value);
}

}  // namespace foretoken::fit
