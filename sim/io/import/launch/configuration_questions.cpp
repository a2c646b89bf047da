// Asks for a configuration that only a program or a recipe holds.
#include "sim/io/import/launch/configuration_questions.h"

#include <string_view>

namespace foretoken::io::launch {

void ask_for_configuration(bool model_known, const std::string& because, Report& report) {
  constexpr std::string_view kAsked[] = {"model.num_layers",
                                         "model.hidden_size",
                                         "model.ffn_hidden_size",
                                         "model.activation",
                                         "parallelism.tensor",
                                         "parallelism.pipeline",
                                         "optimizer.zero_stage",
                                         "recompute.granularity",
                                         "precision",
                                         "batch.micro",
                                         "batch.global",
                                         "model.vocab_size",
                                         "model.num_attention_heads"};
  const auto ask = [&](std::string_view key) {
    if (!report.has(key) && !(model_known && key.starts_with("model."))) report.ask(key, because);
  };
  for (const std::string_view key : kAsked) ask(key);
  const Json positions = report.at("model.position_embedding_type");
  if (positions.is_null() || positions == "learned_absolute") ask("model.max_position_embeddings");
  if (!report.has("model.num_experts")) return;
  // Rules of flags ask with the history of Megatron-LM, which says nothing of a recipe.
  constexpr std::string_view kTop = "model.moe_router_topk";
  drop_question_of_flags(kTop, report);
  ask(kTop);
  // Recipes state another degree than the tensor size, which is Megatron-LM's default: NVIDIA-NeMo/Megatron-Bridge,
  // src/megatron/bridge/recipes, expert_tensor_parallel_size.
  // One tensor rank leaves nothing to share; a size that nobody knows may.
  if (report.whole("parallelism.tensor").value_or(0) != 1) ask("parallelism.expert_tensor");
}

void drop_question_of_flags(std::string_view key, Report& report) {
  std::erase_if(report.asked, [&](const Asked& one) { return one.key == key && !one.flag_is_open; });
}

}  // namespace foretoken::io::launch
