// Sorts the variables that no rule maps by their names: those of submissions, then those of Megatron-LM's flags.
//
// Names: mlcommons/training_results_v3.0 to v6.0, config_*.sh and conf/*.yaml of gpt3, llama2_70b_lora, llama31 and
// gpt_oss. Most are read into an argument of Megatron-Core, whose flag has the same words: CPU_OFFLOADING is
// --cpu-offloading.
#include "sim/io/import/launch/mlperf/rest.h"

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/harmless.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/megatron/fusions.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/lexer.h"

namespace foretoken::io::launch::mlperf {
namespace {

constexpr const char *kArranged = "communication is arranged as the runtime does it",
                     *kOnHost = "tensors that move to the host's memory",
                     *kReadNowhere = "an unknown variable, which no file of conf/ that is here reads; it is left out";

/// The first rule that lists a variable counts. A rule that refuses counts only where the variable is on.
constexpr KeyRule kVariables[] = {
    // train.py of LoRA, round 5.1: "megatron" shards optimizer, gradients and weights (optim_grads_params).
    {"FSDP USE_MCORE_FSDP FSDP_DOUBLE_BUFFER", "FSDP of Megatron-Core is not read in submissions", true},
    {"FINE_GRAINED_ACTIVATION_OFFLOADING OFFLOAD_MODULES CPU_OFFLOADING_WEIGHTS OPTIMIZER_CPU_OFFLOAD "
     "MOE_PAGED_STASH_BUFFER_SIZE_FACTOR_CPU",
     kOnHost, true},
    {"MOE_PAGED_STASH", "activations of experts that are stashed in pages", true},
    {"MOE_EXPERT_RANK_CAPACITY_FACTOR", "a bound on the tokens of all experts of a rank", true},
    {"PIPELINE_LAYOUT", "layers that a layout deals out to the stages", true},
    {"OUTER_DP_SHARDING_STRATEGY", "weights that are sharded in two levels", true},
    {"FP8_OUTPUT_PROJ", "a head in fp8", true},
    {"OVERLAP_DISPATCH_BACKWARD_WITH_EXPERTS_WGRAD", "exchanges that overlap with the gradients of the experts", true},
    {"FIRST_LAST_LAYERS_BF16 NUM_LAYERS_AT_START_IN_BF16 NUM_LAYERS_AT_END_IN_BF16",
     "all layers run in the format of fp8 or fp4"},
    {"PRE_QUANTIZED_MODEL FP4_PARAM FP4_PARAM_GATHER STORE_GPU DDP_FP8_PARAM_GATHER",
     "weights are kept in 16 bits, which takes more memory"},
    {"USE_PRECISION_AWARE_OPTIMIZER", "moments and master weights are in fp32"},
    {"DROPOUT_RECOMPUTE", "masks of dropout are kept, which takes more memory"},
    {"DEFER_EMBEDDING_WGRAD_COMPUTE WGRAD_DEFERRAL_LIMIT OVERLAP_PARAM_GATHER_WITH_OPTIM_STEP "
     "OVERLAP_PARAM_GATHER_WITH_OPTIMIZER_STEP MC_TP_OVERLAP_AG MC_TP_OVERLAP_RS MC_TP_OVERLAP_RS_DGRAD "
     "MC_TP_DISABLE_QKV TP_CONFIG_FILE FC1_* FC2_* QKV_* PROJ_* BUCKET_SIZE BUCKET_CAP_MB SHARP USE_SHARP "
     "BATCH_P2P BATCH_P2P_COMM SYNC_BATCH_COMM AVERAGE_IN_COLLECTIVE DDP_AVERAGE_IN_COLLECTIVE NCCL_UB NCCL_UB_DP "
     "MOE_HYBRIDEP_* MOE_DEEPEP_NUM_SMS NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN HIGH_PRIORITY_A2A_COMM_STREAM "
     "USE_DYNAMIC_COMP_STREAM USE_MNNVL",
     kArranged},
    {"TP_PP_DP_MAPPING", megatron::kRankOrder},
    {"USE_TE_OPS FUSED_QKV_ROPE CE_FUSION_IMPL FUSED_SOFTMAX USE_TE_SWIGLU GRAD_ACCUM_FUSION CG_WEIGHT_CACHING "
     "OPTIMIZER_CG ON_DEVICE_CLIP_GRAD MOE_SINGLE_GROUPED_WEIGHT "
     "MOE_SINGLE_GROUPED_WEIGHT_BIAS RMSNORM_CAST ENABLE_TRANSPOSE_CACHE",
     megatron::kKernelsFused},
    {"FP8_HYBRID FP8_E4M3 FP8_AMAX_ALGO FP8_AMAX_HISTORY FP8_REDUCE_AMAX TP_ONLY_AMAX_RED FP8_INTERVAL FP8_MARGIN "
     "FP4_RECIPE HEALING_PRECISION",
     "scales of narrow formats cost as in the runtime's recipe"},
    {"NUM_DISTOPT_INSTANCES", "states are sharded over all replicas, which takes less memory"},
    {"CUDA_GRAPH_*", "a CUDA graph holds whole layers or the whole iteration"},
    {"MOE_ROUTER_* MOE_PAD_EXPERT_INPUT_TO_CAPACITY MOE_AUX_LOSS_COEFF",
     "tokens are spread evenly, and none is dropped"},
    // A rule reads these where they count.
    {"TP_COMM_OVERLAP SEQ_PARALLEL SP OVERLAP_P2P OVERLAP_P2P_COMM CP_COMM_TYPE FP8_RECIPE FP8_PARAM FP8_PARAMS "
     "FP8_PARAM_GATHER FP8_DPA FP8_ACT FP8_ACTIVATION HEALING_ITER RECOMPUTE_MODULES RECOMPUTE_METHOD "
     "RECOMPUTE_NUM_LAYERS ACT_CKPT_METHOD ACT_CKPT_NUM_LAYERS ACM ACL CPU_OFFLOADING_NUM_LAYERS "
     "CPU_OFFLOADING_DOUBLE_BUFFERING EXPERT_PARALLEL EP EXPERT_TENSOR_PARALLEL ETP MOE_TOKEN_DISPATCHER_TYPE "
     "MOE_FLEX_DISPATCHER_BACKEND MOE_EXPERT_CAPACITY_FACTOR MOE_EP_A2A_OVERLAP LAYER_CUDA_GRAPH MCORE_CUDA_GRAPH "
     "DISTRIBUTE_SAVED_ACTIVATIONS OVERWRITTEN_NUM_LAYERS FULL_CUDA_GRAPH LORA_DIM",
     "it changes nothing here, or the setting beside which it counts is off"},
    // Libraries, launchers, clocks, logs, files, evaluation and what is derived from other variables.
    {"NVTE_* TE_UB_* UB_SKIPMC NCCL_* TORCH_* CUDA_* CUBLAS_* CUDNN* NVSHMEM_* UCX_* OMPI_* PMIX_* OMP_* PYTHON* "
     "PYTORCH_* TRANSFORMERS_* TOKENIZERS_* HF_* HYDRA_* TQDM_* MEGATRON_CORE_* MLPERF_* NEMO_* SLURM_* SBATCH_* DGX* "
     "MELLANOX_* IB_* USE_HIPBLASLT PATCH_* ROCBLAS_* HIP_* CK_* RCCL_* GPU_MAX_HW_QUEUES VBOOST_VALUE MAXQ_CLK "
     "MINEDP_CLK BINDCMD SEGMENT ENABLE_CPU_EXCLUSIVE ENABLE_PERF_CONFIGS GPU_ARCH HAS_CP_CONFIG GC_TRAIN GC_VALID "
     "WALLTIME* NEXP NPAR NNODES GPUS_PER_NODE NODES NGPU HANG_MONITOR_TIMEOUT ATTEMPT_CUDA_GDB_CORE_DUMP "
     "POSSIBLE_USER_WARNINGS RUN_* PROFILE* MEM_DUMP_DIR MEMORY_PROFILE* ENABLE_MEMORY_PROFILER PT_TENSOR_VALIDATION "
     "LR LR_* MIN_LR MAX_LR OPT_* WEIGHT_DECAY* GRADIENT_CLIP_VAL CHECK_* SEED INIT_* WARMUP* RESET_* LORA_ALPHA "
     "LORA_DROPOUT NEMO_LORA_USE_THUNDER_DROPOUT LORA_A2A TARGET* MAX_STEPS* MAX_EPOCHS MAX_SAMPLES_TERMINATION "
     "START_* "
     "LIMIT_* SKIP_EVAL* EVAL_* VAL_* VALID_* CP_EVAL TRAIN_ONLY FORCE_* EXTEND_RUN_EVALS SUSTAINED_TRAINING_TIME "
     "STEP_TIME_ATOL LOG* JSON_* APILOG* NPY_INDEX_DIR DATE* DISABLE_NEMO_LOGS PRINT_CONFIG BREAKDOWN DLSIM_* "
     "MODEL_TFLOP_PER_SAMPLE CREATE_TENSORBOARD_LOGGER DATA DATADIR* DATASET DATA_ROOT CKPT_ROOT COM_DIR C4_* BLEND "
     "PREPROC_DATA MOCK_* LEGACY_DATASET EXCHANGE_INDICES_DISTRIBUTED CUSTOM_INPUT_PIPELINE NUM_WORKERS NUM_TRAIN_* "
     "TOKENIZER SPM MOUNTS CONT CONTAINER* WORK_DIR TRAINING_DATA MODEL MODEL_NAME MODEL_FRAMEWORK MODEL_PARALLEL "
     "DATA_PARALLEL WORLD_SIZE GLOBAL_BATCH_SIZE GBS PROXY_GBS IS_PROXY_RUN LOAD_* CHECKPOINT* CONTINUAL_CKPT "
     "SAVE_CKPT USE_CKPT USE_DIST_CHECKPOINTING DIST_CKPT_* OVERRIDE_ZERO_CONSUMED_SAMPLES ENABLE_RERUNS SUBMISSION_* "
     "DEPENDENCIES TAG REMOTE NUM_LAYERS HIDDEN_SIZE NUM_ATTENTION_HEADS FFN_HIDDEN_SIZE USE_TE_RNG_TRACKER "
     "USE_RNG_TRACKER DETERMINISTIC_MODE ANSWER_ONLY_LOSS USE_TWO_STAGE_LOADING USE_TWO_STAGE_CPU_TRANSFER "
     "LOAD_DIRECTLY_ON_DEVICE OPTIM_LOCK_TIMEOUT PRE_VALIDATE POSITION_EMBEDDING_TYPE"}};

// Words that switch a setting off beside those of every switch.
bool switches_off(const std::string& value) {
  return !switch_of(value).value_or(true) || number_of_text(value) == 0 || value == "no_shard";
}

bool names_variable(const std::string& text, std::string_view name) {
  const auto is_part = [&](std::size_t at) { return at < text.size() && shell::is_of_name(text[at]); };
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + name.size())) return true;
  return false;
}

