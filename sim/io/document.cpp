// How documents are read from files and texts.
#include "sim/io/document.h"

#include <utility>

#include "sim/io/parse_json.h"
#include "sim/io/text.h"

namespace foretoken::io {

std::optional<Document> document_from_text(std::string_view text, const std::string& file, Findings& findings) {
  std::optional<nlohmann::json> value = parse_json(text, file, findings);
  if (!value) return std::nullopt;
  return Document{std::move(*value), Source{.file = file}, "", ""};
}

std::optional<Document> document_from_file(const std::filesystem::path& path, Findings& findings) {
  const std::string file = printable(path.string());
  const std::optional<std::string> text = read_text_file(path, file, findings);
  if (!text) return std::nullopt;
  std::optional<Document> document = document_from_text(*text, file, findings);
  if (!document) return std::nullopt;
  document->source.folder = path.parent_path();
  document->name = path.stem().string();
  return document;
}

}  // namespace foretoken::io
