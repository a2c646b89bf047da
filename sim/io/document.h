// A JSON document with its origin: a file, a text, or an object standing inside another file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/node.h"

namespace foretoken::io {

/// A parsed value that owns its bytes; nodes are views into it.
struct Document {
  nlohmann::json value;
  Source source;
  std::string pointer;  ///< where it stands in `source.file`: empty for a whole file
  std::string name;     ///< NAME of NAME.json; empty for an object without a file

  /// The document as an object to be read; anything else is a complaint.
  [[nodiscard]] Node root(Findings& findings) const { return Node(value, source, findings, pointer).as_object(); }
};

/// Parses `text`; `file` is what complaints call it, relative paths start at the current folder.
[[nodiscard]] std::optional<Document> document_from_text(std::string_view text, const std::string& file,
                                                         Findings& findings);

/// Reads and parses a file; relative paths inside it start at its folder.
[[nodiscard]] std::optional<Document> document_from_file(const std::filesystem::path& path, Findings& findings);

}  // namespace foretoken::io
