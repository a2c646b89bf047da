// Finds the file of a name, and words the complaint about an unknown name.
#include "sim/io/json/data_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>

#include "sim/base/text.h"

namespace foretoken::io {
namespace fs = std::filesystem;

namespace {

constexpr char kPrivate = '\xEE';  // U+EF80 to U+EFBF are EE BE 80 to EE BE BF, and the rest EE BF 80 to EE BF BF

/// Returns the offset of the first private character that text_of_path() writes.
std::size_t private_in(std::string_view text) {
  std::size_t at = text.find(kPrivate);
  while (at != text.npos && (at + 2 >= text.size() || (text[at + 1] != '\xBE' && text[at + 1] != '\xBF')))
    at = text.find(kPrivate, at + 1);
  return at;
}

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

const fs::path& shipped_folder() {
  static const fs::path folder = installed_folder().value_or(FORETOKEN_SOURCE_DIR);
  return folder;
}

/// The lines about hidden files. Threads that read scenarios share them.
struct HiddenFiles {
  std::mutex mutex;
  std::set<std::string> lines;
};

HiddenFiles& hidden_files() {
  static HiddenFiles all;
  return all;
}

/// Returns false for files that cannot be read, too.
bool same_bytes(const fs::path& left, const fs::path& right) {
  std::ifstream a(left, std::ios::binary), b(right, std::ios::binary);
  std::array<char, 8192> from_a, from_b;
  while (a && b) {
    a.read(from_a.data(), from_a.size());
    b.read(from_b.data(), from_b.size());
    if (a.gcount() != b.gcount() || !std::equal(from_a.begin(), from_a.begin() + a.gcount(), from_b.begin()))
      return false;
  }
  return a.eof() && b.eof();
}

}  // namespace

std::vector<fs::path> data_roots() {
  std::vector<fs::path> roots;
  if (const char* own = std::getenv("FORETOKEN_DATA"); own != nullptr && *own != '\0') roots.emplace_back(own);
  roots.emplace_back(".");
  roots.push_back(shipped_folder());
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
  std::string small(name);
  for (char& letter : small)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return small == name ? std::nullopt : find_data_file(kind, small);
}

void note_hidden(const DataKind& kind, std::string_view name, const fs::path& file) {
  const fs::path below = fs::path(kind.folder) / (std::string(name) + ".json");
  const fs::path shipped = shipped_folder() / below;
  std::error_code error;
  if (file.lexically_normal() != below.lexically_normal() || !fs::is_regular_file(shipped, error)) return;
  if (fs::equivalent(file, shipped, error) || same_bytes(file, shipped)) return;
  const std::lock_guard lock(hidden_files().mutex);
  hidden_files().lines.insert(
      fmt::format("{}: used in place of the shipped {} {}", printable(file.string()), kind.word, in_quotes(name)));
}

std::vector<std::string> take_hidden() {
  const std::lock_guard lock(hidden_files().mutex);
  std::vector<std::string> lines(hidden_files().lines.begin(), hidden_files().lines.end());
  hidden_files().lines.clear();
  return lines;
}

bool is_path(std::string_view reference) {
  return reference.ends_with(".json") || reference.find('/') != reference.npos;
}

std::string text_of_path(const fs::path& path) {
  std::string text;
  for (std::string_view rest = path.native(); !rest.empty();) {
    const std::size_t whole = std::min({rest.size(), invalid_utf8(rest).value_or(rest.size()), private_in(rest)});
    text += rest.substr(0, whole);
    rest.remove_prefix(whole);
    if (rest.empty()) break;
    const auto byte = static_cast<unsigned char>(rest.front());  // 0x80 or more: all below is UTF-8
    text += {kPrivate, static_cast<char>(byte < 0xC0 ? 0xBE : 0xBF), static_cast<char>(0x80 | (byte & 0x3F))};
    rest.remove_prefix(1);
  }
  return text;
}

fs::path path_of_text(std::string_view text) {
  std::string bytes;
  for (std::size_t at = private_in(text); at != text.npos; at = private_in(text)) {
    bytes += text.substr(0, at);
    const int high = text[at + 1] == '\xBE' ? 0x80 : 0xC0;
    bytes += static_cast<char>(high | (static_cast<unsigned char>(text[at + 2]) & 0x3F));
    text.remove_prefix(at + 3);
  }
  return bytes.append(text);
}

std::string unknown_name(const DataKind& kind, std::string_view name) {
  const std::vector<std::string> names = list_names(kind);
  const std::string text = fmt::format("unknown {} {}", kind.word, in_quotes(name));
  if (!names.empty()) return text + meant_or_known(name, names, where_listed(kind));
  std::vector<std::string> roots;
  for (const fs::path& root : data_roots()) roots.push_back(printable((root / kind.folder).string()));
  return text + fmt::format("; no {} file in {}", kind.word, fmt::join(roots, ", "));
}

std::string where_listed(const DataKind& kind) {
  return kind.list.empty() ? fmt::format("{}/", kind.folder) : std::string(kind.list);
}

}  // namespace foretoken::io
