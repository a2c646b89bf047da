// Reads shipped data for the fitting programs.
#pragma once

#include <string>

#include "sim/base/error.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"

namespace foretoken::fit {

/// Returns what `read` makes of the shipped file of a kind and name. Throws ConfigError where there is none, or where
/// it is wrong.
template <class Read>
[[nodiscard]] auto read_shipped(const io::DataKind& kind, const std::string& name, const Read& read) {
  const auto path = io::find_data_file(kind, name);
  if (!path) throw ConfigError({{name, "", "no such file of the shipped data"}});
  io::Findings findings;
  const auto document = io::document_from_file(*path, findings);
  findings.throw_if_wrong();
  auto value = read(document->root(findings));
  findings.throw_if_wrong();
  return value;
}

}  // namespace foretoken::fit
