// Reads the defaults of a submission's variables.
#include "sim/io/import/launch/mlperf/defaults.h"

#include <algorithm>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::mlperf {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestConfig = 1 << 20;

// ${oc.env:NAME,DEFAULT}; a default that is itself an expression is left out. ${oc.env:NAME} ties a key, too.
void add_yaml_defaults(const std::string& text, const std::string& file, Defaults& defaults) {
  constexpr std::string_view kMark = "oc.env:";
  for (std::size_t at = text.find(kMark); at != text.npos; at = text.find(kMark, at + 1)) {
    const std::size_t begin = at + kMark.size();
    const std::size_t comma = text.find_first_of(",}\n", begin);
    if (comma == text.npos || text[comma] == '\n') continue;
    const std::size_t line = text.rfind('\n', at) + 1;
    const std::string_view key = std::string_view(text).substr(std::min(text.find_first_not_of(' ', line), at));
    for (const std::string_view tied : {std::string_view("fp8_params"), kLengthKey})
      if (key.starts_with(tied) && key.substr(tied.size()).starts_with(':'))
        defaults.emplace(tied, Default{text.substr(begin, comma - begin), file});
    if (text[comma] == '}') continue;
    const std::size_t end = text.find_first_of("}\n", comma);
    if (end == text.npos || text[end] != '}') continue;
    std::string value = text.substr(comma + 1, end - comma - 1);
    if (value.find('$') != value.npos) continue;
    std::erase_if(value, [](char c) { return c == '\'' || c == '"' || c == ' '; });
    defaults.emplace(text.substr(begin, comma - begin), Default{value, file});
  }
}

// "optim:" with "name: fused_adam" as its first key.
void add_optimizer(const std::string& text, const std::string& file, Defaults& defaults) {
  constexpr std::string_view kSection = "optim:\n", kName = "name:";
  const std::size_t section = text.find(kSection);
  if (section == text.npos || (section > 0 && text[section - 1] != ' ' && text[section - 1] != '\n')) return;
  const std::size_t key = text.find_first_not_of(' ', section + kSection.size());
  if (key == text.npos || text.compare(key, kName.size(), kName) != 0) return;
  const std::size_t begin = text.find_first_not_of(' ', key + kName.size());
  if (begin == text.npos) return;
  defaults.emplace("optim.name", Default{text.substr(begin, text.find_first_of(" \r\n", begin) - begin), file});
}

void add_yaml_folder(const fs::path& folder, Defaults& defaults) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".yaml" && entry.is_regular_file(error) && entry.file_size(error) < kLargestConfig)
      files.push_back(entry.path());
  std::ranges::sort(files);
  constexpr std::size_t kMostFiles = 64;
  files.resize(std::min(files.size(), kMostFiles));
  for (const fs::path& file : files) {
    Findings unread;
    const auto text = read_text_file(file, file.string(), unread);
    if (!text) continue;
    const std::string name = "conf/" + printable(file.filename().string());
    add_yaml_defaults(*text, name, defaults);
    if (file.filename().string().find("peft") == std::string::npos) continue;
    add_optimizer(*text, name, defaults);
    if (text->find("adapter_dim:") != std::string::npos) defaults.emplace(kAdapterKey, Default{name, name});
  }
}

void add_script_defaults(const fs::path& run, const shell::Script& script, Defaults& defaults) {
  shell::Given given;
  for (const auto& [name, values] : script.variables.values)
    if (values.size() == 1) given.variables.emplace_back(name, values.front());
  Findings unread;
  const auto started = shell::read_script(run, given, unread);
  if (!started) return;
  for (const auto& [name, values] : started->variables.values) {
    const bool is_new = script.variables.find(name) == nullptr && values.size() == 1;
    if (is_new && !shell::is_unknown(values.front()))
      defaults.emplace(name, Default{values.front(), "run_and_time.sh"});
  }
}

}  // namespace

Defaults defaults_beside(const fs::path& path, const shell::Script& script) {
  Defaults defaults;
  std::error_code error;
  fs::path folder = fs::absolute(path, error).lexically_normal().parent_path();
  constexpr int kFolders = 3;
  for (int level = 0; level < kFolders; ++level, folder = folder.parent_path()) {
    const bool runs = fs::is_regular_file(folder / "run_and_time.sh", error);
    if (runs) add_script_defaults(folder / "run_and_time.sh", script, defaults);
    for (const char* conf : {"conf", "src/conf"})
      if (fs::is_directory(folder / conf, error)) add_yaml_folder(folder / conf, defaults);
    if (runs) break;
  }
  return defaults;
}

}  // namespace foretoken::io::launch::mlperf
