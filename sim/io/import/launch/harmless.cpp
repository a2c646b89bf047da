// Tells by the words of a name what a setting is about.
//
// Programs that are written around the Trainer have settings of their own, and no list holds them all. The words come
// from the settings of axolotl, LLaMA-Factory, torchtune, TRL, llm-foundry and open-instruct.
#include "sim/io/import/launch/harmless.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "sim/base/text.h"

namespace foretoken::io::launch {
namespace {

// Parted by spaces, with one before the first and behind the last.
constexpr std::string_view kHarmless =
    " account addr address answer api assistant author bos cache callback callbacks chat clip column columns comet "
    "comment conv conversation corpus dashboard data dataset datasets date debug decay demo description dialogue dir "
    "dirs domain early email entity eos epoch epochs eps epsilon eval evaluate evaluation exp experiment field fields "
    "file filename files filter folder folders hf host hub index indices input inputs instruction interval key label "
    "labels lang language learning load log loss losses logger loggers logging logs lr merge metric metrics mlflow "
    "monitor name names neft neftune note notes org out output outputs overwrite path paths patience port predict "
    "print progress "
    "project prompt prompts push query question report response resume role roles root run save saving scheduler seed "
    "separator shuffle source split splits style swanlab system tag tags target targets task tasks template "
    "tensorboard test text time timeout title token tokenizer tokens track tracking trainer upload url user username "
    "valid validation verbose version wandb warmup worker workers ";
constexpr std::string_view kCostly =
    " 16bit 4bit 8bit accumulation activation activations actor adalomo adalora adapter adapters adversarial amp "
    "apollo attention attn audio backend badam batch bf16 bias biases bit bitfit bitnet bits block boft bs bsz "
    "bwd checkpointing chunk chunked clips compile compress compression context contrastive count cp cpu critic "
    "cuda curriculum ddp deepspeed delta deltanet depth devices diffusion dim dims dinov2 discriminator distill "
    "distillation dora dp dpo draft dropout dtype ema embed embedding embeddings ep expand expert experts ffn "
    "flash fp16 fp32 fp4 fp8 freeze from frozen fsdp fuse fused fwd galore gate gated gating geglu glu gpu gpus "
    "grad gradient gradients group grpo half head heads hidden hubert ia3 image images init int4 int8 kernel "
    "kernels kl kto kv layer layernorm layers len length liger lisa lomo longlora loop lora loreft mamba mask "
    "max medusa memory mezo mixture mlp mm modal model models moe mtp multimodal muon mxfp n nf4 node nodes "
    "noise norm norms nproc num offload offloading oft optim optimizer optimizers orpo override overrides pack "
    "packed packing pad padding parallel parallelism parallelize peft perturb perturbation pipe pipeline pixel "
    "plugin pp ppo precision preference prefix pretrained process processes projector prune pruning ptuning qat "
    "qformer qknorm qlora quant quantization quantize quantized quantizer random rank ranks ratio recompute "
    "recurrent ref reference reft relora reward ring rl rlhf rms rmsnorm rope rotary sample samples scan scratch "
    "seq sequence shard sharded sharding siglip size sizes soft sp sparse sparsity spectrum speculative speech "
    "stage strategy student swa swiglu switch sync teacher tensor ternary tie tied topk tower tp tpable triton "
    "tune tuned tying ulysses unet unfreeze unfrozen unsloth untie untied vae vera video videos vision vit vocab "
    "vocabulary wav2vec weight weights whisper width window world xformers xla zero ";

constexpr std::string_view kBeside = " eval evaluation profiler profiling test val valid validation ";

// Words with these beginnings count beside any other: offload_optimizer_cache_dir, valid_expert_parallel_size.
constexpr std::string_view kAlwaysCostly[] = {"offload", "parallel"};

bool has_word_of(std::string_view words, std::string_view name) {
  return std::ranges::any_of(words_of_name(name), [&](const std::string& word) { return holds_word(words, word); });
}

bool is_always_costly(std::string_view name) {
  return std::ranges::any_of(words_of_name(name), [](const std::string& word) {
    return std::ranges::any_of(kAlwaysCostly, [&](std::string_view begin) { return word.starts_with(begin); });
  });
}

// Profiles begin their names, and affinity and NUMA are of processes: profile_num_steps, set_gpu_affinity, numa_node.
// Any other costly word is about something else: expert_affinity_topk, quantization_profile. A mode may be one of
// anything.
bool is_about_processes(std::string_view name) {
  constexpr std::string_view kProcesses = " cpu cpus gpu gpus node nodes num process processes rank ranks ";
  if (name.starts_with("model.")) name.remove_prefix(6);  // a section of NeMo
  const auto words = words_of_name(name);
  const bool free = std::ranges::none_of(words, [&](const std::string& word) {
    return (holds_word(kCostly, word) && !holds_word(kProcesses, word)) || word == "mode" || word.ends_with("moe");
  });
  if (!free) return false;
  const bool profile = name.starts_with("profile") || name.find(".profile") != name.npos ||
                       name.find("_profile.") != name.npos;  // a section: chakra_profile.start_step
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == "affinity" || word == "numa" || (profile && word == "profile");
  });
}