bool has_line_for(const Report& report, std::string_view name) {
  return std::ranges::any_of(report.mapped, [&](const Mapped& one) { return names_variable(one.from, name); }) ||
         std::ranges::any_of(
             report.assumed,
             [&](const Assumed& one) { return names_variable(one.key, name) || names_variable(one.because, name); }) ||
         std::ranges::any_of(report.ignored, [&](const Ignored& one) { return names_variable(one.setting, name); }) ||
         std::ranges::any_of(report.refused,
                             [&](const Refused& one) {
                               return names_variable(one.setting, name) || names_variable(one.because, name);
                             }) ||
         std::ranges::any_of(report.asked, [&](const Asked& one) { return names_variable(one.because, name); });
}

const KeyRule* rule_of_variable(std::string_view name) {
  const auto found = std::ranges::find_if(kVariables, [&](const KeyRule& one) { return lists_key(one.keys, name); });
  return found == std::end(kVariables) ? nullptr : &*found;
}

// Returns true for a variable of the scripts' own that is part of a mapped one: NUM_LAYERS="${OURS:=20}".
bool is_part_of_mapped(const Settings& settings, const std::string& name, const Report& report) {
  const auto& readers = settings.variables().readers;
  const auto found = readers.find(name);
  return found != readers.end() && !settings.is_read(name) &&
         std::ranges::any_of(found->second, [&](const std::string& reader) {
           return std::ranges::any_of(report.mapped,
                                      [&](const Mapped& one) { return names_variable(one.from, reader); });
         });
}

