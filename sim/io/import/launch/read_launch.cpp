// Finds the framework of a launch, and completes the scenario that its reader makes.
#include "sim/io/import/launch/read_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/check_shape.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/documents.h"
#include "sim/io/import/launch/environment.h"
#include "sim/io/import/launch/launch_file.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/names/replaced_model.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/nemo/read_table.h"
#include "sim/io/import/launch/neox/read_neox.h"
#include "sim/io/import/launch/nodes_of_cluster.h"
#include "sim/io/import/launch/overrides.h"
#include "sim/io/import/launch/own_lines.h"
#include "sim/io/import/launch/primus_command.h"
#include "sim/io/import/launch/read_script_file.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/script.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/import/launch/stored_weights.h"
#include "sim/io/import/launch/toml/read_toml.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/tuning/trainer_script.h"
#include "sim/io/import/launch/user_sets.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"
#include "sim/io/json/parse_json.h"
#include "sim/io/model/read_model.h"
#include "sim/model/tuning/fine_tuning.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;

/// A launch file is a few kilobytes; a larger one is something else.
constexpr std::uintmax_t kLargestLaunch = 4 << 20;

// A config.json of Hugging Face: PretrainedConfig writes both keys (configuration_utils.py).
bool is_model_config(const Json& document) {
  if (!document.is_object() || !document.contains("model_type")) return false;
  return document.contains("architectures") || document.contains("hidden_size") || document.contains("n_embd") ||
         document.contains("d_model") || document.contains("text_config");
}

// Returns the plugins of a file with nothing else: "training.moe.scattermoe". Source: foundation-model-stack/
// fms-acceleration, plugins/framework/src/fms_acceleration/framework.py, which reads plugins by these three names.
std::vector<std::string> plugins_of_acceleration(const Json& document) {
  std::vector<std::string> plugins;
  if (!document.is_object() || document.size() != 1 || !document.contains("plugins")) return plugins;
  for (const auto& [part, kinds] : document.at("plugins").items()) {
    if ((part != "training" && part != "peft") || !kinds.is_object()) return {};
    for (const auto& [kind, names] : kinds.items())
      for (const auto& [name, settings] : names.items())
        plugins.push_back(printable(part + "." + kind + "." + name, 80));
  }
  return plugins;
}

void read_document(const Json& document, const std::string& text, const fs::path& path, const Launch& launch,
                   Report& report, Findings& findings) {
  if (read_known_document({document, text, path, launch.row, stated_gpus(launch), launch.variables}, report)) return;
  if (path.extension() == ".json" && is_model_config(document)) {
    return complain(
        findings, path,
        fmt::format("it is the config of a model, and states no training; name it with --set model={} beside "
                    "a launch file, or as \"model\" in a scenario; foretoken models show prints its sizes and "
                    "parameters",
                    printable(path.string(), 80)));
  }
  if (const auto plugins = plugins_of_acceleration(document); !plugins.empty())
    return complain(findings, path,
                    fmt::format("it configures plugins of fms-acceleration ({}), and states no training; import the "
                                "command that names it with --acceleration_framework_config_file",
                                fmt::join(plugins, ", ")));
  const std::string primus = framework_of_primus(document);
  complain(
      findings, path,
      (primus.empty() ? "it belongs to no framework that can be read; "
                      : fmt::format("an experiment of Primus for {}, which is not read; ", printable(primus, 60))) +
          kExpected);
}

// Jobs of MosaicML's platform hold a script: mosaicml/llm-foundry, mcli/mcli-1b.yaml. Those with parameters of a
// training hold its configuration.
bool is_job_of_mosaic(const Json& document) {
  const auto has = [&](const char* key, const char* inner) {
    return document.is_object() && document.contains(key) && document.at(key).is_object() &&
           document.at(key).contains(inner);
  };
  return has("compute", "gpus") && document.contains("image") && document.contains("command") &&
         document.at("command").is_string() && !has("parameters", "model");
}

void read_job(const fs::path& path, const Json& document, const Launch& launch, Report& report, Findings& findings) {
  Launch inner = launch;
  const Json& gpus = document.at("compute").at("gpus");
  const auto count = whole_of(gpus.is_string() ? gpus.get<std::string>() : std::string());
  if (count && !stated_gpus(launch)) inner.sets.push_back(fmt::format("gpus={}", *count));
  read_script_file(path, document.at("command").get<std::string>(), inner, report, findings);
  if (!count || stated_gpus(launch) || !findings.complaints.empty()) return;
  report.map("gpus", count.value_or(0), "compute.gpus");
}