// Returns true for what a tracer does: --trace-subop-sync-mode, --nsight-start.
bool is_about_tracing(std::string_view name) {
  const auto words = words_of_name(name);
  return !words.empty() && (words.front() == "trace" || words.front() == "tracing" || words.front() == "nsight" ||
                            words.front() == "nsys");
}

// Returns true for work beside the steps, for places of files and for CPUs of processes: val_batch_size,
// profile_num_steps, lora_output_dir, set_gpu_affinity.
bool is_beside_training(std::string_view name) {
  for (const std::string_view end : {"output_dir", "output_path", "save_dir", "save_path", "cache_dir", "log_dir"})
    if (name.ends_with(end)) return true;
  return has_word_of(kBeside, name) || is_about_tracing(name) || is_about_processes(name);
}

// A quantity of something harmless: num_workers, num_train_steps, max_examples. Lengths of texts and tokens are none,
// samples_per_step is a batch but not samples_per_task, num_labels is a head for classes, and num_checkpoints may count
// what is computed again.
bool counts_something_harmless(std::string_view name) {
  constexpr std::string_view kCounted =
      " step steps epoch epochs iter iters iteration iterations worker workers task tasks saves evals beams threads "
      "proc "
      "procs retries ";
  constexpr std::string_view kKept = " keep kept last max save saved ";
  constexpr std::string_view kData =
      " example examples instance instances sample samples document documents row rows record records ";
  constexpr std::string_view kQuantities = " num n max min number count total per every of train training ";
  const auto words = words_of_name(name);
  const auto per = std::ranges::find(words, "per");
  const bool of_data = per != words.end() && per + 1 != words.end() && *(per + 1) == "task";
  const bool rate = per != words.end() && !of_data, kept = has_word_of(kKept, name);
  bool counted = false;
  for (const std::string& word : words) {
    const bool counts = holds_word(kCounted, word) || (!rate && holds_word(kData, word)) ||
                        (kept && (word == "checkpoint" || word == "checkpoints"));
    counted = counted || counts;
    if (!counts && !holds_word(kQuantities, word) && (holds_word(kCostly, word) || !holds_word(kHarmless, word)))
      return false;
  }
  return counted;
}

// Returns true for a part of a learning rate and for a limit of gradients: min_lr_ratio, grad_clip_norm.
bool is_rate_or_limit(std::string_view name) {
  constexpr std::string_view kRates[] = {"lr",   "ratio", "min",   "max",   "peak",
                                         "init", "end",   "final", "decay", "warmup"};
  constexpr std::string_view kLimits[] = {"clip", "clipping", "grad", "gradient", "gradients", "norm", "max", "value"};
  const auto words = words_of_name(name);
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  const auto all_of = [&](const auto& known) {
    return std::ranges::all_of(
        words, [&](const std::string& word) { return std::ranges::find(known, word) != std::end(known); });
  };
  return (has("lr") && all_of(kRates)) || ((has("clip") || has("clipping")) && all_of(kLimits));
}

// Returns true for norms of gradients, which limit them or are logged, and for norms that are logged: max_grad_norm,
// log_params_norm. Any other norm may be a layer's: qk_norm, weight_norm.
bool is_norm_of_gradients(std::string_view name) {
  constexpr std::string_view kAbout = " grad grads gradient gradients log logging monitor print report track ";
  constexpr std::string_view kKnown =
      " enable global grad gradient gradients grads interval layer log logging max monitor norm norms param parameter "
      "parameters params per print report total track type use value weight weights ";
  const auto words = words_of_name(name);
  return has_word_of(" norm norms ", name) && has_word_of(kAbout, name) &&
         std::ranges::all_of(words, [&](const std::string& word) { return holds_word(kKnown, word); });
}

