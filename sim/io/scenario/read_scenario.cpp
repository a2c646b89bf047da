// Reads a scenario: the files that it names, then its own parts, then the rules between them.
#include "sim/io/scenario/read_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "sim/base/parse_count.h"
#include "sim/base/text.h"
#include "sim/io/hardware/read_hardware.h"
#include "sim/io/import/launch/read_launch.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"
#include "sim/io/json/set_value.h"
#include "sim/io/model/read_model.h"
#include "sim/io/scenario/inline_files.h"
#include "sim/io/scenario/launch_document.h"
#include "sim/io/scenario/read_imperfections.h"
#include "sim/io/scenario/read_offload.h"
#include "sim/io/scenario/read_runtime.h"
#include "sim/io/scenario/scenario_parts.h"
#include "sim/job/make.h"

namespace foretoken::io {
namespace {

namespace fs = std::filesystem;
using job::Made;
using job::Question;
using job::Sound;

constexpr WholeRange kGpuCount{.low = 1, .high = 1 << 20, .thousand = kThousand};

/// Runs `read`, and returns true when it made no complaint.
template <class Read>
bool is_sound(const Findings& findings, Read read) {
  const std::size_t before = findings.complaints.size();
  read();
  return findings.complaints.size() == before;
}

void read_model_part(const Node& root, Question& question) {
  const auto document = open_reference(root.child("model"), kModels);
  if (document) question.model = read_model(document->root(root.findings()), document->name);
}

void read_runtime_part(const Node& root, Question& question) {
  constexpr std::string_view kDefaultRuntime = "megatron-core";
  const bool stated = root.has("runtime");
  if (!stated) root.findings().notes.defaulted.push_back(root.child("runtime").pointer());
  const auto document = stated ? open_reference(root.child("runtime"), kRuntimes)
                               : open_named(root.child("runtime"), kRuntimes, std::string(kDefaultRuntime));
  if (document) question.runtime = read_runtime(document->root(root.findings()));
}

/// Reads the parts that a search cannot choose, and the stated ones of those that it can.
Question read_parts(const Node& root, const std::string& document_name, Sound& sound) {
  Findings& findings = root.findings();
  root.allow_only({"name",        "model",     "cluster",  "gpus",          "profile",    "runtime",
                   "parallelism", "moe",       "schedule", "batch",         "precision",  "precision_recipe",
                   "recompute",   "attention", "dropout",  "cuda_graphs",   "compile",    "optimizer",
                   "overlap",     "offload",   "run",      "imperfections", "stragglers", "source",
                   "notes",       "training"});
  Question question;
  question.file = root.source().file;
  question.name = printable(root.text_or("name", document_name.empty() ? "unnamed scenario" : document_name));
  sound.model = is_sound(findings, [&] { read_model_part(root, question); });
  std::optional<Document> cluster;
  sound.cluster = is_sound(findings, [&] { cluster = read_cluster_part(root, question); });
  if (!sound.cluster) cluster.reset();
  sound.gpus = is_sound(findings, [&] { question.choices.gpus = static_cast<int>(root.whole("gpus", kGpuCount)); });
  sound.profile = is_sound(findings, [&] { read_profile_part(root, cluster, question); }) && sound.cluster;
  read_runtime_part(root, question);
  sound.parallelism = is_sound(findings, [&] { read_parallelism(root, question); });
  read_routing(root, question);
  sound.batch = is_sound(findings, [&] { read_batch(root, question); });
  read_precision(root, question);
  lend_wide_products(question);
  read_recompute(root, question);
  read_attention(root, question);
  read_execution(root, question);
  read_training(root, question);
  read_optimizer(root, question);
  read_run(root, question);
  read_overlap(root, question);
  read_offload(root, question);
  return question;
}

/// Recognises the config.json of a model where a scenario is expected.
void refuse_model_config(const Node& root) {
  if (root.has("model") || !(root.has("model_type") || root.has("architectures"))) return;
  root.complain(fmt::format(
      "the config of a model, not a scenario; a scenario names a model, a cluster, its GPUs and a batch; try "
      "foretoken simulate --model {} --cluster dgx-h100-ndr --gpus 64",
      root.source().file));
}

Made read_scenario(const Document& document, Findings& findings) {
  const Node root = document.root(findings);
  refuse_model_config(root);
  findings.throw_if_wrong();
  Sound sound;
  Question question = read_parts(root, document.name, sound);
  read_stragglers(root, question);
  if (sound.parallelism) sound.schedule = is_sound(findings, [&] { read_schedule(root, question); });
  question.notes = findings.notes;
  job::Attempt attempt = job::attempt(question, sound);
  findings.complaints.append(attempt.complaints);
  // Imperfections are checked against the GPUs, nodes and links of a job that is otherwise right.
  findings.throw_if_wrong();
  if (const auto imperfections = root.find_object("imperfections")) {
    question.imperfections = read_imperfections(*imperfections, attempt.made->job);
    findings.throw_if_wrong();
    question.notes = findings.notes;
    attempt = job::attempt(question);
  }
  findings.throw_if_wrong();  // imperfections that are no object
  return std::move(*attempt.made);
}

OpenScenario read_open(const Document& document, Findings& findings) {
  const Node root = document.root(findings);
  refuse_model_config(root);
  findings.throw_if_wrong();
  Sound sound;
  Question question = read_parts(root, document.name, sound);
  read_schedule(root, question);
  if (root.has("imperfections"))
    root.complain("imperfections", "expected none: a search needs equal hardware; try --set imperfections=null");
  if (root.has("stragglers") && root.child("stragglers").value() != false)
    root.complain("stragglers", "expected none: a search needs equal hardware; try --set stragglers=null");
  if (!question.pools.empty())
    root.complain("cluster", "expected nodes of one kind: a search does not split stages over groups of nodes");
  for (Complaint& complaint : job::wrong_for_any_choice(question)) findings.complaints.push_back(std::move(complaint));
  findings.throw_if_wrong();
  question.notes = std::move(findings.notes);
  return OpenScenario(std::move(question), document, std::move(findings.files));
}

/// Returns the name of a reference: a name, or the base or name of an object.
std::string name_of_reference(const nlohmann::json& document, const char* key) {
  if (!document.is_object() || !document.contains(key)) return "";
  const nlohmann::json& value = document.at(key);
  if (value.is_string()) return value.get<std::string>();
  for (const char* const part : {"base", "name"})
    if (value.is_object() && value.contains(part) && value.at(part).is_string())
      return value.at(part).get<std::string>();
  return "";
}

/// Returns true when an override states `key` or an object that it is in.
bool is_set(std::span<const std::string> sets, std::string_view key) {
  return std::any_of(sets.begin(), sets.end(), [&](std::string_view set) {
    const std::string_view stated = set.substr(0, set.find('='));
    return stated == key || (key.starts_with(stated) && key.substr(stated.size()).starts_with('.'));
  });
}

/// Applies overrides. A price belongs to the cluster that it was stated with, so an override of the cluster leaves it
/// out, unless another override states a price.
void apply_sets(nlohmann::json& value, std::span<const std::string> sets, Findings& findings) {
  static const nlohmann::json::json_pointer kPrice("/run/price_per_gpu_hour");
  const std::string cluster = name_of_reference(value, "cluster");
  for (const std::string& assignment : sets) apply_set(value, assignment, findings);
  const std::string other = name_of_reference(value, "cluster");
  if (cluster.empty() || other.empty() || other == cluster || is_set(sets, "run.price_per_gpu_hour")) return;
  if (!value.contains(kPrice) || !value.at(kPrice).is_number()) return;
  findings.notes.warnings.push_back(
      fmt::format("the scenario's price of {} per GPU hour belongs to cluster {}, and is left out; state "
                  "run.price_per_gpu_hour",
                  value.at(kPrice).dump(), printable(cluster)));
  value["run"].erase("price_per_gpu_hour");
}

/// Returns the document with its bases and overrides. Throws when a file or an override is wrong.
Document complete(std::optional<Document> document, std::span<const std::string> sets, Findings& findings) {
  if (const auto wrong = wrong_data_folder()) findings.complaints.push_back({"FORETOKEN_DATA", "", *wrong});
  if (document) document = with_bases(std::move(*document), kScenarios, findings);
  findings.throw_if_wrong();
  document->source.notes_defaults = true;
  apply_sets(document->value, sets, findings);
  findings.throw_if_wrong();
  return std::move(*document);
}

Document scenario_document(const fs::path& path, std::span<const std::string> sets, const ScriptVariables& variables,
                           Findings& findings) {
  std::error_code error;
  if (launch::is_launch_file(path) && fs::exists(path, error))
    return complete(launch_document(path, sets, variables, findings), sets, findings);
  if (!variables.empty())
    findings.complaints.push_back({printable(path.string()), "",
                                   "--env states variables of a launch script, and this is a scenario; try --set "
                                   "KEY=VALUE"});
  if (fs::exists(path, error) || is_path(path.string())) {
    std::optional<Document> document = document_from_file(path, findings);
    if (document && launch::is_launch_document(document->value))
      document = launch_document(path, sets, variables, findings);
    return complete(std::move(document), sets, findings);
  }
  const auto named = find_data_file(kScenarios, path.string());
  if (!named) findings.complaints.push_back({printable(path.string()), "", unknown_name(kScenarios, path.string())});
  findings.throw_if_wrong();
  note_hidden(kScenarios, path.string(), *named);
  return complete(document_from_file(*named, findings), sets, findings);
}

Document scenario_document(std::string_view text, const std::string& origin, std::span<const std::string> sets,
                           Findings& findings) {
  return complete(document_from_text(text, origin, findings), sets, findings);
}

/// Reads a document. Complaints about an override name it.
template <class Read>
auto naming_sets(const Document& document, std::span<const std::string> sets, Read read) {
  try {
    return read();
  } catch (const ConfigError& error) {
    throw ConfigError(named_by_sets(error.complaints(), document.source.file, sets));
  }
}

/// The files that a reading opens, up to the first mistake that ends it.
template <class DocumentOf>
std::vector<ReadFile> files_of(DocumentOf document_of) {
  Findings findings;
  try {
    const Document document = document_of(findings);
    Sound sound;
    const Node root = document.root(findings);
    Question question = read_parts(root, document.name, sound);
    read_schedule(root, question);
  } catch (const ConfigError&) {  // is said by the reading that counts
  }
  return findings.files;
}

std::string text_of(Document document) {
  inline_files(document.value, document.source.folder);
  anchor_references(document.value, document.source.folder);
  return document.value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::vector<ReadFile> files_of_scenario(const fs::path& path, std::span<const std::string> sets,
                                        const ScriptVariables& variables) {
  return files_of([&](Findings& findings) { return scenario_document(path, sets, variables, findings); });
}

std::vector<ReadFile> files_of_scenario(std::string_view text, const std::string& origin,
                                        std::span<const std::string> sets) {
  return files_of([&](Findings& findings) { return scenario_document(text, origin, sets, findings); });
}

std::string merged_scenario_file(const fs::path& path, std::span<const std::string> sets,
                                 const ScriptVariables& variables) {
  Findings findings;
  return text_of(scenario_document(path, sets, variables, findings));
}

std::string merged_scenario_text(std::string_view text, const std::string& origin, std::span<const std::string> sets) {
  Findings findings;
  return text_of(scenario_document(text, origin, sets, findings));
}

Made read_scenario_file(const fs::path& path, std::span<const std::string> sets, const ScriptVariables& variables) {
  Findings findings;
  const Document document = scenario_document(path, sets, variables, findings);
  return naming_sets(document, sets, [&] { return read_scenario(document, findings); });
}

Made read_scenario_text(std::string_view text, const std::string& origin, std::span<const std::string> sets) {
  Findings findings;
  const Document document = scenario_document(text, origin, sets, findings);
  return naming_sets(document, sets, [&] { return read_scenario(document, findings); });
}

OpenScenario read_open_scenario_file(const fs::path& path, std::span<const std::string> sets,
                                     const ScriptVariables& variables) {
  Findings findings;
  const Document document = scenario_document(path, sets, variables, findings);
  return naming_sets(document, sets, [&] { return read_open(document, findings); });
}

OpenScenario read_open_scenario_text(std::string_view text, const std::string& origin,
                                     std::span<const std::string> sets) {
  Findings findings;
  const Document document = scenario_document(text, origin, sets, findings);
  return naming_sets(document, sets, [&] { return read_open(document, findings); });
}

}  // namespace foretoken::io
