// The facts that launches of PyTorch share: batches for each data rank, sharding, optimizers, adapters, offload.
#pragma once

#include <optional>
#include <string>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch {

/// The answer says this of a SiLU without a gate.
inline constexpr const char* kPlainSilu = "silu without a gate is taken as gelu: its kernels move the same bytes";

/// A batch as data-parallel frameworks state it. Numbers that are not stated have no value.
struct DataBatch {
  std::optional<std::int64_t> micro{}, accumulation{}, global{};
  std::string from{};         ///< "per_device_train_batch_size"
  std::string global_from{};  ///< of `global`, where it has another name
  std::string accumulation_from = "gradient_accumulation_steps";
  std::string open_micro{}, open_accumulation{};  ///< why nobody knows a number that the file leaves open by a word
};

/// Maps what is known of global = micro x accumulation x GPUs, and asks for the rest. `gpus` is stated or unknown;
/// `replica` GPUs share each micro-batch.
void map_data_batch(const DataBatch& batch, std::optional<std::int64_t> gpus, std::int64_t replica, Report& report);

/// Maps the GPUs where the sequences of a step, of a micro-batch and the micro-batches of a step are stated.
void map_ranks_of_batch(const DataBatch& batch, std::int64_t replica, Report& report);

/// Maps an optimizer by its name: AdamW of any library, LAMB, Lion, and those whose states have 8 bits. Refuses
/// others.
void map_optimizer_name(const std::string& name, const std::string& from, Report& report);

/// Maps attention without a fused kernel, which Hugging Face's models, axolotl and LLaMA-Factory call eager or
/// disabled. Other names of kernels are left to the runtime.
void map_eager_attention(const Settings& settings, Report& report);

/// Refuses devices that are not known as GPUs: use_cpu, no_cuda, and every device but cuda, cuda:1, a number, or an
/// empty text.
void refuse_other_device(const Settings& settings, Report& report);

/// Maps weights that are loaded in bf16 and train without a copy in fp32, as PyTorch's optimizers take them. Frozen
/// weights beside adapters are left as they are.
void map_weights_of_16_bits(const std::string& from, Report& report);

/// Maps weights, gradients and moments in bf16 without a copy in fp32, whatever the precision of products.
void keep_weights_of_16_bits(const std::string& from, Report& report);

/// Refuses `copies` replicas of sharded weights: "2", "several".
void refuse_replicas(const std::string& copies, const std::string& from, Report& report);

/// Notes that each node shards weights of its own (HYBRID_SHARD, 4, 5). GPUs of several nodes are refused later.
void note_replicas(const std::string& strategy, const std::string& from, Report& report);

/// Maps the stage of ZeRO; `runtime` is assumed.
void map_sharding(std::int64_t stage, const std::string& from, Report& report);

/// Weights that train beside frozen ones.
struct Adapter {
  std::string method{};  ///< "lora", "qlora"
  std::string from{};
  std::optional<std::int64_t> rank{};  ///< none: `usual_rank` is assumed
  std::string targets{};               ///< "all", or names of products parted by spaces or commas; empty: the default
  std::string targets_because{};       ///< why they are assumed; empty where the file states them
  std::string rank_from{}, targets_from{};  ///< where they have other names than `from`
  std::string whole{}, whole_from{};        ///< modules that train whole, parted by spaces or commas
  int base_bits = 16;                       ///< of the frozen weights; 4 and 8 are those of bitsandbytes
  std::string base_format{};                ///< "fp8": the frozen weights have another format, which is refused
  std::int64_t usual_rank = 8;              ///< peft/tuners/lora/config.py; torchtune's recipes
  std::string usual_because = "the default of the library";
  bool own_targets = false;  ///< no flag states the products, and nobody knows the program's: they are asked for
  std::string own_rank{};    ///< why nobody knows the default of the rank: it is asked for
  std::string runtime = "huggingface-trainer";
};

/// Maps LoRA and QLoRA, and assumes their runtime. Refuses other methods, frozen weights of other formats, and
/// products beside which no adapter is modelled.
void map_adapter(const Adapter& adapter, Report& report);

/// Asks for the method where the arguments name weights of an adapter and nothing tells LoRA from full fine-tuning.
/// With LLaMA-Factory and ms-swift finetuning_type decides.
void ask_about_adapter(const Settings& settings, Report& report);

/// Asks for the rank and the products of adapters, where a file that is not there decides about them, and assumes
/// `runtime`. Does nothing without a method.
void ask_for_adapter(const std::string& because, const std::string& runtime, Report& report);

/// Maps states or parameters that stand in the host's memory: `what` is "optimizer states", "parameters" or
/// "activations", `device` "cpu" or "nvme". DeepSpeed's settings assume its runtime. Activations on disks are refused.
void map_offload(const std::string& what, const std::string& device, const std::string& from, Report& report);

/// A DeepSpeed file that is not there states these by its name: "ds_z3_offload_config.json".
struct NamedZero {
  std::optional<std::int64_t> stage{};
  /// "no_offload" says that nothing moves. Stage 3 moves parameters too, unless the name says one part: "_params".
  bool offloads_optimizer = false, offloads_parameters = false;
};
[[nodiscard]] NamedZero zero_in_name(const std::string& path);
/// Maps the stage and the offloads of a word, "zero3", and assumes those of a file's name. Returns false where it says
/// no stage.
bool map_named_zero(const std::string& file, Report& report);

}  // namespace foretoken::io::launch
