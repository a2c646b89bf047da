// Sorts the keys of a section of nanotron that no rule reads.
#include "sim/io/import/launch/nanotron/section.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "sim/io/import/launch/harmless.h"

namespace foretoken::io::launch::nanotron {
namespace {

/// Keys of these sections that change neither time nor memory.
constexpr std::string_view kNoEffect[] = {"ddp_bucket_cap_mb",
                                          "init_method",
                                          "model_config",
                                          "limit_test_batches",
                                          "limit_val_batches",
                                          "train_steps",
                                          "val_check_interval",
                                          "rms_norm_eps",
                                          "clip_grad",
                                          "learning_rate_scheduler",
                                          "weight_decay",
                                          "bos_token_id",
                                          "eos_token_id",
                                          "pad_token_id",
                                          "hidden_act",
                                          "initializer_range",
                                          "max_position_embeddings",
                                          "pretraining_tp",
                                          "use_cache",
                                          "is_llama_config",
                                          "is_qwen2_config",
                                          "rope_theta",
                                          "rope_interleaved",
                                          "rope_scaling",
                                          "interleaved_rotary",
                                          "adam_beta1",
                                          "adam_beta2",
                                          "adam_eps",
                                          "torch_adam_is_fused",
                                          "_attn_implementation",
                                          "_fused_rms_norm",
                                          "_fused_rotary_emb",
                                          "_use_qkv_packed",
                                          "z_loss_coefficient",
                                          "z_loss_enabled",
                                          "weight_decay_exclude_named_params",
                                          "optimizer_factory",
                                          "no_rope_layer",
                                          "dtype",
                                          "seed"};

bool text_is(const Json& value, std::string_view word) {
  if (!value.is_string()) return false;
  std::string text = value.get<std::string>();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text == word;
}

}  // namespace

void Section::sort_rest(Report& report) const {
  for (const auto& [key, value] : values_.items()) {
    const std::string setting = printable(name_ + "." + key, 80);
    const bool off = value.is_string() && !switch_of(value.get<std::string>()).value_or(true);
    if (asked_.contains(key)) {
      if (!value.is_null()) report.read.push_back(setting);
      continue;
    }
    if (value.is_null() || off || std::ranges::find(kNoEffect, key) != std::end(kNoEffect))
      report.ignore(setting, "");
    else if (key == "tp_recompute_allgather")
      report.approximate(setting, "the runtime nanotron was fitted on such runs");
    else if (key == "recompute_granularity" && text_is(value, "SELECTIVE"))
      report.approximate(setting, "fused attention makes its scores anew by itself");
    else if (is_harmless_name(key))
      report.approximate(setting, kHarmlessByName);
    else if (key == "_use_doc_masking")
      report.approximate(setting, "attention sees the whole sequence");
    else
      report.refuse(setting, std::string("an unknown key") + kUnlessFree + setting);
  }
}

}  // namespace foretoken::io::launch::nanotron
