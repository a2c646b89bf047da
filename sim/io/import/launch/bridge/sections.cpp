// Sorts settings by the section of a ConfigContainer in which they stand.
//
// Sections: NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/training/config.py, class ConfigContainer.
#include "sim/io/import/launch/bridge/sections.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/harmless.h"
#include "sim/io/import/launch/tuning/tuning_keys.h"

namespace foretoken::io::launch::bridge {
namespace {

constexpr std::string_view kOfContainer[] = {"train",
                                             "validation",
                                             "model",
                                             "optimizer",
                                             "optimizer_config_override_provider",
                                             "scheduler",
                                             "dataset",
                                             "dist",
                                             "ddp",
                                             "ft",
                                             "straggler",
                                             "nvrx_straggler",
                                             "profiling",
                                             "rng",
                                             "rerun_state_machine",
                                             "logger",
                                             "checkpoint",
                                             "tokenizer",
                                             "mixed_precision",
                                             "comm_overlap",
                                             "peft",
                                             "inprocess_restart",
                                             "tensor_inspect",
                                             "energy_monitor"};
constexpr const char* kBesideContainer = "a section beside the container; no word of the name is about time or memory";

// Returns true for a variable in a section named after them: ENV_VARS.NCCL_DEBUG. scripts/moe_model_zoo of
// Megatron-Bridge exports such a section.
bool is_variable(const std::string& section, const std::string& name) {
  const auto words = words_of_name(section);
  const bool of_environment = std::ranges::any_of(
      words, [](const std::string& word) { return word == "env" || word == "envs" || word == "environment"; });
  return of_environment && std::ranges::none_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '.'; });
}

// Source: src/megatron/bridge/models, providers of qwen_vl, gemma_vl, nemotron_vl and qwen_omni.
bool is_of_other_inputs(const std::string& word) {
  constexpr std::string_view kInputs[] = {"vision", "image", "video", "audio", "sound", "multimodal", "vit"};
  return std::ranges::find(kInputs, word) != std::end(kInputs);
}

constexpr std::string_view kFirstEnd = "_config";

void respell(std::string_view section, std::string& text) {
  const std::string begin = std::string(section) + ".";
  for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    const bool inside = at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_' ||
                                   text[at - 1] == '.');
    if (!inside) text.insert(at + section.size(), kFirstEnd);
  }
}

}  // namespace

// The file conf/llama3_8b_pretrain_override_example.yaml of examples/llm/llama3_8b has such names at commit 03e285a6;
// the class has those of today since src/megatron/hub/training/config.py at commit 16286bb3.
std::vector<std::string> rename_first_sections(Json& document) {
  std::vector<std::string> renamed;
  if (!document.is_object()) return renamed;
  Json sections = Json::object();
  for (const auto& [key, value] : document.items()) {
    const std::string_view stem = std::string_view(key).substr(0, key.size() - std::min(key.size(), kFirstEnd.size()));
    const bool first = key.ends_with(kFirstEnd) && value.is_object() && !document.contains(std::string(stem)) &&
                       std::ranges::find(kOfContainer, stem) != std::end(kOfContainer);
    if (first) renamed.emplace_back(stem);
    sections[first ? std::string(stem) : key] = value;
  }
  document = std::move(sections);
  return renamed;
}

void respell_first_sections(const std::vector<std::string>& sections, Report& report) {
  for (const std::string& section : sections) {
    for (Mapped& one : report.mapped) respell(section, one.from);
    for (Assumed& one : report.assumed)
      if (one.value.empty()) respell(section, one.key);
    for (Ignored& one : report.ignored) respell(section, one.setting), respell(section, one.from);
    for (Refused& one : report.refused) respell(section, one.setting), respell(section, one.from);
    for (Asked& one : report.asked) respell(section, one.because);
    for (std::string& one : report.read) respell(section, one);
  }
}

void pass_over_sections_beside(const Settings& settings) {
  for (const auto& [key, value] : settings.leaves()) {
    const std::size_t dot = key.find('.');
    if (dot == key.npos || settings.was_asked(key)) continue;
    const std::string section = key.substr(0, dot);
    if (std::ranges::find(kOfContainer, section) != std::end(kOfContainer)) continue;
    const bool variable = is_variable(section, key.substr(dot + 1));
    if (!variable && names_something_costly(key)) continue;
    (void)settings.at(key);
    if (variable)
      settings.report().ignore(printable(key, 80), "");
    else
      settings.report().approximate(printable(key, 80), kBesideContainer);
  }
}

void refuse_multimodal(const Settings& settings) {
  constexpr std::string_view kModel = "model.";
  for (const auto& [key, value] : settings.leaves()) {
    if (!key.starts_with(kModel) || value->is_null() || settings.was_asked(key)) continue;
    const auto words = words_of_name(std::string_view(key).substr(kModel.size()));
    const bool other = std::ranges::any_of(words, is_of_other_inputs);
    if (!other && key != "model.freeze_language_model") continue;
    (void)settings.at(key);
    settings.report().refuse(printable(key, 80), tuning::kMultimodal);
  }
}

}  // namespace foretoken::io::launch::bridge
