// Finds the benchmark of a submission.
//
// Names: mlcommons/training_results_v3.0 to v6.0.
#include "sim/io/import/launch/mlperf/benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/names/overridden_model.h"

namespace foretoken::io::launch::mlperf {
namespace {

struct Benchmark {
  std::string_view folder, model;
  std::int64_t layers = 0;
  std::int64_t sequence = 0;    ///< 0: a variable states it
  std::int64_t vocabulary = 0;  ///< 0: the model's own
};
/// Sequences: mlcommons/training, large_language_model and llama rules. Dropout is 0 in every conf (custom.yaml). The
/// benchmark of gpt-oss reads the text of Llama 3.1's: vocab_size of gpt_oss_20b/implementations/nemo/pretrain.py.
constexpr Benchmark kBenchmarks[] = {
    {"llama31_405b", "llama-3-405b", 126, 8192},  {"llama31_8b", "llama-3-8b", 32, 8192},
    {"llama3_8b", "llama-3-8b", 32, 8192},  // of HPE, round 5.1
    {"llama2_70b_lora", "llama-2-70b", 80, 8192}, {"gpt3", "gpt3-175b", 96, 2048},
    {"gpt_oss", "gpt-oss-20b", 24, 0, 128256},    {"gpt-oss", "gpt-oss-20b", 24, 0, 128256}};
constexpr std::string_view kLora = "llama2_70b_lora";

/// Folders of benchmarks whose programs are others. Source: mlcommons/training_results_v0.5 to v6.0.
constexpr std::string_view kOtherBenchmarks[] = {
    "bert", "dlrm",      "flux", "gnn", "graph_neural_network", "gnmt",        "maskrcnn", "minigo", "ncf", "resnet",
    "rgat", "retinanet", "rnnt", "ssd", "stable_diffusion",     "transformer", "unet3d",   "unet"};
/// DeepSeek-V3 of round 6.0. Its activations are stashed in pages, and its layout cuts layers of multi-token
/// prediction.
constexpr std::string_view kDeepSeekFolder = "deepseek", kSizeOfDeepSeek = "671b";

// The variable of encoder_seq_length in conf/ counts, whatever its name is.
void map_sequence(const Settings& settings, std::int64_t of_benchmark, Report& report) {
  const auto tied = settings.find({kLengthKey});
  const std::string names = tied ? tied->value + " is not set" : "neither MAX_SEQLEN nor SEQ_LEN is set";
  const auto length = tied ? settings.find({tied->value}) : settings.find({"MAX_SEQLEN", "SEQ_LEN"});
  const auto tokens = length ? whole_of(length->value) : std::nullopt;
  if (tokens && *tokens > 0)
    write(report, "batch.sequence_length", *tokens, *length);
  else if (of_benchmark == 0)
    report.ask("batch.sequence_length", names + "; state it with --seq N");
  else
    report.assume("batch.sequence_length", of_benchmark, "rules of the benchmark");
  report.assume("dropout", 0, "submissions of rounds 3.0 to 6.0 train without dropout");
}

// Sizes that conf/megatron_gpt_config_custom.yaml of gpt3 reads, rounds 3.0 to 4.1.
struct Size {
  std::string_view variable;
  std::int64_t value = 0;
};
constexpr Size kSizesOfGpt3[] = {{"HIDDEN_SIZE", 12288}, {"NUM_ATTENTION_HEADS", 96}, {"FFN_HIDDEN_SIZE", 49152}};

void check_sizes_of_gpt3(const Settings& settings, Report& report) {
  for (const Size& size : kSizesOfGpt3) {
    const auto stated = settings.find({size.variable});
    if (!stated) continue;
    if (whole_of(stated->value) != size.value)
      report.refuse(stated->from, fmt::format("the benchmark has {}; state a model of other sizes with --model and "
                                              "allow this",
                                              size.value));
  }
}

// A model with fewer layers stands for the whole one while a configuration is tried.
//
// Source: mlcommons/training_results_v5.1 (4da2d1cd): num_layers of conf/custom.yaml is read for 405b alone in
// Lambda/benchmarks/llama31_8b/implementations/gb300_0922/pretrain.py, which is NVIDIA's code, and for 8b alone in
// Cisco/benchmarks/llama31_8b/implementations/nemo/pretrain.py. So a file of 8b does not tell. LoRA of rounds 5.0
// and 5.1 reads it in train.py, gpt-oss in pretrain.py, and gpt3 reads NUM_LAYERS.
std::optional<Stated> other_layers(const Settings& settings, const std::string& model, Report& report) {
  const bool gpt3 = model == "gpt3-175b", open = model == "llama-3-8b";
  if (gpt3) check_sizes_of_gpt3(settings, report);
  const auto stated = gpt3 ? settings.find({"NUM_LAYERS"}) : settings.find({"OVERWRITTEN_NUM_LAYERS"});
  if (!stated || stated->value == "null" || (open && stated->is_default)) return std::nullopt;
  const auto layers = whole_of(stated->value);
  const auto own = std::ranges::find(kBenchmarks, model, &Benchmark::model)->layers;
  if (layers == own) return std::nullopt;
  if (!layers || *layers < 1) {
    report.refuse(stated->from, "expected a whole number from 1, found " + in_quotes(stated->value));
    return std::nullopt;
  }
  if (!open) return stated;
  report.forget("model");
  report.ask("model", fmt::format("{} is {}: pretrain.py of some submissions reads it with MODEL_SIZE 8b, with others "
                                  "the model has {} layers; state it with --model",
                                  stated->from, *layers, own));
  return std::nullopt;
}

// Puts the layers and the vocabulary of the submission over the model.
void map_sized_model(const Settings& settings, const std::string& model, std::int64_t vocabulary,
                     const std::string& from, Report& report) {
  report.map("model", model, from);
  Json overrides = Json::object();
  std::string places;
  if (vocabulary > 0) {
    overrides["vocab_size"] = vocabulary;
    places = "its vocabulary";
  }
  if (const auto layers = other_layers(settings, model, report)) {
    overrides[model == "gpt3-175b" ? "n_layer" : "num_hidden_layers"] = *whole_of(layers->value);
    places += (places.empty() ? "" : " and ") + layers->from;
  }
  if (!overrides.empty()) override_named_model(model, overrides, {.from = from, .overrides_from = places}, report);
}

bool is_llama31(const std::optional<Stated>& size) { return size && (size->value == "8b" || size->value == "405b"); }

// Adapters stand in one benchmark alone, whatever its folder is called.
const Benchmark* benchmark_of(const Settings& settings, const std::string& path, std::string& from) {
  const auto named = std::ranges::find_if(
      kBenchmarks, [&](const Benchmark& one) { return path.find(one.folder) != std::string::npos; });
  if (named != std::end(kBenchmarks)) {
    from = fmt::format("the benchmark {}", named->folder);
    return named;
  }
  const char* const kExchange = "LORA_A2A";  // 0 switches the exchange off, with or without adapters
  const auto adapter = settings.find({settings.on({kExchange}) ? kExchange : kAdapterKey});
  if (!adapter) return nullptr;
  from = adapter->from;
  return std::ranges::find(kBenchmarks, kLora, &Benchmark::folder);
}

// conf/megatron_gpt_peft_tuning_config.yaml: adapter_dim and target_modules
void map_lora(const Settings& settings, const std::string& from, Report& report) {
  const auto stated = settings.find({"LORA_DIM"});
  Adapter lora{.method = "lora", .from = from, .targets = "linear_qkv linear_proj", .runtime = "megatron-lora"};
  lora.usual_rank = 16;
  lora.usual_because = "--lora_r of mlcommons/training, llama2_70b_lora/README.md";
  if (const auto rank = stated ? whole_of(stated->value) : std::nullopt; rank && stated->is_default) {
    lora.usual_rank = *rank;
    lora.usual_because = "default of the submission: " + stated->from;
  } else if (rank) {
    lora.rank = *rank;
    lora.rank_from = stated->from;
  } else if (stated) {
    lora.own_rank = fmt::format("{} is no whole number", stated->from);
  }
  map_adapter(lora, report);
}

}  // namespace

// A default does not count where a file that may set the variable is not there.
bool map_benchmark(const Settings& settings, const std::string& path, bool incomplete, Report& report) {
  const auto size = settings.find({"MODEL_SIZE"});
  std::string from;
  const Benchmark* const benchmark = benchmark_of(settings, path, from);
  if (benchmark != nullptr) {
    const bool llama31 = benchmark->folder.starts_with("llama3");
    // Folders of the 8B benchmark also hold files of 405B.
    const bool by_size = llama31 && is_llama31(size) && !(size->is_default && incomplete);
    const std::string model = by_size ? "llama-3-" + size->value : std::string(benchmark->model);
    map_sized_model(settings, model, benchmark->vocabulary, by_size ? size->from : from, report);
    if (benchmark->folder == kLora) map_lora(settings, from, report);
    map_sequence(settings, benchmark->sequence, report);
    return true;
  }
  // The variable belongs to the benchmarks of Llama 3.1.
  if (is_llama31(size) && !size->is_default) {
    map_sized_model(settings, "llama-3-" + size->value, 0, size->from, report);
    map_sequence(settings, kBenchmarks[0].sequence, report);
    return true;
  }
  for (const char* key : {"model", "batch.sequence_length", "training.method"}) report.ask(key, kUnknownBenchmark);
  return false;
}

bool refuse_other_benchmark(const Settings& settings, const std::string& path, Report& report) {
  const auto refuse_deepseek = [&](const std::string& setting, const std::string& from) {
    report.refuse(setting,
                  "DeepSeek-V3 of MLPerf, whose experts stash activations in pages, is not read; those of gpt3, "
                  "llama and gpt_oss are",
                  from);
    return true;
  };
  if (const auto size = settings.find({"MODEL_SIZE"}); size && size->value == kSizeOfDeepSeek)
    return refuse_deepseek("deepseekv3_671b", size->from);
  constexpr std::string_view kFolder = "/benchmarks/";
  const std::size_t at = path.find(kFolder);
  if (at == path.npos) return false;
  const std::string name = path.substr(at + kFolder.size(), path.find('/', at + kFolder.size()) - at - kFolder.size());
  if (name.starts_with(kDeepSeekFolder)) return refuse_deepseek(printable(name, 60), "");
  const bool other = std::ranges::any_of(kOtherBenchmarks, [&](auto one) { return name.starts_with(one); });
  if (other)
    report.refuse(printable(name, 60),
                  "this benchmark of MLPerf has a program of its own; those of gpt3, llama and gpt_oss are read");
  return other;
}

}  // namespace foretoken::io::launch::mlperf