void read_yaml_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                    Findings& findings) {
  auto document = read_yaml(text, printable(path.string()), findings);
  if (!document) return;
  if (!launch.words.empty() && document->is_object() && document->contains("MODEL_ARGS"))
    return complain(findings, path, "a functional test takes no words behind --; change a key with --set");
  if (is_job_of_mosaic(*document)) return read_job(path, *document, launch, report, findings);
  apply_overrides(launch.words, *document, findings);
  put_environment(launch.variables, *document);
  read_document(*document, text, path, launch, report, findings);
}

void read_json_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                    Findings& findings) {
  const auto document = parse_json(text, printable(path.string()), findings);
  if (!document) return;
  Json texts = as_texts(Json(*document));
  apply_overrides(launch.words, texts, findings);
  put_environment(launch.variables, texts);
  read_document(texts, text, path, launch, report, findings);
}

void read_csv_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                   Findings& findings) {
  if (!launch.words.empty())
    complain(findings, path, "a table of runs takes no words behind --; choose one with --row");
  if (nemo::is_run_table(text)) return nemo::read_run_table(text, launch.row, report);
  complain(findings, path, std::string("it is no table of recommended runs; ") + kExpected);
}

void read_toml_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                    Findings& findings) {
  auto document = read_toml(text, printable(path.string()), findings);
  if (!document) return;
  apply_overrides(launch.words, *document, findings);
  read_document(*document, text, path, launch, report, findings);
}

using Kind =
    std::pair<std::string_view, void (*)(const fs::path&, const std::string&, const Launch&, Report&, Findings&)>;
constexpr Kind kReaders[] = {
    {".yaml", read_yaml_file}, {".yml", read_yaml_file}, {".toml", read_toml_file}, {".csv", read_csv_file}};

// Words of a command line: flags alone, or a command with its launcher.
void read_words(const Launch& launch, Report& report) {
  shell::Script script;
  script.commands.push_back({.words = launch.words, .file = kFromCommandLine, .line = 0});
  if (tuning::is_trainer_script(script))
    return tuning::read_trainer_script(script, ".", launch.row, {}, stated_gpus(launch), report);
  const bool whole = std::ranges::any_of(launch.words, [](const std::string& word) { return word.ends_with(".py"); });
  if (whole && megatron::is_megatron_script(script))
    return megatron::read_launch_script(script, ".", launch.row, {}, report);
  megatron::read_arguments(arguments_of(launch.words, kFromCommandLine), report);
}

bool states(const std::vector<std::string>& sets, std::string_view key) {
  return std::ranges::any_of(sets, [&](const std::string& set) { return set.starts_with(key); });
}

// A model that nobody knows by its name may stand in a folder beside the file.
void settle_local_model(const fs::path& folder, Report& report) {
  const std::string& name = report.unknown_model;
  const bool asked = report.asks("model");
  if (!asked || name.empty() || shell::is_unknown(name)) return;
  const fs::path config = fs::path(name) / "config.json";
  const auto path = near_file(config.string(), folder.empty() ? "." : folder.string());
  // The file of that last name may be of something else: a config.json beside the script.
  if (!path || path->parent_path().filename() != config.parent_path().filename()) return;
  Findings wrong;
  const auto document = document_from_file(*path, wrong);
  if (document) (void)read_model(document->root(wrong), name);
  if (document && wrong.complaints.empty()) {
    std::error_code error;
    settle_stored_weights(document->value, printable(config.string(), 80), report);
    for (const std::string& note : wrong.notes.assumptions) report.approximate("model", note);
    return report.map("model", fs::absolute(*path, error).lexically_normal().string(),
                      "the config.json in " + printable(name, 80));
  }
  const auto first = wrong.complaints.listed();
  std::erase_if(report.asked, [](const Asked& one) { return one.key == "model"; });
  report.ask("model", printable(config.string(), 80) + " is there, but its model cannot be read" +
                          (first.empty() ? "" : fmt::format(": {}: {}", first.front().pointer, first.front().message)) +
                          "; state another --model");
}