// Returns true for Adam's correction of its first steps: adam_bias_correction, correct_bias.
bool is_correction_of_bias(std::string_view name) {
  constexpr std::string_view kKnown = " adam adamw bias correct correction no optim optimizer use ";
  const auto words = words_of_name(name);
  return has_word_of(" correct correction ", name) &&
         std::ranges::all_of(words, [&](const std::string& word) { return holds_word(kKnown, word); });
}

// Returns true for a name of several words, one of them `word`, that are all among `known`.
bool consists_of(std::string_view known, std::string_view word, std::string_view name) {
  const auto words = words_of_name(name);
  return words.size() > 1 && std::ranges::find(words, word) != words.end() &&
         std::ranges::all_of(words, [&](const std::string& one) { return holds_word(known, one); });
}

// Returns true for weights and shares of data sets: dataset_weights, train_data_mix_ratio.
bool is_mixture_of_data(std::string_view name) {
  constexpr std::string_view kMixes =
      " data dataset datasets interleave mix mixing mixture prefix prob probabilities probs ratio ratios sampling task "
      "tasks train training weight weights ";
  return consists_of(kMixes, "dataset", name) || consists_of(kMixes, "datasets", name) ||
         consists_of(kMixes, "data", name);
}

// Returns true for the section of a logger and for settings that begin with its name: wandb.groups.adamw, wandb_group.
// Aim and comet are words of their own, so only their sections count.
bool is_of_logger(std::string_view name) {
  constexpr std::string_view kLoggers =
      " aim clearml comet mlflow neptune swanlab tensorboard trackio wandb log logger loggers logging ";
  constexpr std::string_view kPrograms = " clearml mlflow neptune swanlab tensorboard trackio wandb ";
  constexpr std::string_view kModels = " expert experts tower towers ";
  const auto words = words_of_name(name);
  const std::size_t dot = name.find('.');
  const bool model = std::ranges::any_of(
      words, [&](const std::string& word) { return word.ends_with("moe") || holds_word(kModels, word); });
  if (model) return false;
  return !words.empty() && (holds_word(kPrograms, words.front()) ||
                            (dot != name.npos && holds_word(kLoggers, std::string(name.substr(0, dot)))));
}

// Returns true for words of layers, of their weights, and of sections that hold rates. Other words may tell of a
// second model or of another method: teacher_lr, vision_tower_lr, ema_init_std.
bool names_layers(std::span<const std::string> words) {
  constexpr std::string_view kLayers =
      " attention attn base bias biases block blocks column decay decoder down embed embedding embeddings encoder "
      "expert experts ffn final first gate head heads hidden in input inputs k kernel kv last layer layernorm layers "
      "lm "
      "matrix max min mlp moe no norm norms o out output outputs param params peak proj projection q qkv residual "
      "router row scalar token tokens unembed unembedding up v vocab weight weights wpe wte ";
  constexpr std::string_view kSections = " config model optim optimizer train trainer training ";
  return std::ranges::all_of(
      words, [&](const std::string& word) { return holds_word(kLayers, word) || holds_word(kSections, word); });
}

// Returns true for initial weights and for a rate of a group of weights: first_in_init_std, init_fn_type, embed_lr.
// Primus and NeMo have initial weights of both halves of an adapter: lora_A_init_method,
// peft.lora_tuning.row_init_method.
bool is_initialiser_or_rate(std::string_view name) {
  const auto words = words_of_name(name);
  if (words.size() < 2) return false;
  const std::span<const std::string> all(words);
  if (words.back() == "lr") return names_layers(all.first(all.size() - 1));
  constexpr std::string_view kForms = " fn function gain mean method normal range scale std type uniform xavier ";
  const auto init = std::ranges::find_if(
      words, [](const std::string& word) { return word == "init" || word == "initializer" || word == "initialiser"; });
  if (init == words.end() || init + 1 == words.end()) return false;
  const auto begin = static_cast<std::size_t>(init - words.begin());
  const bool form =
      std::ranges::all_of(all.subspan(begin + 1), [&](const std::string& word) { return holds_word(kForms, word); });
  std::string before;
  for (const std::string& word : all.first(begin)) before += word + " ";
  constexpr std::string_view kHalves[] = {"lora a ", "lora b ", "peft lora tuning row ", "peft lora tuning column "};
  const bool half = std::ranges::find(kHalves, before) != std::end(kHalves);
  return form && (half || names_layers(all.first(begin)));
}

