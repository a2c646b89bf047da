// Reads documents from files and texts, and merges a "base" beneath an object.
//
// Merging crosses folders: a relative path inside a base must still start at the base's folder afterwards. So the paths
// of a base are made absolute before the merge. A chain of bases ends, because no file may appear in it twice.
#include "sim/io/json/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/published_model.h"
#include "sim/io/import/read_schedule.h"
#include "sim/io/json/gpu_server.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io {
namespace {

namespace fs = std::filesystem;

/// The files that led to the current one through "base", by canonical path.
using Chain = std::vector<fs::path>;

fs::path resolved(const fs::path& path) {
  std::error_code error;
  return fs::weakly_canonical(path, error);
}

/// Most files have no base, and their paths are not resolved: that asks the system for each folder.
bool has_base(const Document& document) { return document.value.is_object() && document.value.contains("base"); }

/// An object without a name under a key of the base that is a name changes what has that name: {"gpu": {"sms": 100}}.
void change_named(const nlohmann::json& base, nlohmann::json& changes) {
  if (!base.is_object() || !changes.is_object()) return;
  for (auto& [key, member] : changes.items()) {
    if (!member.is_object() || member.contains("base") || member.contains("name") || !is_reference_key(key)) continue;
    const auto named = base.find(key);
    if (named != base.end() && named->is_string()) member["base"] = *named;
  }
}

std::optional<Document> merged(Document document, const DataKind& kind, Findings& findings, const Chain& chain);

/// Returns the complaint about the file behind a reference, if it cannot be read.
std::optional<std::string> why_unreadable(const fs::path& path) {
  const std::string shown = in_quotes(path.string());
  if (path.string().find('\0') != std::string::npos) return fmt::format("{} is no file name", shown);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return fmt::format("no such file: {}", shown);
  if (error) return fmt::format("{} cannot be read: {}", shown, error.message());
  if (fs::is_directory(status)) return fmt::format("{} is a directory; expected a JSON file", shown);
  if (!fs::is_regular_file(status)) return fmt::format("{} is not a regular file", shown);
  return std::nullopt;
}

/// Explains how to get the config of "org/name", a model of Hugging Face.
std::string how_to_get(const Node& reference, const DataKind& kind) {
  const std::string name = reference.is_text() ? reference.as_text() : "";
  const bool is_model = kind.folder == kModels.folder && !name.ends_with(".json");
  // --set and --model make paths absolute. The last two parts are the name.
  const fs::path path(name), shown = path.parent_path().filename() / path.filename();
  if (!is_model || shown.empty() || name.starts_with('.')) return "";
  return fmt::format(
      "; for a model of Hugging Face save https://huggingface.co/{}/raw/main/config.json and give the path of that "
      "file",
      printable(shown.generic_string(), 120));
}

/// Makes the document of a name without a file: a card's name is a cluster, and a published model's name its sizes.
std::optional<Document> made_from_name(const DataKind& kind, const std::string& name, Findings& findings) {
  if (kind.folder == kModels.folder) return published_model(name, findings);
  return kind.folder == kClusters.folder ? gpu_server(name, findings) : std::nullopt;
}

std::string unknown_document(const DataKind& kind, const std::string& name) {
  return kind.folder == kClusters.folder ? unknown_cluster(name) : unknown_name(kind, name);
}

std::optional<Document> open_file(const Node& reference, const DataKind& kind, const fs::path& path, Chain chain) {
  if (const auto wrong = why_unreadable(path)) {
    reference.complain(*wrong + how_to_get(reference, kind));
    return std::nullopt;
  }
  if (!chain.empty() && std::ranges::find(chain, resolved(path)) != chain.end()) {
    reference.complain(fmt::format("{} is its own base", in_quotes(path.string())));
    return std::nullopt;
  }
  std::optional<Document> document = document_from_file(path, reference.findings());
  if (!document || !has_base(*document)) return document;
  chain.push_back(resolved(path));
  return merged(std::move(*document), kind, reference.findings(), chain);
}

/// Returns the config.json of a model's folder. Other paths stay as they are.
fs::path config_in(const DataKind& kind, fs::path path) {
  std::error_code error;
  const fs::path config = path / "config.json";
  const bool folder = kind.folder == kModels.folder && fs::is_directory(path, error);
  return folder && fs::is_regular_file(config, error) ? config : path;
}

std::optional<Document> open_name(const Node& reference, const DataKind& kind, const std::string& name,
                                  const Chain& chain) {
  const std::optional<fs::path> path = find_data_file(kind, name);
  const fs::path folder = reference.source().folder / name;
  if (const fs::path config = config_in(kind, folder); !path && config != folder)
    return open_file(reference, kind, config, chain);
  if (!path) {
    std::optional<Document> made = made_from_name(kind, name, reference.findings());
    if (!made) reference.complain(unknown_document(kind, name));
    return made;
  }
  note_hidden(kind, name, *path);
  return open_file(reference, kind, *path, chain);
}

std::optional<Document> open_text(const Node& reference, const DataKind& kind, const Chain& chain) {
  const std::string text = reference.as_reference();
  if (is_path(text))
    return open_file(reference, kind, config_in(kind, reference.source().folder / path_of_text(text)), chain);
  return open_name(reference, kind, text, chain);
}

const char* article(std::string_view word) {
  return std::string_view("aeiou").find(word.front()) != std::string_view::npos ? "an" : "a";
}

/// Returns " at 2.99 USD" where only the price of a cluster changed, else " (modified)".
std::string suffix_of(const nlohmann::json& changes) {
  const auto price = changes.find("price_per_gpu_hour");
  const bool only_price = changes.size() == 1 && price != changes.end() && price->is_number();
  return only_price ? fmt::format(" at {} USD", price->get<double>()) : " (modified)";
}

/// Marks the name of a changed model or cluster, so that no answer shows it as the original.
void name_modified(const nlohmann::json& base, nlohmann::json& changes) {
  if (!base.is_object() || !changes.is_object() || changes.contains("name")) return;
  const auto name = base.find("name");
  if (name != base.end() && name->is_string()) changes["name"] = name->get<std::string>() + suffix_of(changes);
}

std::optional<Document> merged(Document document, const DataKind& kind, Findings& findings, const Chain& chain) {
  const Node root(document.value, document.source, findings, document.pointer);
  if (!root.has("base")) return document;
  const Node reference = root.child("base");
  if (!reference.is_text()) {
    reference.complain(fmt::format("expected the name of {} {} or a path, found {}", article(kind.word), kind.word,
                                   reference.found()));
    return std::nullopt;
  }
  std::optional<Document> base = open_text(reference, kind, chain);
  if (!base) return std::nullopt;
  anchor_references(base->value, base->source.folder);
  document.value.erase("base");
  if (kind.folder == kModels.folder || kind.folder == kClusters.folder) name_modified(base->value, document.value);
  change_named(base->value, document.value);
  base->value.merge_patch(document.value);
  document.value = std::move(base->value);
  if (document.name.empty()) document.name = base->name;
  return document;
}

}  // namespace

