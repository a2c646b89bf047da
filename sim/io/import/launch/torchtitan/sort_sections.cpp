// Lists the settings of torchtitan that no rule reads: without effect, taken as different, or refused.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/harmless.h"
#include "sim/io/import/launch/masked_tokens.h"
#include "sim/io/import/launch/torchtitan/settings.h"

namespace foretoken::io::launch::torchtitan {
namespace {

/// Keys of the sections that rules read that change neither time nor memory. dataloading_args is of a fork:
/// graphcore-research/torchtitan-fork, low_bits_training/config_manager.py.
constexpr std::string_view kNoEffect[] = {"lr",
                                          "eps",
                                          "weight_decay",
                                          "beta1",
                                          "beta2",
                                          "betas",
                                          "max_norm",
                                          "steps",
                                          "seed",
                                          "warmup_steps",
                                          "dataset",
                                          "dataset_path",
                                          "dataloading_args",
                                          "tokenizer_path",
                                          "fqns",
                                          "moe_fqns",
                                          "filter_fqns",
                                          "hf_assets_path",
                                          "debug",
                                          "gc_freq",
                                          "gc_debug",
                                          "print_config",
                                          "classifer_free_guidance_prob",
                                          "classifier_free_guidance_prob",
                                          "precompute_float8_dynamic_scale_for_fsdp",
                                          "custom_args_module",
                                          "mock_data",
                                          "fused",
                                          "backend",
                                          "moe_fqns_prototype",
                                          "determinism_check",
                                          "memory_budget",
                                          "visualize_memory_budget_pareto",
                                          "mxfp8_dim1_cast_kernel_choice",
                                          "per_op_sac_force_recompute_mm_shapes_by_fqns"};

// Sizes of Flux: pytorch/torchtitan, torchtitan/experiments/flux/job_config.py.
std::string why_refused(std::string_view key, const Settings& settings) {
  if (key == "training.img_size" || key == "encoder") return "Flux, a model of images, is not modelled";
  if (masks_tokens(key.substr(key.rfind('.') + 1))) return kMaskedModel;
  if (const std::string newer = settings.newer_name_of(std::string(key)); !newer.empty())
    return "an older name of " + newer + ", which is stated, too, and counts here; state one of them";
  return std::string("an unknown key") + kUnlessFree + printable(key, 80);
}

/// Switches of a fork's section [float8], which count beside its converter only.
constexpr std::string_view kOfFloat8[] = {"enable_fp8_fa", "fp8_fa_granularity", "enable_fp8_gmm", "enable_fp8_linear"};

// Without loss parallelism each tensor rank gathers the logits of the whole vocabulary: pytorch/torchtitan,
// torchtitan/config/job_config.py.
void note_whole_logits(const std::string& key, const Settings& settings, Report& report) {
  if (settings.on({key}) && report.whole("parallelism.tensor").value_or(1) > 1)
    report.approximate(key, "tensor ranks share the logits; without it each holds all, which takes more memory");
  else
    report.ignore(key, "");
}

// Lists the keys of a section that no rule reads.
void sort_keys(const nlohmann::ordered_json& section, const std::string& name, const Settings& settings,
               Report& report) {
  const bool unused = name == "float8" && !has_float8(settings);
  for (const auto& [key, value] : section.items()) {
    const std::string path = name + "." + key;
    if (value.is_object()) {
      sort_keys(value, path, settings, report);
    } else if (std::ranges::find(kNoEffect, key) != std::end(kNoEffect)) {
      report.ignore(printable(path, 80), "");
    } else if (unused && std::ranges::find(kOfFloat8, key) != std::end(kOfFloat8)) {
      report.ignore(path, "");
    } else if (key == "disable_loss_parallel") {
      note_whole_logits(path, settings, report);
    } else if (key == "enable_compiled_autograd" &&
               settings.on({path})) {  // torchtitan/distributed/utils.py, get_train_context
      report.approximate(path, "autograd is traced and compiled, too; kernels stay those of the runtime");
    } else if (key == "enable_fsdp_float8_all_gather") {
      report.approximate(path, "weights are gathered in 16 bit");
    } else if (key == "force_recompute_fp8_weight_in_bwd") {
      report.approximate(path, "weights are cast to 8 bits once a step");
    } else if (key.ends_with("_stage_less_layers") || key == "module_fqns_per_model_part" ||
               key == "pipeline_parallel_split_points") {
      if (!value.empty()) report.approximate(path, "layers are dealt evenly over the stages");
    } else if (key == "context_parallel_rotate_method" || key == "context_parallel_load_balancer" ||
               key == "pipeline_parallel_expert_parallel_overlap") {
      report.approximate(path, "communication is arranged as the runtime does it");
    } else if (value.is_string() && !switch_of(value.get<std::string>()).value_or(true)) {
      report.ignore(printable(path, 80), "");  // a switch that is off
    } else if (!settings.was_asked(path) && is_harmless_name(key)) {
      report.approximate(printable(path, 80), kHarmlessByName);
    } else if (!settings.was_asked(path)) {
      report.refuse(printable(path, 80), why_refused(path, settings));
    }
  }
}

// Returns true for an unknown section whose name, or each of whose keys, changes neither time nor memory.
bool names_harm_none(const std::string& section, const nlohmann::ordered_json& content) {
  if (is_harmless_name(section)) return true;
  if (!content.is_object() || content.empty()) return false;
  return std::ranges::all_of(content.items(), [](const auto& one) { return is_harmless_name(one.key()); });
}

}  // namespace

// The length and the batch of [blendcorpus] are those of [training], the others are of its data:
// torchtitan/experiments/blendcorpus/dataset/blendcorpus_builder.py.
void sort_sections(const nlohmann::ordered_json& document, const Settings& settings, Report& report) {
  constexpr std::string_view kIgnored[] = {
      "job",   "profiling",   "metrics",           "lr_scheduler",     "checkpoint",
      "comm",  "validation",  "memory_estimation", "inference",        "hf_transformers",
      "debug", "blendcorpus", "s3_checkpoint",     "mosaic_dataloader"};
  constexpr std::string_view kRead[] = {
      "model",  "training", "optimizer", "parallelism", "experimental", "compile", "activation_checkpoint",
      "float8", "quantize", "mx"};
  for (const auto& [section, content] : document.items()) {
    if (std::ranges::find(kIgnored, section) != std::end(kIgnored))
      report.ignore("[" + section + "]", "");
    else if (section == "fault_tolerance" && content.is_object() &&
             content.value("enable", std::string("false")) == "false")
      report.ignore("[fault_tolerance]", "");
    else if (section == "batch_size_scheduler")  // of a fork: NousResearch/torchtitan
      report.approximate("[batch_size_scheduler]", "a step behind the ramp, with the whole batch");
    else if (section == "deepep")  // of the same fork: its streams and the sum of its rows
      report.approximate("[deepep]", "communication is arranged as the runtime does it");
    else if (section == "fault_tolerance")
      report.refuse("[fault_tolerance]", "groups of replicas that torchft averages are not modelled");
    else if (section == "encoder")
      report.refuse("[encoder]", why_refused(section, settings));
    else if (std::ranges::find(kRead, section) == std::end(kRead) && names_harm_none(section, content))
      report.approximate("[" + printable(section, 60) + "]", kHarmlessByName);
    else if (std::ranges::find(kRead, section) == std::end(kRead))
      report.refuse("[" + printable(section, 60) + "]",
                    std::string("an unknown section") + kUnlessFree + "'[" + printable(section, 60) + "]'");
    else if (content.is_object())
      sort_keys(content, section, settings, report);
  }
}

}  // namespace foretoken::io::launch::torchtitan
