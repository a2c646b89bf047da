// Finds the framework of a document by its sections, and reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/io/import/launch/environment.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// A YAML, TOML or JSON file as read, with the facts that stand beside it.
struct Document {
  const Json& content;  ///< every scalar as a text
  const std::string& text;
  const std::filesystem::path& path;
  const std::string& row;  ///< of a file with several runs
  std::optional<std::int64_t> gpus{};
  Environment environment{};  ///< variables that it and the files beside it read, as the user states them

  /// Returns the whole path, with the folders that name the kind of some files.
  [[nodiscard]] std::string place() const;
};

/// Returns true for a document of a framework that can be read. `toml`: of a TOML file.
[[nodiscard]] bool is_known_document(const Json& content, bool toml);

/// Reads a document. Returns false where it belongs to no framework.
[[nodiscard]] bool read_known_document(const Document& document, Report& report);

}  // namespace foretoken::io::launch
