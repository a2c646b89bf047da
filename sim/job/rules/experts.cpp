// Settles the degrees of experts, and checks them against the experts and the ranks of a stage.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/job/hidden_exchanges.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {
namespace {

// Returns the fault of an expert degree, if it has one.
std::optional<std::string> why_not(const Draft& draft, int expert, int expert_tensor) {
  const model::Experts& experts = *draft.job.model.experts;
  const Parallelism& degrees = draft.job.parallelism;
  if (experts.count % expert != 0)
    return fmt::format("expected a divisor of the model's {}, found {}", with_noun(experts.count, "expert"), expert);
  const std::int64_t ranks = std::int64_t{degrees.tensor} * degrees.context * degrees.data;
  const std::int64_t needed = std::int64_t{expert} * expert_tensor;
  if (ranks % needed != 0)
    return fmt::format(
        "expected expert {} x expert_tensor {} = {} to divide the {} of a pipeline stage (tensor {} x context {} x "
        "data {})",
        expert, expert_tensor, needed, with_noun(ranks, "rank"), degrees.tensor, degrees.context, degrees.data);
  return std::nullopt;
}

// Refuses rows that no routing gives. One expert has at most E/k times the mean rows, so a larger capacity holds
// padding alone.
void check_spread(Draft& draft) {
  const model::Experts& experts = *draft.job.model.experts;
  const Routing& routing = draft.job.routing;
  const auto count = static_cast<double>(experts.count), chosen = static_cast<double>(experts.per_token);
  const int ranks = draft.job.parallelism.expert;
  const double most = ranks == 1 ? count / chosen : model::most_imbalance(experts, ranks);
  if (routing.imbalance_in_times() > most)
    draft.complain("/moe/imbalance",
                   fmt::format("expected at most {:g}: {} of {} meet {} of them a token, found {:g}", most,
                               with_noun(ranks, "expert rank"), with_noun(experts.count, "expert"), experts.per_token,
                               *routing.imbalance));
  if (routing.capacity_factor && *routing.capacity_factor > count / chosen)
    draft.complain(
        "/moe/capacity_factor",
        fmt::format("expected at most {:g}, where an expert holds every token ({} / {} a token), found {:g}",
                    count / chosen, with_noun(experts.count, "expert"), experts.per_token, *routing.capacity_factor));
}

void check_routing(Draft& draft) {
  const model::Experts& experts = *draft.job.model.experts;
  const Parallelism& degrees = draft.job.parallelism;
  if (draft.job.routing.capacity_factor && draft.job.routing.imbalance_in_times() > 1)
    draft.complain("/moe/imbalance", "expected none with capacity_factor: every expert gets equally many rows");
  check_spread(draft);
  if (draft.job.routing.shared_expert_overlap && experts.shared_width == 0)
    draft.complain("/moe/shared_expert_overlap",
                   fmt::format("expected false: model {} has no shared experts", in_quotes(draft.job.model.name)));
  if (degrees.tensor > 1 && !degrees.sequence_parallel)
    draft.complain("/parallelism/sequence_parallel",
                   fmt::format("expected true: with tensor {}, experts need it", degrees.tensor));
}

void check_hidden_exchanges(Draft& draft) {
  const Choices& asked = draft.question.choices;
  if (!asked.overlap.exchanges.value_or(false)) return;
  const Recompute recompute = asked.recompute.value_or(Recompute{});
  const auto reason =
      why_exchanges_stay({.expert = draft.job.parallelism.expert,
                          .dispatcher = draft.job.routing.dispatcher,
                          .recomputes_experts = recomputes_experts(recompute.granularity, recompute.modules),
                          .shared_expert_overlap = draft.job.routing.shared_expert_overlap,
                          .shards_gradients = draft.job.optimizer.shards_gradients()});
  if (reason) draft.complain("/moe/overlap", fmt::format("expected false: {}", *reason));
  if (asked.schedule && asked.schedule->pairs_passes)
    draft.complain("/moe/overlap", fmt::format("expected false: schedule {} has pairs of passes that hide exchanges",
                                               in_quotes(asked.schedule->name)));
}

// Returns the reason why a job cannot recompute a module, if there is one.
std::optional<std::string> why_not_recomputed(const Job& job, bool model::SelectiveModules::*module) {
  using Modules = model::SelectiveModules;
  const model::Transformer& model = job.model;
  if (module == &Modules::latent_up && !model.latent)
    return fmt::format("model {} has no latent attention", in_quotes(model.name));
  if (module == &Modules::mlp && !has_mlp(model))
    return fmt::format("all layers of model {} have experts; try \"moe\"", in_quotes(model.name));
  if ((module == &Modules::experts || module == &Modules::expert_activation) && !model.experts)
    return fmt::format("model {} has no experts", in_quotes(model.name));
  if (module != &Modules::shared_experts) return std::nullopt;
  if (!model.experts || model.experts->shared_width == 0)
    return fmt::format("model {} has no shared experts", in_quotes(model.name));
  if (job.routing.shared_expert_overlap) return "with shared_expert_overlap they run beside exchanges";
  return std::nullopt;
}

void check_recomputed_modules(Draft& draft) {
  const std::optional<Recompute>& asked = draft.question.choices.recompute;
  if (!asked || asked->granularity != model::RecomputeGranularity::kSelective) return;
  for (const model::ModuleName& module : model::kModules)
    if (asked->modules.*module.on)
      if (const auto reason = why_not_recomputed(draft.job, module.on))
        draft.complain("/recompute/modules", fmt::format("expected no {}: {}", in_quotes(module.key), *reason));
}

void note_experts(Draft& draft) {
  const Routing& routing = draft.job.routing;
  const Parallelism& degrees = draft.job.parallelism;
  std::string spread = "every expert gets equally many tokens";
  if (routing.imbalance_in_times() > 1)
    spread = fmt::format("the hottest rank gets {:g} times the mean tokens", *routing.imbalance);
  else if (const double peak = draft.job.imbalance_at_peak(); peak > 1)
    spread +=
        fmt::format(" in times, and the fullest rank {:g} times the mean in memory (moe.imbalance states both)", peak);
  if (routing.capacity_factor)
    spread = fmt::format("every expert gets {:g} times the mean tokens, padded or dropped", *routing.capacity_factor);
  if (const auto own = std::ssize(draft.question.imperfections.imbalanced_experts); own > 0)
    spread += fmt::format("; {} as imperfections.imbalanced_experts state", with_noun(own, "expert group"));
  draft.notes.assumptions.push_back(
      fmt::format("experts: expert {} x expert_tensor {}; {}", degrees.expert, degrees.expert_tensor, spread));
}

}  // namespace