std::optional<Document> document_from_text(std::string_view text, const std::string& file, Findings& findings) {
  std::optional<nlohmann::json> value = parse_json(text, file, findings);
  if (!value) return std::nullopt;
  return Document{std::move(*value), Source{.file = file}, "", ""};
}

std::optional<Document> document_from_bytes(std::string_view text, const fs::path& path, Findings& findings) {
  std::optional<Document> document = document_from_text(text, printable(path.string()), findings);
  if (!document) return std::nullopt;
  document->source.folder = path.parent_path();
  document->name = printable(path.stem().string());
  return document;
}

std::optional<Document> document_from_file(const fs::path& path, Findings& findings) {
  const std::optional<std::string> text = read_text_file(path, printable(path.string()), findings);
  return text ? document_from_bytes(*text, path, findings) : std::nullopt;
}

std::optional<Document> open_reference(const Node& reference, const DataKind& kind) {
  if (reference.is_text()) return open_text(reference, kind, {});
  if (!reference.value().is_object()) {
    reference.expected(fmt::format("the name of {} {}, a path or an object", article(kind.word), kind.word));
    return std::nullopt;
  }
  Source source = reference.source();
  source.notes_defaults = false;
  return merged(Document{reference.value(), std::move(source), reference.pointer(), ""}, kind, reference.findings(),
                {});
}

std::optional<Document> document_of_name(const DataKind& kind, const std::string& name, const std::string& asker,
                                         Findings& findings) {
  if (const auto path = find_data_file(kind, name)) return document_from_file(*path, findings);
  std::optional<Document> made = made_from_name(kind, name, findings);
  if (!made) findings.complaints.push_back({asker, "", unknown_document(kind, name)});
  return made;
}

std::optional<Document> open_named(const Node& asker, const DataKind& kind, const std::string& name) {
  return open_name(asker, kind, name, {});
}

std::optional<Document> with_bases(Document document, const DataKind& kind, Findings& findings) {
  return merged(std::move(document), kind, findings, {});
}

bool is_reference_key(std::string_view key) {
  static constexpr std::array<std::string_view, 8> kKeys = {"model",   "cluster", "gpu",  "profile",
                                                            "runtime", "engine",  "base", "measured_collectives"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

void anchor_references(nlohmann::json& value, const fs::path& folder) {
  if (!value.is_object()) return;
  for (auto& [key, member] : value.items()) {
    if (member.is_object()) anchor_references(member, folder);
    if (key == "schedule") anchor_schedule(member, folder);
    if (!member.is_string() || !is_reference_key(key)) continue;
    const auto& text = member.get_ref<const std::string&>();
    std::error_code error;
    if (is_path(text)) member = text_of_path(fs::absolute(folder / path_of_text(text), error));
  }
}

}  // namespace foretoken::io