// Returns the model that the scenario names or holds; nothing where there is none, or it cannot be read.
std::optional<model::Transformer> model_of(const Report& report) {
  if (!report.has("model")) return std::nullopt;
  Findings wrong;
  const auto scenario = document_from_text(report.scenario.dump(), "scenario", wrong);
  if (!scenario) return std::nullopt;
  const auto document = open_reference(scenario->root(wrong).child("model"), kModels);
  if (!document) return std::nullopt;
  auto model = read_model(document->root(wrong), "model");
  return wrong.complaints.empty() ? std::optional(std::move(model)) : std::nullopt;
}

model::LoraTargets targets_of(const Json& names) {
  model::LoraTargets targets;
  for (const model::TargetName& known : model::kTargetNames)
    for (const Json& name : names.is_array() ? names : Json::array({names}))
      if (name == known.key) targets = targets | known.targets;
  return targets;
}

// PEFT wraps modules. Routed experts are modules in transformers 4 (modeling_mixtral.py, MixtralSparseMoeBlock), and
// stacked weights in 5, which lora_target_parameters names. Adapters of other frameworks' grouped experts are their
// own.
void ask_about_routed_experts(Report& report) {
  const model::LoraTargets targets = targets_of(report.at("training.targets"));
  if (!targets.of_mlp() || targets.experts) return;
  const auto model = model_of(report);
  if (!model || !model->experts) return;
  if (report.at("runtime") != "huggingface-trainer")
    return report.refuse("training.targets", "adapters beside the grouped experts of this framework are not modelled");
  report.ask_over_default(
      "training.targets",
      "the products of an MLP have adapters in every routed expert with transformers 4, and in none "
      "with 5, whose experts are stacked weights; state --set "
      "training.targets='[\"attention\",\"experts\"]' or only products that have them");
}

void settle_model_of_user(const Json& of_file, const std::vector<std::string>& sets, Report& report) {
  if (!states(sets, "model=")) return;
  std::erase_if(report.mapped, [](const Mapped& one) { return one.key == "model" && one.from != kFromCommandLine; });
  if (!states(sets, "training.method=") && !states(sets, "training=")) settle_weights_of_scenario(report);
  if (!of_file.is_object() || of_file.value("model_type", "") != "megatron") return;
  if (const auto named = model_of(report)) settle_replaced_model(of_file, *named, report);
}

// The model that the user names has the layers of which one in so many is recomputed.
void count_recomputed_layers(Report& report) {
  if (report.recomputed_one_in == 0 || report.has("recompute.layers")) return;
  if (report.at("recompute.granularity") != "full") return;  // the user states another
  const auto model = model_of(report);
  const std::int64_t stages = report.whole("parallelism.pipeline").value_or(1);
  if (!model || stages < 1) return;
  report.map("recompute.layers", std::max<std::int64_t>(1, model->layers / report.recomputed_one_in / stages),
             fmt::format("one of {} layers, of {}", report.recomputed_one_in, model->layers));
}

// Completes what a reader has made of the files. `own` are the facts that comments of the file state.
void complete(const Launch& launch, const std::vector<std::string>& own, Report& report, Findings& findings) {
  // Facts would not help where a file is refused before any of its settings is read.
  const bool refused_whole =
      !report.refused.empty() && report.mapped.empty() && report.assumed.empty() && report.asked.empty();
  const bool no_row = report.asks("row");
  apply_sets(own, "a comment of the file", report, findings);
  const Json of_file = report.at("model");
  apply_sets(launch.sets, kFromCommandLine, report, findings);
  settle_model_of_user(of_file, launch.sets, report);
  for (const std::string& set : launch.sets)  // the user's own value stands for what the file may hold
    std::erase_if(report.refused, [key = set.substr(0, set.find('='))](const Refused& one) {
      return one.setting == key || one.key == key;
    });
  report.allow(launch.allow);
  report.unread = (refused_whole || no_row) && !report.complete();
  if (report.unread) return;
  ask_about_routed_experts(report);
  count_recomputed_layers(report);
  settle_nodes(report);
  complete_scenario(report);
  report.allow(launch.allow);
  report.drop_named_of_read();
}

}  // namespace

