// Reads the defaults of a submission's variables.
#include "sim/io/import/launch/mlperf/defaults.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::mlperf {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestConfig = 1 << 20;

// ${oc.env:NAME,DEFAULT}; a default that is itself an expression is left out. ${oc.env:NAME} ties a key, too.
void add_yaml_defaults(const std::string& text, const std::string& file, Defaults& defaults) {
  for (std::size_t at = text.find(kReadMark); at != text.npos; at = text.find(kReadMark, at + 1)) {
    const std::size_t begin = at + kReadMark.size();
    const std::size_t comma = text.find_first_of(",}\n", begin);
    if (comma == text.npos || text[comma] == '\n') continue;
    defaults.emplace(text.substr(at, comma - at), Default{"", file});
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

// "optim:" with "name: fused_adam" as its first key, and its switches of overlaps. A value that is an expression ties
// the key to a variable.
void add_optimizer(const std::string& text, const std::string& file, Defaults& defaults) {
  constexpr std::string_view kSection = "optim:\n", kName = "name:";
  const std::size_t section = text.find(kSection);
  if (section == text.npos || (section > 0 && text[section - 1] != ' ' && text[section - 1] != '\n')) return;
  const std::size_t key = text.find_first_not_of(' ', section + kSection.size());
  if (key == text.npos || text.compare(key, kName.size(), kName) != 0) return;
  const std::size_t begin = text.find_first_not_of(' ', key + kName.size());
  if (begin == text.npos) return;
  const auto word_at = [&](std::size_t at) { return text.substr(at, text.find_first_of(" \r\n", at) - at); };
  defaults.emplace("optim.name", Default{word_at(begin), file});
  for (const std::string_view stated : {kGradSyncKey, kParamSyncKey}) {
    const std::string line = "\n" + text.substr(text.rfind('\n', key) + 1, key - text.rfind('\n', key) - 1) +
                             std::string(stated.substr(stated.find('.') + 1)) + ": ";
    const std::size_t at = text.find(line, key);
    if (at == text.npos) continue;
    const std::string value = word_at(at + line.size());
    if (switch_of(value)) defaults.emplace(stated, Default{value, file});
  }
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

// A value that NVIDIA's conf/megatron_gpt_peft_tuning_config.yaml takes for a variable that no script sets.
struct RoundDefault {
  std::string_view rounds, name, value;
};
/// Source: mlcommons/training_results_v4.0 (NVIDIA/benchmarks/llama2_70b_lora/implementations/nemo), v4.1
/// (eos_n8_ngc24.09_nemo), v5.0 (nyx_n1_ngc25.04_nemo) and v5.1 (nemo). Weights are in fp8 wherever fp8 is on, but for
/// round 5.1, which has no fp8_params.
constexpr RoundDefault kLoraDefaults[] = {
    {"4.0", "optim.name", "fused_adam"},
    {"4.1", "optim.name", "mcore_distributed_optim"},
    {"4.0 4.1 5.0", "fp8_params", "FP8"},
    {"5.1", "FP8_PARAM_GATHER", "False"},
    {"5.0 5.1", "FP8", "True"},
    {"5.0 5.1", "CP_COMM_TYPE", "a2a"},
    {"5.0 5.1", "CPU_OFFLOADING_NUM_LAYERS", "20"},
    {"5.0 5.1", "DDP_OVERLAP_GRAD_REDUCE", "False"},
    {"5.0 5.1", "DDP_OVERLAP_PARAM_GATHER", "False"},
    {"5.0 5.1", "USE_DISTRIBUTED_OPTIMIZER", "True"},
    {"5.1", "CUDA_GRAPH_SCOPE", "full_iteration"},
};

/// Variables that only the conf/ of a round reads. The first round of which the script sets one counts.
struct RoundMarks {
  std::string_view round;
  std::initializer_list<const char*> variables;
};
const RoundMarks kRoundMarks[] = {
    {"5.1", {"FP8_PARAM_GATHER", "HEALING_ITER", "PRE_QUANTIZED_MODEL", "FP4", "RECOMPUTE_GRANULARITY"}},
    {"5.0", {"FP8_ACT", "MCORE_CUDA_GRAPH", "CP_EVAL", "VAL_MBS", "LOAD_CKPT"}},
    {"4.0", {"FP8_ACTIVATION", "LORA_A2A", "LORA_DIM", "ACG"}}};

// "5.0" of "training_results_v5.1/A/../XD670_v5.0/config.sh": the nearest folder tells whose code runs.
std::string round_in(const std::string& path) {
  constexpr std::string_view kBegin = "_v", kDigits = "0123456789";
  const auto is_digit = [&](std::size_t at) { return at < path.size() && kDigits.find(path[at]) != kDigits.npos; };
  for (std::size_t at = path.rfind(kBegin); at != path.npos && at > 0; at = path.rfind(kBegin, at - 1)) {
    const std::size_t begin = at + kBegin.size();
    if (is_digit(begin) && path.compare(begin + 1, 1, ".") == 0 && is_digit(begin + 2) && path[begin] >= '4')
      return path.substr(begin, 3);
  }
  return "";
}

std::string round_of_variables(const shell::Script& script) {
  for (const RoundMarks& marks : kRoundMarks)
    for (const char* name : marks.variables)
      if (script.variables.find(name) != nullptr) return std::string(marks.round);
  return "";
}

// Source: mlcommons/training_results_v5.0, AMD/benchmarks/llama2_70b_lora/implementations/MI300X_EPYC_9575F_pytorch,
// and v5.1 (4da2d1cd), MI325X_EPYC_9575F_pytorch_llama2_70b, both src/conf/megatron_gpt_peft_tuning_config.yaml. In 5.1
// the name of the optimizer depends on trainer.num_nodes. Other rounds are taken as the nearer of the two.
void add_defaults_of_amd(const std::string& round, const shell::Script& script, Defaults& defaults) {
  const std::string known = round > "5.0" ? "5.1" : "5.0";
  std::string taken;
  if (round.empty())
    taken = ", as nothing names the round";
  else if (round != known)
    taken = ", taken for " + round;
  const std::string from = "AMD's configuration of round " + known + taken + ", as no conf/ is here";
  const shell::Texts* const nodes = script.variables.find("DGXNNODES");
  const bool several = nodes != nullptr && nodes->size() == 1 && whole_of(nodes->front()).value_or(1) > 1;
  defaults.emplace("optim.name", Default{known == "5.1" && several ? "mcore_distributed_optim" : "fused_adam", from});
  defaults.emplace("fp8_params", Default{"FP8", from});
}

}  // namespace

std::string_view amd_gpu_in(const fs::path& file) {
  constexpr std::string_view kGpus[] = {"MI250", "MI300", "MI325", "MI350", "MI355"};
  const std::string name = file.filename().string();
  const auto found = std::ranges::find_if(kGpus, [&](auto gpu) { return name.find(gpu) != name.npos; });
  return found == std::end(kGpus) ? std::string_view() : *found;
}

void add_lora_defaults(const std::string& path, const shell::Script& script, Defaults& defaults) {
  const bool there = std::ranges::any_of(defaults, [](const auto& one) {
    return one.second.from.starts_with("conf/") && one.second.from.find("peft") != std::string::npos;
  });
  if (there) return;
  if (!amd_gpu_in(path).empty()) return add_defaults_of_amd(round_in(path), script, defaults);
  std::string round = round_in(path), known_by = "by its folder";
  if (round.empty()) {
    round = round_of_variables(script);
    known_by = "by its variables";
  }
  // Weights in fp8 are the value of most rounds.
  if (round.empty()) {
    round = "5.0";
    known_by = "taken where nothing names the round";
  }
  if (round > "5.1") {
    known_by = "the latest known before " + round;
    round = "5.1";
  }
  for (const RoundDefault& one : kLoraDefaults)
    if (one.rounds.find(round) != one.rounds.npos)
      defaults.emplace(one.name, Default{std::string(one.value), "NVIDIA's configuration of round " + round + " (" +
                                                                     known_by + "), as no conf/ is here"});
}

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
