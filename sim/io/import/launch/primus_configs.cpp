// Finds files of Primus. Layout: AMD-AGI/Primus, primus/configs/{models,modules}/{megatron,torchtitan}.
#include "sim/io/import/launch/primus_configs.h"

#include <system_error>

#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch {

namespace fs = std::filesystem;

std::optional<Json> primus_config(const fs::path& experiment, const std::string& kind, const fs::path& inside,
                                  const Environment& environment) {
  constexpr int kFolders = 8;  // above the experiment
  const fs::path below = inside.lexically_normal();
  if (below.empty() || below.is_absolute() || *below.begin() == "..") return std::nullopt;
  std::error_code error;
  fs::path folder = fs::absolute(experiment, error).lexically_normal().parent_path();
  for (int level = 0; level < kFolders; ++level, folder = folder.parent_path()) {
    const fs::path file = folder / "primus/configs" / kind / below;
    if (!fs::is_regular_file(file, error)) continue;
    Findings unread;
    const auto text = read_text_file(file, file.string(), unread);
    auto document = text ? read_yaml(*text, file.string(), unread) : std::nullopt;
    if (!document || !document->is_object()) return std::nullopt;
    put_environment(environment, *document);
    return document;
  }
  return std::nullopt;
}

}  // namespace foretoken::io::launch
