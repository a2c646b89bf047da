// Reads the files below an experiment of Primus.
//
// Layout: AMD-AGI/Primus, primus/configs/{models,modules}/megatron.
#include "sim/io/import/launch/megatron/primus_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/primus_configs.h"

namespace foretoken::io::launch::megatron {
namespace {

namespace fs = std::filesystem;

constexpr std::array kListsOfFiles = {"extends", "includes", "bases"};

// Returns the path of a file below primus/configs/KIND.
fs::path path_below(const std::string& name) { return ("megatron" / fs::path(name)).lexically_normal(); }

}  // namespace

void flatten(const Json& section, Json& keys) {
  for (const auto& [key, value] : section.items()) {
    if (value.is_object())
      flatten(value, keys);
    else
      keys[key] = value;
  }
}

void put_on_top(Json section, Json& keys) {
  const auto adapter = section.find(kAdapter);
  if (adapter != section.end() && adapter->is_object()) {
    if (!keys.contains(kAdapter)) keys[kAdapter] = Json::object();
    keys[kAdapter].update(*adapter);
    section.erase(kAdapter);
  }
  flatten(section, keys);
}

bool lists_defaults(const std::string& file) {
  constexpr std::string_view kLists[] = {"trainer_base.yaml",  "module_base.yaml",    "primus_megatron_module.yaml",
                                         "primus_turbo.yaml",  "zero_bubble.yaml",    "primus_pipeline.yaml",
                                         "torch_compile.yaml", "language_model.yaml", "primus_megatron_model.yaml"};
  return std::ranges::find(kLists, fs::path(file).filename().string()) != std::end(kLists);
}

PrimusFiles::PrimusFiles(const fs::path& experiment, const Environment& environment, Report& report)
    : experiment_(experiment), environment_(environment), report_(report) {}

void PrimusFiles::note_absent(const std::string& kind, const std::string& name) {
  const std::string shown = printable(name, 80);
  if (!chain_.empty())
    report_.approximate(shown, "a file that others extend is not there; its settings are unknown");
  else
    report_.refuse(shown, "the file that the experiment names is not in primus/configs/" + kind + "/megatron");
  // The file that the experiment names extends the trainer's own settings; those extend the ones of any program.
  if (chain_.size() < 2) absent_ += (absent_.empty() ? "" : ", ") + shown;
}

bool PrimusFiles::may_read(const std::string& file) {
  constexpr std::size_t kLongestChain = 9;  // bounds of ours: they end the reading of a tree without an end
  constexpr int kMostFiles = 100;
  if (asked_for_ > kMostFiles) return false;
  const std::string shown = printable(file, 80);
  const std::string chain = printable(fmt::format("{}, {}", fmt::join(chain_, ", "), file), 200);
  if (++asked_for_ > kMostFiles)
    report_.refuse("extends", fmt::format("the experiment names more than {} files with those that they extend; {} "
                                          "and the rest are not read",
                                          kMostFiles, shown));
  else if (std::ranges::find(chain_, file) != chain_.end())
    report_.refuse(shown, "the file extends itself: " + chain);
  else if (chain_.size() >= kLongestChain)
    report_.refuse(shown,
                   fmt::format("a chain of more than {} files that extend each other: {}", kLongestChain, chain));
  else
    return true;
  return false;
}

void PrimusFiles::put(const std::string& kind, const std::string& name, Basis& basis) {
  const std::string file = path_below(name).generic_string();
  if (name.empty() || !may_read(file)) return;
  auto own = primus_config(experiment_, kind, path_below(name), environment_);
  if (!own) return note_absent(kind, name);
  chain_.push_back(file);
  for (const char* list : kListsOfFiles) {
    if (!own->contains(list) || !own->at(list).is_array()) continue;
    for (const Json& base : own->at(list))
      if (base.is_string()) put(kind, base.get<std::string>(), basis);
  }
  chain_.pop_back();
  for (const char* list : kListsOfFiles) own->erase(list);
  Json keys = Json::object();
  put_on_top(*own, keys);
  for (const auto& [key, value] : keys.items()) basis.files[key] = name;
  put_on_top(std::move(*own), basis.keys);
}

}  // namespace foretoken::io::launch::megatron