// A variable that no submission here has. One of memory, shards and formats is refused; so is one that conf/ reads and
// that may matter. Others are variables of the scripts themselves.
void list_unknown(const Settings& settings, const std::string& name, Report& report) {
  if (is_part_of_mapped(settings, name, report)) return report.ignore(name, "");
  std::string flag = lower_case(name);
  std::ranges::replace(flag, '_', '-');
  const auto rule = megatron::rule_of(flag);
  if (rule && rule->effect == megatron::Effect::kIgnored) return report.ignore(name, "");
  if (rule && rule->effect == megatron::Effect::kNoted) return report.approximate(name, rule->because);
  if (is_never_harmless(flag) || (settings.is_read(name) && !is_harmless_name(flag) && names_something_costly(flag)))
    return report.refuse(
        name, rule && !rule->because.empty() ? rule->because : std::string("an unknown variable") + kUnlessFree + name);
  report.approximate(name, is_harmless_name(flag) ? kHarmlessByName : kReadNowhere);
}

// Keys behind the command win over those of conf/.
void list_keys(const std::string& name, const std::string& value, Report& report) {
  for (const std::string& word : words_of_text(value)) {
    const std::string key = word.substr(std::min(word.find_first_not_of('+'), word.size()));
    const bool of_model = key.starts_with("model.") || key.starts_with("trainer.");
    if (of_model && !key.starts_with("model.tokenizer.") && !key.starts_with("model.data."))
      report.refuse(printable(key.substr(0, key.find('=')), 80), "a key of the command line, which is not read", name);
  }
  report.ignore(name, "");
}

