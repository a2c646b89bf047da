// Reading a scenario: the files it names, then its own parts, then the rules between them.
#include "sim/io/scenario/read_scenario.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "sim/io/hardware/read_hardware.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"
#include "sim/io/json/set_value.h"
#include "sim/io/json/text.h"
#include "sim/io/model/read_model.h"
#include "sim/io/scenario/read_imperfections.h"
#include "sim/io/scenario/read_runtime.h"
#include "sim/io/scenario/scenario_parts.h"
#include "sim/io/scenario/scenario_rules.h"

namespace foretoken::io {
namespace {

namespace fs = std::filesystem;
using job::Job;
using job::Made;

constexpr WholeRange kGpuCount{.low = 1, .high = 1 << 20};

/// Runs `read` and says whether it made no complaint.
template <class Read>
bool is_sound(const Findings& findings, Read read) {
  const std::size_t before = findings.complaints.size();
  read();
  return findings.complaints.size() == before;
}

void read_model_part(const Node& root, Job& scenario) {
  const auto document = open_reference(root.child("model"), kModels);
  if (document) scenario.model = read_model(document->root(root.findings()), document->name);
}

void read_runtime_part(const Node& root, Job& scenario) {
  constexpr std::string_view kDefaultRuntime = "megatron-core";
  const bool stated = root.has("runtime");
  if (!stated) root.findings().notes.defaulted.push_back(root.child("runtime").pointer());
  const auto document = stated ? open_reference(root.child("runtime"), kRuntimes)
                               : open_named(root.child("runtime"), kRuntimes, std::string(kDefaultRuntime));
  if (document) scenario.runtime = read_runtime(document->root(root.findings()));
}

/// Everything but the rules between fields.
Job read_parts(const Node& root, const std::string& document_name, Sound& sound) {
  Findings& findings = root.findings();
  root.allow_only(
      {"name",  "model",         "cluster",          "gpus",      "profile",   "runtime", "parallelism", "schedule",
       "batch", "precision",     "precision_recipe", "recompute", "attention", "dropout", "optimizer",   "overlap",
       "run",   "imperfections", "stragglers",       "source",    "notes"});
  Job scenario;
  scenario.name = printable(root.text_or("name", document_name.empty() ? "unnamed scenario" : document_name));
  sound.model = is_sound(findings, [&] { read_model_part(root, scenario); });
  std::optional<Document> cluster;
  sound.cluster = is_sound(findings, [&] { cluster = read_cluster_part(root, scenario); });
  if (!sound.cluster) cluster.reset();
  sound.gpus = is_sound(findings, [&] { scenario.gpus = static_cast<int>(root.whole("gpus", kGpuCount)); });
  sound.profile = is_sound(findings, [&] { read_profile_part(root, cluster, scenario); }) && sound.cluster;
  read_runtime_part(root, scenario);
  sound.parallelism = is_sound(findings, [&] { read_parallelism(root, scenario); });
  sound.batch = is_sound(findings, [&] { read_batch(root, scenario); });
  read_precision(root, scenario);
  read_recompute(root, scenario);
  read_attention(root, scenario);
  read_optimizer(root, scenario);
  read_run(root, scenario);
  return scenario;
}

Made read_scenario(const Document& document, Findings& findings) {
  const Node root = document.root(findings);
  Sound sound;
  Job scenario = read_parts(root, document.name, sound);
  read_overlap(root, scenario);
  read_stragglers(root, scenario);
  apply_scenario_rules(root, sound, scenario);
  if (findings.complaints.empty()) read_imperfections(root, scenario);
  findings.throw_if_wrong();
  return {std::move(scenario), std::move(findings.notes)};
}

OpenScenario read_open(const Document& document, Findings& findings) {
  const Node root = document.root(findings);
  Sound sound;
  Job scenario = read_parts(root, document.name, sound);
  Job unused = scenario;
  if (root.has("imperfections"))
    root.complain("imperfections", "expected none: a search takes even hardware; try --set imperfections=null");
  if (root.has("stragglers") && root.child("stragglers").value() != false)
    root.complain("stragglers", "expected none: a search takes even hardware; try --set stragglers=null");
  if (!scenario.groups.empty())
    root.complain("cluster", "expected nodes of one kind: a search deals no stages out over groups of nodes");
  read_overlap(root, unused);  // what is mistyped is said now
  std::erase_if(findings.complaints, [](const Complaint& c) { return c.pointer == "/overlap/param_gather"; });
  findings.throw_if_wrong();
  return OpenScenario(std::move(scenario), document);
}

/// The document with its bases and overrides; throws when anything was found wrong on the way.
Document complete(std::optional<Document> document, std::span<const std::string> sets, Findings& findings) {
  if (const auto wrong = wrong_data_folder()) findings.complaints.push_back({"FORETOKEN_DATA", "", *wrong});
  if (document) document = with_bases(std::move(*document), kScenarios, findings);
  findings.throw_if_wrong();
  document->source.notes_defaults = true;
  for (const std::string& assignment : sets) apply_set(document->value, assignment, findings);
  findings.throw_if_wrong();
  return std::move(*document);
}

Document scenario_document(const fs::path& path, std::span<const std::string> sets, Findings& findings) {
  std::error_code error;
  if (fs::exists(path, error) || is_path(path.string()))
    return complete(document_from_file(path, findings), sets, findings);
  const auto named = find_data_file(kScenarios, path.string());
  if (!named) findings.complaints.push_back({printable(path.string()), "", unknown_name(kScenarios, path.string())});
  findings.throw_if_wrong();
  return complete(document_from_file(*named, findings), sets, findings);
}

Document scenario_document(std::string_view text, const std::string& origin, std::span<const std::string> sets,
                           Findings& findings) {
  return complete(document_from_text(text, origin, findings), sets, findings);
}

std::string text_of(Document document) {
  anchor_references(document.value, document.source.folder);
  return document.value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string merged_scenario_file(const fs::path& path, std::span<const std::string> sets) {
  Findings findings;
  return text_of(scenario_document(path, sets, findings));
}

std::string merged_scenario_text(std::string_view text, const std::string& origin, std::span<const std::string> sets) {
  Findings findings;
  return text_of(scenario_document(text, origin, sets, findings));
}

Made read_scenario_file(const fs::path& path, std::span<const std::string> sets) {
  Findings findings;
  return read_scenario(scenario_document(path, sets, findings), findings);
}

Made read_scenario_text(std::string_view text, const std::string& origin, std::span<const std::string> sets) {
  Findings findings;
  return read_scenario(scenario_document(text, origin, sets, findings), findings);
}

OpenScenario read_open_scenario_file(const fs::path& path, std::span<const std::string> sets) {
  Findings findings;
  return read_open(scenario_document(path, sets, findings), findings);
}

OpenScenario read_open_scenario_text(std::string_view text, const std::string& origin,
                                     std::span<const std::string> sets) {
  Findings findings;
  return read_open(scenario_document(text, origin, sets, findings), findings);
}

}  // namespace foretoken::io