bool has_mlp(const model::Transformer& model) {
  return !model.experts || model.experts->dense_first > 0 || model.experts->every > 1;
}

void settle_experts(Draft& draft) {
  const Question& question = draft.question;
  const AskedParallelism& asked = question.choices.parallelism;
  Parallelism& degrees = draft.job.parallelism;
  const model::Transformer& model = draft.job.model;
  degrees.expert = degrees.expert_tensor = 1;
  check_recomputed_modules(draft);
  if (!model.experts) {
    const auto refuse = [&](const char* pointer) {
      draft.complain(pointer, fmt::format("expected none: model {} is dense", in_quotes(model.name)));
    };
    if (asked.degrees[Axis::kExpertTensor].value_or(1) > 1) refuse("/parallelism/expert_tensor");
    if (question.routing) refuse("/moe");
    return;
  }
  const int expert = asked.degrees[Axis::kExpert].value_or(1);
  const int usual = question.runtime.experts_split_as_dense ? degrees.tensor : 1;
  const int expert_tensor = asked.degrees[Axis::kExpertTensor].value_or(usual);
  if (model.experts->width % expert_tensor != 0) {
    draft.complain("/parallelism/expert_tensor", fmt::format("expected a divisor of the experts' width {}, found {}",
                                                             model.experts->width, expert_tensor));
  } else if (const auto wrong = why_not(draft, expert, expert_tensor)) {
    draft.complain("/parallelism/expert", *wrong);
  } else {
    degrees.expert = expert;
    degrees.expert_tensor = expert_tensor;
    check_routing(draft);
    check_hidden_exchanges(draft);
    note_experts(draft);
  }
}

}  // namespace foretoken::job
