// Unwraps experiments of Primus. Layout: AMD-AGI/Primus, examples/torchtitan/configs and primus/configs/models.
#include "sim/io/import/launch/torchtitan/primus.h"

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/primus_command.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::torchtitan {
namespace {

namespace fs = std::filesystem;
using Document = nlohmann::ordered_json;

std::string text_of(const Document& trainer, const char* key) {
  const auto found = trainer.find(key);
  return found != trainer.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<Document> model_sections(const std::string& name, const fs::path& path) {
  std::error_code error;
  fs::path folder = fs::absolute(path, error).lexically_normal().parent_path();
  constexpr int kFolders = 8;
  for (int level = 0; level < kFolders; ++level, folder = folder.parent_path()) {
    const fs::path file = folder / "primus/configs/models/torchtitan" / fs::path(name).filename();
    if (!fs::is_regular_file(file, error)) continue;
    Findings unread;
    const auto text = read_text_file(file, file.string(), unread);
    return text ? read_yaml(*text, file.string(), unread) : std::nullopt;
  }
  return std::nullopt;
}

// "${NAME:value}" is the value where the environment has no NAME.
void resolve(Document& value) {
  if (value.is_structured())
    for (Document& member : value) resolve(member);
  if (!value.is_string()) return;
  const std::string text = value.get<std::string>();
  const std::size_t colon = text.find(':');
  if (text.starts_with("${") && text.ends_with('}') && colon != text.npos)
    value = text.substr(colon + 1, text.size() - colon - 2);
}

// The module file has Primus's own settings of the trainer, beside those of torchtitan.
void note_module(const Document& trainer, Report& report) {
  if (const std::string module = text_of(trainer, "config"); !module.empty())
    report.approximate(printable(module, 80),
                       "this module file of Primus is not read; torchtitan's defaults are taken");
}

// Takes the keys out that Primus reads itself. Sections of primus_turbo: AMD-AGI/Primus,
// primus/configs/modules/torchtitan/pre_trainer.yaml.
void take_own_keys(Document& sections, Report& report) {
  for (const char* level : {"sink_level", "file_sink_level", "stderr_sink_level"})
    if (sections.erase(level) > 0) report.ignore(level, "");
  const std::string turbo = "primus_turbo", narrow = "enable_attention_float8";
  const auto found = sections.find(turbo);
  if (found == sections.end()) return;
  report.approximate(turbo, "kernels of Primus-Turbo are taken as those of the runtime");
  if (found->is_object() && switch_of(text_of(*found, narrow.c_str())).value_or(false))
    report.approximate(turbo + "." + narrow, "attention is taken in 16 bits");
  sections.erase(turbo);
}

}  // namespace

bool is_primus(const Document& document) { return framework_of_primus(document) == "torchtitan"; }

Document unwrapped(const Document& document, const fs::path& path, const Environment& environment, Report& report) {
  const Document trainer = trainer_of_primus(document).value_or(Document::object());
  const std::string name = text_of(trainer, "model");
  auto sections = model_sections(name, path);
  if (!sections)
    report.refuse(printable(name, 80), "the model file of the experiment is not in primus/configs/models/torchtitan");
  Document merged = sections ? *sections : Document::object();
  put_environment(environment, merged);
  if (const auto found = trainer.find("overrides"); found != trainer.end() && found->is_object())
    merged.merge_patch(*found);
  note_module(trainer, report);
  if (merged.is_object()) take_own_keys(merged, report);
  if (merged.is_object() && !merged.contains("training")) merged["training"] = Document::object();
  resolve(merged);
  return merged;
}

}  // namespace foretoken::io::launch::torchtitan
