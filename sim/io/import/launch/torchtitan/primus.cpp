// Unwraps experiments of Primus. Layout: AMD-AGI/Primus, examples/torchtitan/configs and primus/configs/models.
#include "sim/io/import/launch/torchtitan/primus.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/primus_command.h"
#include "sim/io/import/launch/primus_configs.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::torchtitan {
namespace {

namespace fs = std::filesystem;
using Document = nlohmann::ordered_json;

constexpr const char *kTurbo = "primus_turbo",
                     *kTurboKernels = "kernels of Primus-Turbo are taken as those of the runtime";

std::string text_of(const Document& trainer, const char* key) {
  const auto found = trainer.find(key);
  return found != trainer.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns the sections of primus/configs/KIND/torchtitan/NAME.
std::optional<Document> sections_of(const std::string& kind, const std::string& name, const fs::path& path,
                                    const Environment& environment) {
  return primus_config(path, kind, "torchtitan" / fs::path(name).filename(), environment);
}

std::string text_in(const Document& sections, const std::string& section, const char* key) {
  const auto found = sections.find(section);
  return found != sections.end() && found->is_object() ? text_of(*found, key) : "";
}

/// A switch that Primus's own module file states otherwise than torchtitan's defaults.
struct OpenSwitch {
  std::string_view section, older;  ///< `older`: its name in earlier versions, in [training]
  const char *key, *asked, *of_primus, *of_torchtitan;
};
/// Source: AMD-AGI/Primus, primus/configs/modules/torchtitan/pre_trainer.yaml; pytorch/torchtitan,
/// torchtitan/config/job_config.py (ActivationCheckpoint, Compile); training.compile: config_manager.py of 2024.
constexpr OpenSwitch kOpenSwitches[] = {
    {"activation_checkpoint", "", "mode", "recompute.granularity", "none", "selective"},
    {"compile", "compile", "enable", "runtime", "true", "false"}};

// Returns what states the value of a switch: a key of the scenario, or words behind the experiment.
std::string way_to_take(const OpenSwitch& one, const std::string& value) {
  const bool plain = one.section == "compile" || value == "none";
  const std::string of_scenario = one.section != "compile" ? value
                                  : value == "true"        ? "torchtitan-compiled"
                                                           : "torchtitan";
  if (plain) return fmt::format("--set {}={}", one.asked, of_scenario);
  return fmt::format("-- modules.pre_trainer.overrides.{}.{}={}", one.section, one.key, value);
}

constexpr const char* kUsualModule = "pre_trainer.yaml";

// Readers of an experiment that leaves a switch out take torchtitan's default, and Primus takes the module file. So it
// is asked for, and the default stays until then.
void ask_for_switches(const Document& sections, const std::optional<Document>& module, const std::string& name,
                      Report& report) {
  for (const OpenSwitch& one : kOpenSwitches) {
    if (!text_in(sections, std::string(one.section), one.key).empty()) continue;
    if (!one.older.empty() && !text_in(sections, "training", std::string(one.older).c_str()).empty()) continue;
    const std::string there = module ? text_in(*module, std::string(one.section), one.key) : one.of_primus;
    if (there.empty() || there == one.of_torchtitan) continue;
    report.ask_over_default(
        one.asked,
        fmt::format("the experiment states no {}.{}: Primus takes \"{}\" from {}, torchtitan by itself \"{}\", which "
                    "stands until you choose; type {} for Primus's value, {} for torchtitan's",
                    one.section, one.key, printable(there, 40), printable(name, 80), one.of_torchtitan,
                    way_to_take(one, printable(there, 40)), way_to_take(one, one.of_torchtitan)));
  }
}

// Puts the module file below the other sections: AMD-AGI/Primus, primus/core/launcher/parser.py
// (parse_trainer_module). Its sections of batches, degrees and the optimizer count.
void put_module_below(const Document& trainer, const fs::path& path, const Environment& environment, Document& sections,
                      Report& report) {
  const std::string name = text_of(trainer, "config");
  if (name.empty()) return;
  auto module = sections_of("modules", name, path, environment);
  if (module) resolve_references(*module);
  ask_for_switches(sections, module, name, report);
  if (!module && fs::path(name).filename() != kUsualModule)
    return report.refuse(printable(name, 80),
                         "the module file of the experiment is not in primus/configs/modules/torchtitan");
  if (!module)
    return report.approximate(printable(name, 80),
                              "this module file is not there; batches and degrees are taken as in Primus's own, which "
                              "are torchtitan's defaults");
  Document below = Document::object();
  for (const char* section : {"training", "parallelism", "optimizer"})
    if (module->contains(section) && module->at(section).is_object()) {
      below[section] = module->at(section);
      auto& keys = below[section];
      for (auto key = keys.begin(); key != keys.end();)
        key = key->is_null() || key->empty() || *key == "" ? keys.erase(key) : std::next(key);
    }
  report.approximate(printable(name, 80),
                     "sections of this module file other than training, parallelism and optimizer "
                     "are not read");
  if (switch_of(text_in(*module, kTurbo, "enable_primus_turbo")).value_or(false) && !sections.contains(kTurbo))
    report.approximate(kTurbo, kTurboKernels);
  below.merge_patch(sections);
  sections = std::move(below);
}

// Takes the keys out that Primus reads itself. Sections of primus_turbo: AMD-AGI/Primus,
// primus/configs/modules/torchtitan/pre_trainer.yaml.
void take_own_keys(Document& sections, Report& report) {
  for (const char* level : {"sink_level", "file_sink_level", "stderr_sink_level"})
    if (sections.erase(level) > 0) report.ignore(level, "");
  const std::string narrow = "enable_attention_float8";
  const auto found = sections.find(kTurbo);
  if (found == sections.end()) return;
  report.approximate(kTurbo, kTurboKernels);
  if (found->is_object() && switch_of(text_of(*found, narrow.c_str())).value_or(false))
    report.approximate(kTurbo + ("." + narrow), "attention is taken in 16 bits");
  sections.erase(kTurbo);
}

}  // namespace

bool is_primus(const Document& document) { return framework_of_primus(document) == "torchtitan"; }

Document unwrapped(const Document& document, const fs::path& path, const Environment& environment, Report& report) {
  const Document trainer = trainer_of_primus(document).value_or(Document::object());
  const std::string name = text_of(trainer, "model");
  auto sections = sections_of("models", name, path, environment);
  if (!sections)
    report.refuse(printable(name, 80), "the model file of the experiment is not in primus/configs/models/torchtitan");
  Document merged = sections ? *sections : Document::object();
  if (const auto found = trainer.find("overrides"); found != trainer.end() && found->is_object())
    merged.merge_patch(*found);
  if (!merged.is_object()) return merged;
  resolve_references(merged);
  put_module_below(trainer, path, environment, merged, report);
  take_own_keys(merged, report);
  if (!merged.contains("training")) merged["training"] = Document::object();
  return merged;
}

}  // namespace foretoken::io::launch::torchtitan
