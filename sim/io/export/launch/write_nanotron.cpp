// Writes a configuration of nanotron. Its models are its llama's.
//
// Keys: huggingface/nanotron v0.4, src/nanotron/config.
#include <fmt/format.h>

#include "sim/io/export/launch/formats.h"
#include "sim/io/export/launch/write_launch.h"

namespace foretoken::io {
namespace {

std::string model_section(const job::Job& job) {
  const model::Transformer& m = job.model;
  std::string text = fmt::format("model:\n  dtype: {}\n  model_config:\n    is_llama_config: true\n",
                                 is_wide(job.precision)              ? "float32"
                                 : job.precision == Precision::kFp16 ? "float16"
                                                                     : "bfloat16");
  text += fmt::format("    num_hidden_layers: {}\n    hidden_size: {}\n    num_attention_heads: {}\n", m.layers,
                      m.hidden, m.heads);
  text += fmt::format("    num_key_value_heads: {}\n    intermediate_size: {}\n    vocab_size: {}\n", m.kv_heads,
                      m.ffn_hidden, m.vocabulary);
  text += fmt::format("    tie_word_embeddings: {}\n", m.tied_embeddings);
  if (m.qkv_bias) text += "    attention_bias: true\n";
  return text;
}

}  // namespace

std::string write_nanotron(const job::Job& job, const nlohmann::json& scenario) {
  const job::Parallelism& p = job.parallelism;
  std::string text = "# A configuration of nanotron, written by foretoken export.\n" + own_lines_of(scenario, job.gpus);
  text += model_section(job);
  text += fmt::format("optimizer:\n  zero_stage: {}\n  accumulate_grad_in_fp32: {}\n", job.optimizer.zero_stage,
                      job.recipe.gradient_bytes == 4);
  text += fmt::format("parallelism:\n  dp: {}\n  tp: {}\n  pp: {}\n", p.data, p.tensor, p.pipeline);
  if (p.context > 1) text += fmt::format("  context_parallel_size: {}\n", p.context);
  text += fmt::format("  pp_engine: {}\n  tp_mode: {}\n", job.schedule.name == "gpipe" ? "afab" : "1f1b",
                      p.sequence_parallel ? "REDUCE_SCATTER" : "ALL_REDUCE");
  text += fmt::format("  recompute_layer: {}\n", job.recompute.granularity == model::RecomputeGranularity::kFull);
  return text +
         fmt::format("tokens:\n  micro_batch_size: {}\n  batch_accumulation_per_replica: {}\n  sequence_length: {}\n",
                     job.batch.micro, job.microbatches(), job.batch.sequence_length);
}

}  // namespace foretoken::io
