// Maps the facts that launches of PyTorch share.
#include "sim/io/import/launch/data_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/names/adapter_products.h"
#include "sim/io/import/launch/names/whole_modules.h"

namespace foretoken::io::launch {
namespace {

constexpr std::int64_t kMostSequences = 1 << 30;

bool holds(const std::string& text, std::string_view word) { return text.find(word) != text.npos; }

// The member of micro x accumulation x ranks = global that follows from the others.
std::optional<std::int64_t> quotient(std::int64_t whole, std::int64_t part) {
  return part > 0 && whole % part == 0 ? std::optional(whole / part) : std::nullopt;
}

// Returns "1 micro-batch", "6 micro-batches".
std::string counted(std::int64_t number, const char* one, const char* many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}
std::string micro_batches(std::int64_t number) { return counted(number, "micro-batch", "micro-batches"); }

}  // namespace

// The data ranks are what is left of a step's sequences.
void map_ranks_of_batch(const DataBatch& batch, std::int64_t replica, Report& report) {
  constexpr std::int64_t kMostRanks = 1 << 24;
  if (!batch.micro || !batch.accumulation || !batch.global || *batch.micro < 1 || *batch.accumulation < 1) return;
  if (*batch.micro > kMostSequences / *batch.accumulation) return;
  const auto ranks = quotient(*batch.global, *batch.micro * *batch.accumulation);
  if (!ranks || *ranks < 1 || replica < 1 || *ranks > kMostRanks / replica) return;
  report.map(
      "gpus", *ranks * replica,
      fmt::format("{} sequences / {} / {}, on {} each", *batch.global, *batch.micro, micro_batches(*batch.accumulation),
                  replica == 1 ? "one GPU" : fmt::format("{} GPUs", replica)));
}

void map_data_batch(const DataBatch& batch, std::optional<std::int64_t> gpus, std::int64_t replica, Report& report) {
  const std::int64_t ranks = gpus ? quotient(*gpus, replica).value_or(0) : 0;  // 0: not known
  auto micro = batch.micro;
  if (!micro && batch.global && batch.accumulation && ranks > 0 && *batch.accumulation > 0)
    micro = quotient(*batch.global, *batch.accumulation * ranks);
  if (const std::int64_t sequences = micro.value_or(0); sequences > 0)
    report.map("batch.micro", sequences, batch.from);
  else
    report.ask("batch.micro", batch.open_micro.empty() ? "the file states no micro-batch" : batch.open_micro);
  if (batch.global && *batch.global > 0) {
    report.map("batch.global", *batch.global, batch.global_from.empty() ? batch.from : batch.global_from);
    if (!gpus) map_ranks_of_batch(batch, replica, report);
    return;
  }
  if (!batch.accumulation)
    return report.ask(
        "batch.global",
        batch.open_accumulation.empty()
            ? "the file does not state the accumulation of micro-batches; state --global-batch N"
            : "the accumulation of micro-batches is open: " + batch.open_accumulation + "; state --global-batch N");
  if (*batch.accumulation < 1)
    return report.refuse(batch.accumulation_from,
                         fmt::format("expected 1 or more, found {}; correct it, or allow it and state "
                                     "--global-batch N",
                                     *batch.accumulation));
  if ((!micro || ranks == 0) && !report.asks("batch.global")) report.accumulation = *batch.accumulation;
  if (!micro)
    return report.ask("batch.global",
                      fmt::format("state --global-batch N: the sequences of a micro-batch x {} x {}",
                                  micro_batches(*batch.accumulation),
                                  ranks == 0 ? "the data ranks" : counted(ranks, "data rank", "data ranks")));
  if (ranks == 0)
    return report.ask("batch.global",
                      fmt::format("{} x {} for each data rank; it follows from --gpus",
                                  counted(*micro, "sequence", "sequences"), micro_batches(*batch.accumulation)));
  const double all =
      static_cast<double>(*micro) * static_cast<double>(*batch.accumulation) * static_cast<double>(ranks);
  if (all > kMostSequences || all < 1)
    return report.refuse(
        "batch",
        fmt::format("the sequences of a step are out of range: {} x {} x {}", counted(*micro, "sequence", "sequences"),
                    micro_batches(*batch.accumulation), counted(ranks, "data rank", "data ranks")));
  report.map("batch.global", static_cast<std::int64_t>(all),
             fmt::format("{} x {} x {}", counted(*micro, "sequence", "sequences"), micro_batches(*batch.accumulation),
                         counted(ranks, "data rank", "data ranks")));
}

void map_optimizer_name(const std::string& name, const std::string& from, Report& report) {
  const std::string lower = lower_case(name);
  for (const char* other :
       {"muon", "adafactor", "galore", "apollo", "sgd", "lomo", "onebit", "zeroone", "sophia", "shampoo", "adagrad",
        "rmsprop", "grokadamw", "ademamix", "lisa", "schedule_free", "schedulefree", "came"})
    if (holds(lower, other))
      return report.refuse(from, in_quotes(name) + " has other costs and memory than Adam", from);
  if (holds(lower, "lamb")) return report.map("optimizer.name", "lamb", from);
  report.map("optimizer.name", "adam", from);
  if (holds(lower, "8bit") || holds(lower, "8_bit") || holds(lower, "fp8") || holds(lower, "4bit"))
    report.map("precision_recipe.moments", 1, from);
  if (holds(lower, "4bit")) report.approximate(from, "a moment of 4 bits is counted as a byte");
  if (holds(lower, "lion")) {
    report.map("precision_recipe.moments", 2, from);
    report.approximate(from, "Lion has one moment of 4 bytes; two of 2 bytes take as much memory");
  }
  // States of 32 bits whatever the weights are: bitsandbytes, optim/optimizer.py, Optimizer2State.init_state.
  const bool of_library = holds(lower, "32bit") || holds(lower, "paged") || holds(lower, "bitsandbytes");
  if (of_library && !holds(lower, "lion") && !report.has("precision_recipe.moments"))
    report.map("precision_recipe.moments", "fp32", from);
  if (holds(lower, "paged")) report.approximate(from, "optimizer states are not paged to the host");
}

void map_eager_attention(const Settings& settings, Report& report) {
  constexpr std::string_view kKeys[] = {
      "attn_implementation", "attn_impl",  "attention_implementation", "attention_impl",       "attn_backend",
      "attention_backend",   "flash_attn", "eager_attention",          "_attn_implementation", "attention"};
  for (const std::string_view key : kKeys) {
    const auto stated = settings.document().find(std::string(key));  // at() would count it as read
    if (stated == settings.document().end() || !stated->is_string()) continue;
    const std::string value = lower_case(stated->get<std::string>());
    const bool eager = value == "eager" || (key == "flash_attn" && value == "disabled") ||
                       (key == "eager_attention" && switch_of(value).value_or(false));
    if (eager) report.map("attention", "unfused", settings.from({key}));
  }
}

void refuse_other_device(const Settings& settings, Report& report) {
  for (const std::string_view key : {"use_cpu", "no_cuda"})
    if (settings.on({key})) report.refuse(std::string(key), "a training on the CPU; only GPUs are modelled");
  const std::string device = lower_case(settings.text({"device"}).value_or("cuda"));
  const bool number = device.find_first_not_of("0123456789") == device.npos;  // also an empty text
  if (!number && !device.starts_with("cuda"))
    report.refuse("device", "found " + in_quotes(printable(device, 20)) +
                                "; expected GPUs of CUDA, no other kernels are modelled");
}

void map_weights_of_16_bits(const std::string& from, Report& report) {
  if (!report.has("training") && report.at("precision") == "bf16") keep_weights_of_16_bits(from, report);
}

void keep_weights_of_16_bits(const std::string& from, Report& report) {
  for (const char* part : {"weights", "gradients"}) report.map(std::string("precision_recipe.") + part, "bf16", from);
  report.map("precision_recipe.master", "none", from);
  if (!report.has("precision_recipe.moments")) report.map("precision_recipe.moments", "bf16", from);
}

void refuse_replicas(const std::string& copies, const std::string& from, Report& report) {
  report.refuse(from,
                copies +
                    " replicas of sharded weights (HSDP) are not modelled; allowed, weights are sharded over all "
                    "data ranks, with less memory and longer gathers",
                from);
}

void note_replicas(const std::string& strategy, const std::string& from, Report& report) {
  const std::string lower = lower_case(strategy);
  if (!holds(lower, "hybrid") && lower != "4" && lower != "5") return;
  report.shards_in_nodes = from;
  report.approximate(from, printable(strategy, 40) + " is that of one node: weights are sharded over all its GPUs");
}

void map_sharding(std::int64_t stage, const std::string& from, Report& report) {
  report.map("optimizer.zero_stage", stage, from);
  if (!report.has("runtime"))
    report.assume("runtime", "pytorch-fsdp", "the runtime of PyTorch with data parallelism only");
}

void ask_about_adapter(const Settings& settings, Report& report) {
  const Names kPlaces = {"adapter_name_or_path", "adapter_folder", "lora_model_dir", "lora_weight_path"};
  if (settings.text(kPlaces).value_or("").empty()) return;
  const std::string key = settings.from(kPlaces);
  for (const std::string_view name : kPlaces)
    if (settings.at(name) != nullptr) report.ignore(std::string(name), "");
  if (!settings.has({"finetuning_type"}) && !report.has("training.method"))
    report.ask("training.method", key +
                                      " names an adapter, and no argument states its method and rank; state --set "
                                      "training.method=lora and --set training.rank=N, or training.method=full");
}

void map_adapter(const Adapter& adapter, Report& report) {
  const bool narrow = adapter.base_bits == 4 || adapter.method == "qlora";
  if (adapter.method != "lora" && adapter.method != "qlora")
    return report.refuse(adapter.method, "these adapters are not modelled; LoRA and QLoRA are", adapter.from);
  if (!adapter.base_format.empty())
    report.refuse(adapter.base_format,
                  "LoRA beside frozen weights of this format is not modelled; allowed, it is LoRA "
                  "beside 16 bits",
                  adapter.from);
  const bool of_8_bits = adapter.base_bits == 8 && adapter.base_format.empty();
  const std::string& targets_from = adapter.targets_from.empty() ? adapter.from : adapter.targets_from;
  const bool of_transformers = adapter.runtime == "huggingface-trainer";
  Json targets = adapter_products(adapter.targets, targets_from, report,
                                  of_transformers ? Modules::kOfTransformers : Modules::kOwn);
  report.map("training.method", narrow ? "qlora" : of_8_bits ? "lora-int8" : "lora", adapter.from);
  if (adapter.rank)
    report.map("training.rank", *adapter.rank, adapter.rank_from.empty() ? adapter.from : adapter.rank_from);
  else if (!adapter.own_rank.empty())
    report.ask("training.rank", adapter.own_rank);
  else
    report.assume("training.rank", adapter.usual_rank, adapter.usual_because);
  // A program with a rank of its own has products of its own.
  const bool own_of_rank = !adapter.rank && !adapter.own_rank.empty() && !adapter.targets_because.empty();
  if ((own_of_rank || adapter.own_targets) && !targets.empty())
    report.ask(
        "training.targets",
        "the program decides beside which products adapters stand; state --set training.targets='[\"all-linear\"]' "
        "or others");
  else if (!targets.empty() && adapter.targets_because.empty())
    report.map("training.targets", std::move(targets), targets_from);
  else if (!targets.empty())
    report.assume("training.targets", std::move(targets), adapter.targets_because);
  map_whole_modules(adapter.whole, adapter.whole_from, report);
  report.assume("runtime", adapter.runtime, "the runtime of LoRA in this framework");
}

void ask_for_adapter(const std::string& because, const std::string& runtime, Report& report) {
  if (!report.has("training.method")) return;
  for (const char* key : {"training.rank", "training.targets"})
    if (!report.has(key)) report.ask(key, because);
  if (!report.has("runtime")) report.assume("runtime", runtime, "the runtime of LoRA in this framework");
}

void map_offload(const std::string& what, const std::string& device, const std::string& from, Report& report) {
  const bool states = what == "optimizer states", activations = what == "activations";
  if (device != "cpu" && (activations || device != "nvme"))
    return report.refuse(
        from, fmt::format("{} in the memory of the host ({}) are not modelled", what, printable(device, 20)), from);
  if (activations) return report.map("offload.activations", device, from);
  report.map(states ? "offload.optimizer" : "offload.parameters", device, from);
  if (states || device == "nvme" || holds(from, "zero_optimization") || holds(from, "deepspeed"))
    report.assume("runtime", "deepspeed", "the runtime that moves optimizer states to the host");
}

// Returns true where `file` names a stage so, and no further digit follows. A single letter begins a word: "ds_z2.json"
// has "z2", "quartz2.json" not. A bare "s" stands beside "ds" or "config": "config_s2.json".
bool names_stage(std::string_view file, std::string_view word) {
  const auto is = [&](std::size_t at, int (*kind)(int)) {
    return at < file.size() && kind(static_cast<unsigned char>(file[at])) != 0;
  };
  const auto words = words_of_name(file);
  const bool ours = holds(std::string(file), "config") || holds(std::string(file), "deepspeed") ||
                    std::ranges::find(words, "ds") != words.end();
  const bool whole = word.starts_with("zero") || word.starts_with("stage");
  if (!whole && word.starts_with('s') && !ours) return false;
  for (std::size_t at = file.find(word); at != file.npos; at = file.find(word, at + 1)) {
    const bool begins = whole || at == 0 || !is(at - 1, std::isalnum);
    if (begins && !is(at + word.size(), std::isdigit)) return true;
  }
  return false;
}

namespace {

/// Files of DeepSpeed that are published under a folder and a name, and what they hold.
struct PublishedZero {
  std::string_view path, repository;
  NamedZero zero;
};
// lm-sys/FastChat at 2afa628 and 134fc8d, playground/deepspeed_config_s2.json and deepspeed_config_s3.json.
constexpr PublishedZero kPublished[] = {{"playground/deepspeed_config_s2.json", "lm-sys/FastChat", {2, true, false}},
                                        {"playground/deepspeed_config_s3.json", "lm-sys/FastChat", {3, true, true}}};

const PublishedZero* published_zero(const std::string& path) {
  const auto* const found = std::ranges::find_if(kPublished, [&](const PublishedZero& one) {
    return path == one.path || path.ends_with("/" + std::string(one.path));
  });
  return found == std::end(kPublished) ? nullptr : found;
}

// Says why a stage is assumed. A name without "offload" leaves open whether states move.
std::string why_named(const std::string& path, std::int64_t stage) {
  if (const PublishedZero* const known = published_zero(path))
    return fmt::format("as {} has it in {}, which is not there", known->repository, known->path);
  const std::string because = "by the name of " + printable(path, 80) + ", which is not there";
  if (stage == 0 || holds(lower_case(path.substr(path.rfind('/') + 1)), "offload")) return because;
  return because + "; offloading is not known from it: state --set offload.optimizer=cpu if the file has it";
}

}  // namespace

NamedZero zero_in_name(const std::string& path) {
  if (const PublishedZero* const known = published_zero(path)) return known->zero;
  const std::string file = lower_case(path.substr(path.rfind('/') + 1));  // without a slash all of it
  NamedZero named;
  for (const char* word : {"stage", "zero", "z", "s"})
    for (const char* gap : {"", "_", "-"})
      for (std::int64_t stage = 0; stage < 4 && !named.stage; ++stage)
        if (names_stage(file, fmt::format("{}{}{}", word, gap, stage))) named.stage = stage;
  const bool none = std::ranges::any_of(std::array{"no_", "no-", "no", "wo_", "without_"},
                                        [&](const char* word) { return holds(file, std::string(word) + "offload"); });
  if (!holds(file, "offload") || none) return named;
  const std::string_view rest = std::string_view(file).substr(file.rfind("offload"));
  const bool parameters = rest.find("param") != rest.npos, optimizer = rest.find("opt") != rest.npos;
  // Parameters leave the GPU at stage 3 only: deepspeed.ai, "DeepSpeed Configuration JSON", offload_param.
  if (parameters && !named.stage) named.stage = 3;
  named.offloads_optimizer = optimizer || !parameters;
  named.offloads_parameters = parameters || (named.stage == 3 && !optimizer);
  return named;
}

bool map_named_zero(const std::string& file, Report& report) {
  const NamedZero named = zero_in_name(file);
  if (!named.stage) return false;
  map_sharding(*named.stage, "deepspeed " + printable(file, 80), report);
  if (named.offloads_optimizer) map_offload("optimizer states", "cpu", "deepspeed", report);
  if (named.offloads_parameters) map_offload("parameters", "cpu", "deepspeed", report);
  const bool word = file.find('.') == file.npos && !file.starts_with('$');
  if (word) return true;  // that says it, such as zero3 of ms-swift
  for (const char* key : {"optimizer.zero_stage", "offload.optimizer", "offload.parameters"})
    if (report.has(key)) report.assume(key, report.at(key), why_named(file, *named.stage));
  return true;
}

}  // namespace foretoken::io::launch
