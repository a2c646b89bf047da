// Reads experiments of FlagScale.
//
// Layout: FlagOpen/FlagScale, examples/*/conf/*.yaml; counts of GPUs: flagscale/runner/runner_train.py.
#include "sim/io/import/launch/megatron/flagscale.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <system_error>

#include "sim/base/text.h"
#include "sim/io/import/launch/megatron/key_files.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::megatron {
namespace {

namespace fs = std::filesystem;

const Json* section_of(const Json& document, std::initializer_list<const char*> keys) {
  const Json* place = &document;
  for (const char* key : keys) {
    if (!place->is_object() || !place->contains(key)) return nullptr;
    place = &place->at(key);
  }
  return place;
}

std::string text_in(const Json& document, std::initializer_list<const char*> keys) {
  const Json* const found = section_of(document, keys);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

// "defaults: [_self_, {train: 7b}]" names train/7b.yaml.
std::string name_of_training(const Json& document) {
  for (const Json& one : document.at("defaults"))
    if (one.is_object() && one.contains("train") && one.at("train").is_string())
      return one.at("train").get<std::string>();
  return "";
}

std::optional<Json> training_beside(const fs::path& experiment, const std::string& name) {
  const fs::path inside = fs::path("train") / (name + (name.ends_with(".yaml") ? "" : ".yaml"));
  const fs::path plain = inside.lexically_normal();
  if (name.empty() || plain.is_absolute() || plain.begin()->string() != "train") return std::nullopt;
  std::error_code error;
  const fs::path file = experiment.parent_path() / plain;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  Findings unread;
  const auto text = read_text_file(file, file.string(), unread);
  auto document = text ? read_yaml(*text, file.string(), unread) : std::nullopt;
  return document && document->is_object() ? document : std::nullopt;
}

// The experiments of 2024 state the task as a text, and what it needs beside it: "task: train", "backend: megatron",
// "hostfile: null" (flagscale/launcher/runner.py of then, SSHRunner).
bool is_older(const Json& document) {
  const Json* const task = section_of(document, {"experiment", "task"});
  return task != nullptr && task->is_string();
}

// A node has the processes of nproc_per_node, but no more than visible devices. Without a list of hosts FlagScale
// starts one node, whatever nnodes says.
void map_runner(const Json& document, Report& report) {
  const auto each = whole_of(text_in(document, {"experiment", "runner", "nproc_per_node"}));
  const std::string devices = text_in(document, {"experiment", "envs", "CUDA_VISIBLE_DEVICES"});
  const std::string hosts = is_older(document) ? text_in(document, {"experiment", "hostfile"})
                                               : text_in(document, {"experiment", "runner", "hostfile"});
  const auto stated = whole_of(text_in(document, {"experiment", "runner", "nnodes"}));
  const bool listed = !hosts.empty() && hosts != "null" && hosts != "None";
  if (listed && !stated) return report.ask("gpus", "the nodes stand in " + printable(hosts, 80));
  if (!listed && stated && *stated != 1)
    return report.ask("gpus", fmt::format("nnodes is {}, but without a hostfile FlagScale starts one node", *stated));
  const std::int64_t nodes = stated.value_or(1);
  const std::int64_t visible = devices.empty() ? kMostCount : 1 + std::ranges::count(devices, ',');
  const std::int64_t processes = std::min(each.value_or(kMostCount), visible);
  if (processes < 1 || nodes < 1 || processes >= kMostCount || nodes > kMostCount) return;
  report.map("gpus", nodes * processes,
             processes == each ? "experiment.runner" : "experiment.envs.CUDA_VISIBLE_DEVICES");
}

void refuse_whole(const std::string& setting, const std::string& because, Report& report) {
  report.refuse(setting, because);
  report.unread = true;
}

}  // namespace

bool is_flagscale_experiment(const Json& document) {
  const Json* const task = section_of(document, {"experiment", "task"});
  const bool older = is_older(document) && section_of(document, {"experiment", "entrypoint"}) != nullptr;
  return task != nullptr && (task->is_object() || older) && document.contains("defaults") &&
         document.at("defaults").is_array();
}

void read_flagscale_experiment(const Json& document, const fs::path& path, const Environment& environment,
                               std::optional<std::int64_t> gpus, Report& report) {
  report.framework = "FlagScale";
  const bool older = is_older(document);
  const std::string type =
      older ? text_in(document, {"experiment", "task"}) : text_in(document, {"experiment", "task", "type"});
  const std::string backend =
      older ? text_in(document, {"experiment", "backend"}) : text_in(document, {"experiment", "task", "backend"});
  if (!type.empty() && type != "train")
    return refuse_whole("experiment.task.type", "an experiment that does not train: " + printable(type, 40), report);
  if (!backend.empty() && backend != "megatron")
    return refuse_whole("experiment.task.backend", "no training of Megatron-LM: " + printable(backend, 40), report);
  const std::string name = name_of_training(document);
  auto training = training_beside(path, name);
  if (!training)
    return refuse_whole("train: " + printable(name, 60),
                        "the file that the experiment names is not beside it: train/" + printable(name, 60) + ".yaml",
                        report);
  put_environment(environment, *training);
  // Words of the command line stand in the experiment: train.model.micro_batch_size=2.
  if (const Json* const own = section_of(document, {"train"}); own != nullptr && own->is_object())
    training->merge_patch(*own);
  (*training)["experiment"] = document.at("experiment");
  resolve_references(*training);
  training->erase("experiment");
  read_yaml_arguments(*training, report);
  report.framework = "Megatron-LM by FlagScale";
  if (gpus) return;
  std::erase_if(report.asked, [](const Asked& one) { return one.key == "gpus"; });
  map_runner(document, report);
  if (!report.has("gpus") && std::ranges::none_of(report.asked, [](const Asked& one) { return one.key == "gpus"; }))
    report.ask("gpus", "the experiment does not state its GPUs");
}

}  // namespace foretoken::io::launch::megatron
