// A JSON document with its origin: a file, a text, or an object standing inside another file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/json/data_path.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

/// A parsed value that owns its bytes; nodes are views into it.
struct Document {
  nlohmann::json value;
  Source source;
  std::string pointer;  ///< its place in `source.file`; empty for a whole file
  std::string name;     ///< NAME of NAME.json; empty for an object without a file

  /// Returns the document as an object. Complains about any other value.
  [[nodiscard]] Node root(Findings& findings) const { return Node(value, source, findings, pointer).as_object(); }
};

/// Parses `text`. Complaints call it `file`. Relative paths start at the current folder.
[[nodiscard]] std::optional<Document> document_from_text(std::string_view text, const std::string& file,
                                                         Findings& findings);

/// Parses the bytes of a file. Relative paths inside it start at its folder.
[[nodiscard]] std::optional<Document> document_from_bytes(std::string_view text, const std::filesystem::path& path,
                                                          Findings& findings);

/// Reads and parses a file.
[[nodiscard]] std::optional<Document> document_from_file(const std::filesystem::path& path, Findings& findings);

/// Opens the document of `reference`: the NAME of a data file, a path relative to the file with the reference, or an
/// object. An object or file with "base": REFERENCE is merged over that document (RFC 7396: null removes a key).
/// Returns nothing, and complains at the reference, when there is no such document.
[[nodiscard]] std::optional<Document> open_reference(const Node& reference, const DataKind& kind);

/// Opens the document of a name, without its bases. Complaints about the name call it `asker`.
[[nodiscard]] std::optional<Document> document_of_name(const DataKind& kind, const std::string& name,
                                                       const std::string& asker, Findings& findings);

/// Opens the document of a default name. Complaints point at `asker`.
[[nodiscard]] std::optional<Document> open_named(const Node& asker, const DataKind& kind, const std::string& name);

/// Returns `document` with its bases merged in. Returns nothing, and complains, when one cannot be read.
[[nodiscard]] std::optional<Document> with_bases(Document document, const DataKind& kind, Findings& findings);

/// Makes the relative paths of all references absolute (model, cluster, gpu, profile, runtime, base, the file of a
/// schedule). The value can then be merged into one from another folder.
void anchor_references(nlohmann::json& value, const std::filesystem::path& folder);

/// Returns true for keys that refer to a data file: model, cluster, gpu, ...
[[nodiscard]] bool is_reference_key(std::string_view key);

}  // namespace foretoken::io