void list_variable(const Settings& settings, const std::string& name, const std::string& value, Report& report) {
  const KeyRule* const rule = rule_of_variable(name);
  if (name == "EXTRA_ARGS") return list_keys(name, value, report);
  if (name == "TRANSFORMER_ENGINE" && switches_off(value))
    return report.refuse(name, "kernels without Transformer Engine");
  const bool listed = settings.was_asked(name) && (rule == nullptr || !rule->refused);
  if (listed || switches_off(value) || (rule != nullptr && rule->because.empty())) return report.ignore(name, "");
  if (rule == nullptr) return list_unknown(settings, name, report);
  if (rule->refused)
    report.refuse(name, std::string(rule->because));
  else
    report.approximate(name, std::string(rule->because));
}

}  // namespace

void list_rest(const Settings& settings, Report& report) {
  for (const auto& [name, values] : settings.variables().values) {
    const bool written = !name.empty() && name.front() >= 'A' && name.front() <= 'Z' && values.size() == 1;
    if (written && !has_line_for(report, name)) list_variable(settings, printable(name, 80), values.front(), report);
  }
  for (const auto& [name, set] : settings.defaults()) {
    const KeyRule* const rule = rule_of_variable(name);
    const bool counts = rule != nullptr && rule->refused && settings.variables().find(name) == nullptr;
    if (counts && !switches_off(set.value) && !has_line_for(report, name))
      report.refuse(fmt::format("{} ({})", name, set.from), std::string(rule->because));
  }
}

}  // namespace foretoken::io::launch::mlperf
