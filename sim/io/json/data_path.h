// Finds data files by name: in the user's folders first, then among the shipped ones.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::io {

/// A kind of data file: its noun in complaints, and the folder of its files.
struct DataKind {
  std::string_view word;
  std::string_view folder;
  std::string_view list = {};  ///< the command that lists all; empty: the folder does
};
inline constexpr DataKind kModels{"model", "models", "foretoken models list"};
inline constexpr DataKind kClusters{"cluster", "topologies", "foretoken clusters list"};
inline constexpr DataKind kGpus{"GPU", "topologies/gpus"};
inline constexpr DataKind kProfiles{"profile", "calibration/profiles", "foretoken profiles list"};
inline constexpr DataKind kRuntimes{"runtime", "calibration/runtimes", "foretoken runtimes list"};
inline constexpr DataKind kMeasuredCollectives{"set of measured collectives", "calibration/collectives"};
inline constexpr DataKind kScenarios{"scenario", "scenarios", "foretoken scenarios list"};

/// Returns $FORETOKEN_DATA (if set), the current folder and the shipped data, in this order. An installed program has
/// its data in PREFIX/share/foretoken. A program that is not installed uses the source tree it was built from.
[[nodiscard]] std::vector<std::filesystem::path> data_roots();

/// Returns the complaint about $FORETOKEN_DATA, if it names a folder that does not exist.
[[nodiscard]] std::optional<std::string> wrong_data_folder();

/// Lists the names of all files of a kind over all roots, sorted, each once.
[[nodiscard]] std::vector<std::string> list_names(const DataKind& kind);

/// Finds NAME.json of a kind in the first root that has it, or else the file with that name in small letters: people
/// write Qwen3-32B, and its file is qwen3-32b.json.
[[nodiscard]] std::optional<std::filesystem::path> find_data_file(const DataKind& kind, std::string_view name);

/// Remembers that `file`, found by `name`, hides another shipped file: it stands in the current folder, and the shipped
/// file of that name says something else.
void note_hidden(const DataKind& kind, std::string_view name, const std::filesystem::path& file);

/// Returns one line for each shipped file that note_hidden() found hidden, sorted, and forgets them.
[[nodiscard]] std::vector<std::string> take_hidden();

/// Returns true for a path ("a/b", "x.json"), false for a name ("gpt3-175b").
[[nodiscard]] bool is_path(std::string_view reference);

/// Returns a path as UTF-8, for JSON. A byte that is not UTF-8 becomes a private character, U+EF80 to U+EFFF.
[[nodiscard]] std::string text_of_path(const std::filesystem::path& path);

/// Returns the path that text_of_path() or a user wrote.
[[nodiscard]] std::filesystem::path path_of_text(std::string_view text);

/// Says where all names of a kind stand: "foretoken models list", or a folder of the data.
[[nodiscard]] std::string where_listed(const DataKind& kind);

/// Words the complaint: 'unknown model "gpt"; did you mean "gpt2"?', or else the first names.
[[nodiscard]] std::string unknown_name(const DataKind& kind, std::string_view name);

}  // namespace foretoken::io