// Returns true for formats of 4, 6 and 8 bits: nvfp4_training, mxfp8.
bool names_narrow_format(std::string_view name) {
  return std::ranges::any_of(words_of_name(name), [](const std::string& word) {
    return std::ranges::any_of(std::array{"fp4", "fp6", "fp8", "mxint8"},
                               [&](const char* format) { return word.find(format) != word.npos; });
  });
}

// Returns true for groups of data and of runs: sft_group, wandb_group.
bool is_group_of_data(std::string_view name) {
  return consists_of(
      " data dataset datasets exp experiment group id log logger mlflow name project run sft task wandb ", "group",
      name);
}

// Returns true for a way to choose data or to save: instruction_strategy, mixing_strategy. Others are of the training.
bool is_strategy_of_data(std::string_view name) {
  return consists_of(
      " answer checkpoint chat data dataset datasets instruction log logging mix mixing prompt save saving strategy "
      "template ",
      "strategy", name);
}

// Returns true for a place from which weights or a tokenizer are loaded: model_path, init_checkpoint_dir, model_files.
bool is_place_of_files(std::string_view name) {
  constexpr std::string_view kPlaces[] = {"path", "paths", "file", "files", "dir", "folder"};
  const auto words = words_of_name(name);
  return !words.empty() && std::ranges::find(kPlaces, words.back()) != std::end(kPlaces) &&
         consists_of(
             " base checkpoint ckpt dir file files folder hf init initial load model path paths pretrained safetensors "
             "tokenizer weights ",
             words.back(), name);
}

// Returns true for a switch that leaves a part of a conversation out of the loss: mask_question, mask_user_prompt. A
// head_mask is of attention heads.
bool is_mask_of_labels(std::string_view name) {
  constexpr std::string_view kParts =
      " head input inputs instruction instructions prompt prompts question questions user ";
  constexpr std::string_view kKnown =
      " head input inputs instruction instructions label labels loss mask masking only prompt prompts question "
      "questions "
      "train user ";
  const auto words = words_of_name(name);
  const bool heads = holds_word(" head ", words.empty() ? "" : words.front());
  return !heads && has_word_of(kParts, name) &&
         (consists_of(kKnown, "mask", name) || consists_of(kKnown, "masking", name));
}

// Returns true for the name that a run has among the processes of its machine: process_name, proc_name.
bool is_name_of_process(std::string_view name) {
  const auto words = words_of_name(name);
  return words.size() == 2 && holds_word(" proc process ", words.front()) && words.back() == "name";
}

// Returns true for names whose form says what they are about, whatever costly words stand in them. Offloading, the axes
// of parallelism and narrow formats count in any form.
bool has_harmless_form(std::string_view name) {
  if (is_never_harmless(name)) return false;
  return is_beside_training(name) || is_rate_or_limit(name) || is_strategy_of_data(name) || is_group_of_data(name) ||
         is_place_of_files(name) || is_mixture_of_data(name) || is_of_logger(name) || is_initialiser_or_rate(name) ||
         is_norm_of_gradients(name) || is_correction_of_bias(name) || is_mask_of_labels(name) ||
         is_name_of_process(name);
}

}  // namespace

bool is_never_harmless(std::string_view name) { return is_always_costly(name) || names_narrow_format(name); }

bool names_something_costly(std::string_view name) {
  if (has_harmless_form(name)) return false;
  if (is_never_harmless(name)) return true;
  const auto words = words_of_name(name);
  const bool experts = std::ranges::any_of(words, [](const std::string& word) { return word.ends_with("moe"); });
  return experts || has_word_of(kCostly, name);
}

bool is_harmless_name(std::string_view name) {
  if (is_never_harmless(name)) return false;
  if (has_harmless_form(name) || counts_something_harmless(name)) return true;
  bool harmless = false;
  for (const std::string& word : words_of_name(name)) {
    if (holds_word(kCostly, word)) return false;
    harmless = harmless || holds_word(kHarmless, word);
  }
  return harmless;
}

std::string harmless_word(std::string_view name) {
  for (const std::string& word : words_of_name(name))
    if (holds_word(kBeside, word) || holds_word(kHarmless, word)) return word;
  return "";
}

}  // namespace foretoken::io::launch
