// Finds the file of a name, and words the complaint about an unknown name.
#include "sim/io/json/data_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <set>

#include "sim/base/text.h"

namespace foretoken::io {
namespace fs = std::filesystem;

namespace {

/// Returns the data folder installed with this program. It starts at the program's own path, so an installation can
/// move.
std::optional<fs::path> installed_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  const fs::path folder = (program.parent_path() / FORETOKEN_DATA_FROM_PROGRAM).lexically_normal();
  if (!fs::is_directory(folder, error)) return std::nullopt;
  return folder;
}

}  // namespace

std::vector<fs::path> data_roots() {
  std::vector<fs::path> roots;
  if (const char* own = std::getenv("FORETOKEN_DATA"); own != nullptr && *own != '\0') roots.emplace_back(own);
  roots.emplace_back(".");
  roots.push_back(installed_folder().value_or(FORETOKEN_SOURCE_DIR));
  return roots;
}

std::optional<std::string> wrong_data_folder() {
  const char* const own = std::getenv("FORETOKEN_DATA");
  std::error_code error;
  if (own == nullptr || *own == '\0' || fs::is_directory(own, error)) return std::nullopt;
  return fmt::format("expected a folder with data, found {}", in_quotes(own));
}

std::vector<std::string> list_names(const DataKind& kind) {
  std::set<std::string> names;
  for (const fs::path& root : data_roots()) {
    std::error_code error;  // ignored: a root without this folder has no files of the kind
    fs::directory_iterator entry(root / kind.folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error))
      if (entry->path().extension() == ".json") names.insert(entry->path().stem().string());
  }
  return {names.begin(), names.end()};
}

std::optional<fs::path> find_data_file(const DataKind& kind, std::string_view name) {
  if (name.empty() || name.find('\0') != name.npos) return std::nullopt;
  for (const fs::path& root : data_roots()) {
    const fs::path file = root / kind.folder / (std::string(name) + ".json");
    std::error_code error;
    if (fs::exists(file, error)) return file.lexically_normal();
  }
  return std::nullopt;
}

bool is_path(std::string_view reference) {
  return reference.ends_with(".json") || reference.find('/') != reference.npos;
}

std::string unknown_name(const DataKind& kind, std::string_view name) {
  constexpr std::size_t kListed = 20;
  const std::vector<std::string> names = list_names(kind);
  std::string text = fmt::format("unknown {} {}", kind.word, in_quotes(name));
  const std::string meant = did_you_mean(name, names);
  if (!meant.empty()) return text + meant;
  std::vector<std::string> shown;
  for (const std::string& known : names)
    if (shown.size() < kListed) shown.push_back(printable(known, 60));
  if (shown.empty()) {
    for (const fs::path& root : data_roots()) shown.push_back(printable((root / kind.folder).string()));
    return text + fmt::format("; no {} file in {}", kind.word, fmt::join(shown, ", "));
  }
  return text + fmt::format("; there are {}{}", fmt::join(shown, ", "), names.size() > kListed ? ", ..." : "");
}

}  // namespace foretoken::io