void complain(Findings& findings, const fs::path& path, std::string message) {
  findings.complaints.push_back({printable(path.string()), "", std::move(message)});
}

std::optional<std::string> text_of(const fs::path& path, Findings& findings) {
  std::error_code error;
  // Reading a pipe may wait for ever.
  const bool other = fs::exists(path, error) && !fs::is_regular_file(path, error) && !fs::is_directory(path, error);
  if (other) {
    complain(findings, path, "not a regular file; copy it into a file first");
    return std::nullopt;
  }
  if (fs::is_regular_file(path, error) && fs::file_size(path, error) > kLargestLaunch) {
    complain(findings, path,
             fmt::format("expected at most {} MiB, found {} bytes; {}", kLargestLaunch >> 20,
                         fs::file_size(path, error), kExpected));
    return std::nullopt;
  }
  auto text = read_text_file(path, printable(path.string()), findings);
  if (!text) return text;
  if (text->size() > kLargestLaunch || text->find('\0') != text->npos) {
    complain(findings, path, std::string("not a text; ") + kExpected);
    return std::nullopt;
  }
  return text;
}

std::optional<std::int64_t> stated_gpus(const Launch& launch) {
  constexpr std::string_view kKey = "gpus=";
  std::optional<std::int64_t> gpus;
  for (const std::string& set : launch.sets)
    if (set.starts_with(kKey)) gpus = whole_of(std::string_view(set).substr(kKey.size()));
  return gpus && *gpus > 0 ? gpus : std::nullopt;
}

void read_text(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
               Findings& findings) {
  const std::string extension = path.extension().string();
  for (const auto& [ending, reader] : kReaders)
    if (extension == ending) return reader(path, text, launch, report, findings);
  if (extension == ".json") return read_json_file(path, text, launch, report, findings);
  if (shell::is_script_name(extension) || text.starts_with("#!"))
    return read_script_file(path, text, launch, report, findings);
  complain(findings, path, fmt::format("unknown kind of file {}; {}", in_quotes(extension), kExpected));
}

void read_several(const Launch& launch, Report& report, Findings& findings) {
  std::vector<Json> documents;
  for (const fs::path& path : launch.files) {
    const auto text = text_of(path, findings);
    auto document = text ? read_yaml(*text, printable(path.string()), findings) : std::nullopt;
    if (document) documents.push_back(std::move(*document));
  }
  // A part of a configuration may show nothing of its framework.
  if (!documents.empty() && std::ranges::none_of(documents, neox::is_neox))
    complain(findings, launch.files.front(), "several files are merged for GPT-NeoX only; give one file");
  if (!launch.words.empty()) findings.complaints.push_back({"behind --", "", "several files take no words behind --"});
  if (findings.complaints.empty()) neox::read_neox(neox::merged_neox(documents), stated_gpus(launch), report);
}

Report read_launch_text(const std::string& text, const fs::path& name, const Launch& launch, Findings& findings) {
  Report report;
  report.scenario["name"] = printable(name.stem().string());
  const std::vector<std::string> own = own_lines(text);
  Launch known = launch;
  known.sets.insert(known.sets.begin(), own.begin(), own.end());
  read_text(name, text, known, report, findings);
  if (!states(launch.sets, "model=")) settle_local_model(name.parent_path(), report);
  if (findings.complaints.empty()) complete(launch, own, report, findings);
  return report;
}

Report read_launch(const Launch& launch, Findings& findings) {
  if (launch.files.size() == 1) {
    const auto text = text_of(launch.files.front(), findings);
    return text ? read_launch_text(*text, launch.files.front(), launch, findings) : Report();
  }
  Report report;
  if (launch.files.empty())
    read_words(launch, report);
  else
    read_several(launch, report, findings);
  report.scenario["name"] =
      launch.files.empty() ? "an imported command line" : printable(launch.files.front().stem().string());
  if (findings.complaints.empty()) complete(launch, {}, report, findings);
  return report;
}

bool is_launch_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  return shell::is_script_name(extension) || std::ranges::find(kReaders, extension, &Kind::first) != std::end(kReaders);
}

bool is_launch_document(const nlohmann::json& document) { return deepspeed::is_deepspeed(Json(document)); }

}  // namespace foretoken::io::launch
