// Looks a named file up in a folder.
#include "sim/io/import/launch/near_file.h"

#include <system_error>

#include "sim/io/import/launch/shell/path_above.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch {

namespace fs = std::filesystem;

std::optional<fs::path> near_file(const std::string& name, const std::string& folder) {
  constexpr std::uintmax_t kLargest = 1 << 20;
  std::error_code error;
  const fs::path own = fs::absolute(folder, error).lexically_normal();
  const fs::path above = shell::path_above(name, own, shell::kFoldersAbove).whole;
  for (const fs::path& path : {fs::path(folder) / name, fs::path(folder) / fs::path(name).filename(), above})
    if (fs::is_regular_file(path, error) && fs::file_size(path, error) <= kLargest) return path;
  return std::nullopt;
}

std::optional<std::string> text_written(const shell::Script& script, const std::string& name) {
  if (script.unread_by(name) != nullptr) return std::nullopt;
  if (const auto exact = script.documents.find(name); exact != script.documents.end()) return exact->second;
  for (const auto& [written, text] : script.documents)
    if (fs::path(written).filename() == fs::path(name).filename()) return text;
  return std::nullopt;
}

std::optional<std::string> text_of_named(const shell::Script& script, const std::string& name,
                                         const std::string& folder) {
  if (script.unread_by(name) != nullptr) return std::nullopt;
  if (auto text = text_written(script, name)) return text;
  const auto path = shell::is_unknown(name) ? std::nullopt : near_file(name, folder);
  Findings unread;
  return path ? read_text_file(*path, path->string(), unread) : std::nullopt;
}

}  // namespace foretoken::io::launch
