// Every rule between fields, one function each: degrees and GPUs, shards, layers, batch, schedule, hardware.
#include "sim/io/scenario/scenario_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/noun.h"
#include "sim/io/json/text.h"
#include "sim/job/layout.h"

namespace foretoken::io {
namespace {

using job::Job;
using job::Parallelism;

/// "1024" or "1016 or 1024": the multiples of `unit` around `value`, for what to try.
std::string multiples_near(std::int64_t value, std::int64_t unit) {
  const std::int64_t below = value / unit * unit;
  return below == 0 ? fmt::format("{}", unit) : fmt::format("{} or {}", below, below + unit);
}

/// The data-parallel degree, and whether the degrees make up the GPUs.
bool degrees_fit(const Node& root, Job& scenario) {
  Parallelism& parallelism = scenario.parallelism;
  const std::int64_t replica = std::int64_t{parallelism.tensor} * parallelism.pipeline * parallelism.context;
  const std::string product = fmt::format("tensor {} x pipeline {} x context {} = {}", parallelism.tensor,
                                          parallelism.pipeline, parallelism.context, replica);
  if (scenario.gpus % replica != 0) {
    const std::string what_to_try =
        scenario.groups.empty() ? multiples_near(scenario.gpus, replica) : "other degrees, or other groups of nodes";
    root.complain("gpus",
                  fmt::format("expected a multiple of {}, found {}; try {}", product, scenario.gpus, what_to_try));
    return false;
  }
  const int data = static_cast<int>(scenario.gpus / replica);
  const int stated = parallelism.data;
  parallelism.data = data;
  if (stated == 0 || stated == data) return true;
  std::string message =
      fmt::format("expected {} ({} / ({})), found {}", data, with_noun(scenario.gpus, "GPU"), product, stated);
  if (scenario.groups.empty()) message += fmt::format("; or set gpus to {}", replica * stated);
  root.child("parallelism").complain("data", message);
  return false;
}

/// Groups of nodes are checked where they are read: what is wrong with them stands in their own entries.
void check_nodes(const Node& root, const Job& scenario) {
  if (!scenario.groups.empty()) return;
  const net::Cluster& cluster = scenario.cluster;
  check_gpus_fill_nodes(root, cluster, scenario.gpus);
  if (scenario.gpus > cluster.links.gpus && cluster.links.nics == 0)
    root.complain("gpus", fmt::format("expected at most {}: the nodes of {} have no NICs, found {}", cluster.links.gpus,
                                      in_quotes(cluster.name), scenario.gpus));
}

/// The job has the GPUs of all groups.
bool groups_make_up_gpus(const Node& root, const Job& scenario) {
  int sum = 0;
  for (const job::StageGroup& group : scenario.groups) sum += group.stages;  // not dealt out yet: GPUs
  if (scenario.groups.empty() || sum == scenario.gpus) return true;
  root.complain("gpus", fmt::format("expected {}, the GPUs of all groups of cluster {}, found {}", sum,
                                    in_quotes(scenario.cluster.name), scenario.gpus));
  return false;
}

/// Every stage stands on nodes of one kind: groups of GPUs become groups of stages.
bool stages_dealt_to_groups(const Node& root, Job& scenario) {
  const int ranks_a_stage = scenario.gpus / scenario.parallelism.pipeline;
  for (job::StageGroup& group : scenario.groups) {
    if (group.stages % ranks_a_stage != 0) {
      root.child("parallelism")
          .complain("pipeline",
                    fmt::format("expected stages on nodes of one kind: {} / pipeline {} = {} a stage do "
                                "not divide the {} of {}; try a larger one",
                                with_noun(scenario.gpus, "GPU"), scenario.parallelism.pipeline, ranks_a_stage,
                                with_noun(group.stages, "GPU"), in_quotes(group.cluster.name)));
      return false;
    }
    group.stages /= ranks_a_stage;
  }
  return true;
}

/// Degrees up to twice the stated one that divide `size`, for what to try.
std::string divisors_near(std::int64_t size, int degree) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= std::min<std::int64_t>(size, 2 * std::int64_t{degree}); ++d)
    if (size % d == 0) found.push_back(d);
  if (found.size() > 3) found.erase(found.begin(), found.end() - 3);
  return fmt::format("{}", fmt::join(found, ", "));
}

void check_shards(const Node& parallelism, const Job& scenario) {
  const int tensor = scenario.parallelism.tensor;
  const model::Transformer& model = scenario.model;
  if (model.heads % tensor != 0)
    parallelism.complain(
        "tensor", fmt::format("expected a divisor of the model's {}, found {}; try {}",
                              with_noun(model.heads, "attention head"), tensor, divisors_near(model.heads, tensor)));
  if (model.kv_heads != model.heads && model.kv_heads % tensor != 0 && tensor % model.kv_heads != 0)
    parallelism.complain("tensor", fmt::format("expected a divisor or a multiple of the model's {} key-value heads, "
                                               "found {}",
                                               model.kv_heads, tensor));
  if (model.ffn_hidden % tensor != 0)
    parallelism.complain("tensor", fmt::format("expected a divisor of the model's MLP width {}, found {}; try {}",
                                               model.ffn_hidden, tensor, divisors_near(model.ffn_hidden, tensor)));
  const std::int64_t traded = std::int64_t{tensor} * scenario.parallelism.context;
  if (scenario.parallelism.context > 1 && scenario.parallelism.context_exchange == model::ContextExchange::kAllToAll &&
      (model.heads % traded != 0 || model.kv_heads % traded != 0))
    parallelism.complain("context_exchange",
                         fmt::format("expected \"ring\" or \"all-gather\": all-to-all deals {} and {} out to "
                                     "tensor {} x context {} = {} ranks",
                                     with_noun(model.heads, "head"), with_noun(model.kv_heads, "key-value head"),
                                     tensor, scenario.parallelism.context, traded));
  if (scenario.parallelism.expert > 1)
    parallelism.complain("expert", fmt::format("expected 1: model {} is dense, found {}", in_quotes(model.name),
                                               scenario.parallelism.expert));
}

/// What is wrong with the user's own list of layers, if anything.
std::optional<std::string> why_not_as_stated(const Job& scenario) {
  const Parallelism& parallelism = scenario.parallelism;
  const std::vector<int>& stated = parallelism.layers_per_stage;
  if (parallelism.embedding_and_head_as_layers) return "expected only without embedding_and_head_as_layers";
  if (static_cast<std::int64_t>(stated.size()) != parallelism.pipeline)
    return fmt::format("expected {} numbers (the pipeline degree), found {}", parallelism.pipeline, stated.size());
  std::int64_t sum = 0;
  for (const int layers : stated) sum += layers;
  if (sum != scenario.model.layers)
    return fmt::format("expected a sum of {} (the model's layers), found {}", scenario.model.layers, sum);
  for (const int layers : stated)
    if (layers % parallelism.virtual_pipeline != 0)
      return fmt::format("expected multiples of virtual_pipeline {}, found {}", parallelism.virtual_pipeline, layers);
  return std::nullopt;
}

/// Changes of one number that would let the layers be dealt out.
std::string layers_that_work(const Job& scenario) {
  std::vector<std::string> ways;
  const auto works = [&](const Parallelism& changed) {
    return job::deal_layers(scenario.model.layers, changed).has_value();
  };
  Parallelism changed = scenario.parallelism;
  changed.embedding_and_head_as_layers = !changed.embedding_and_head_as_layers;
  if (works(changed))
    ways.push_back(fmt::format("embedding_and_head_as_layers {}", changed.embedding_and_head_as_layers));
  const auto try_degrees = [&](int Parallelism::*degree, std::string_view key) {
    changed = scenario.parallelism;
    std::vector<int> found;
    const int highest = std::min(2 * changed.*degree, 1024);
    for (changed.*degree = 1; changed.*degree <= highest; ++(changed.*degree))
      if (works(changed)) found.push_back(changed.*degree);
    if (found.size() > 3) found.erase(found.begin(), found.end() - 3);
    if (!found.empty()) ways.push_back(fmt::format("{} {}", key, fmt::join(found, ", ")));
  };
  try_degrees(&Parallelism::pipeline, "pipeline");
  if (scenario.parallelism.virtual_pipeline > 1) try_degrees(&Parallelism::virtual_pipeline, "virtual_pipeline");
  ways.emplace_back("layers_per_stage");
  return either(ways);
}

bool layers_split(const Node& parallelism, const Job& scenario) {
  const Parallelism& degrees = scenario.parallelism;
  if (!degrees.layers_per_stage.empty()) {
    const std::optional<std::string> wrong = why_not_as_stated(scenario);
    if (wrong) parallelism.complain("layers_per_stage", *wrong);
    return !wrong;
  }
  const std::int64_t chunks = std::int64_t{degrees.pipeline} * degrees.virtual_pipeline;
  if (chunks <= scenario.model.layers + 2 && job::deal_layers(scenario.model.layers, degrees)) return true;
  parallelism.complain(
      "pipeline", fmt::format("the {} {} not split evenly over pipeline {} x virtual_pipeline {} = {} chunks; try {}",
                              scenario.model.layers,
                              degrees.embedding_and_head_as_layers ? "layers + 2 (embedding, head) do"
                              : scenario.model.layers == 1         ? "layer does"
                                                                   : "layers do",
                              degrees.pipeline, degrees.virtual_pipeline, chunks, layers_that_work(scenario)));
  return false;
}

bool batch_divides(const Node& root, const Job& scenario) {
  const job::Batch& batch = scenario.batch;
  const std::int64_t unit = batch.micro * scenario.parallelism.data;
  if (batch.global % unit == 0) return true;
  root.child("batch").complain(
      "global", fmt::format("expected a multiple of micro {} x data {} = {}, found {}; try {}", batch.micro,
                            scenario.parallelism.data, unit, batch.global, multiples_near(batch.global, unit)));
  return false;
}

void check_sequence(const Node& root, const Job& scenario) {
  const std::int64_t sequence = scenario.batch.sequence_length;
  const Parallelism& parallelism = scenario.parallelism;
  const auto complain = [&](const std::string& message) { root.child("batch").complain("sequence_length", message); };
  const std::int64_t parts = parallelism.context > 1 ? 2 * std::int64_t{parallelism.context} : 1;
  if (sequence % parts != 0) {
    complain(fmt::format("expected a multiple of 2 x context {} = {}, found {}; try {}", parallelism.context, parts,
                         sequence, multiples_near(sequence, parts)));
  } else if (parallelism.sequence_parallel && sequence / parallelism.context % parallelism.tensor != 0) {
    complain(fmt::format("with sequence_parallel, expected a multiple of context {} x tensor {}, found {}",
                         parallelism.context, parallelism.tensor, sequence));
  }
}

/// ZeRO-2 and 3 reduce every micro-batch's gradients at once, which a pipeline in flight cannot wait for: DeepSpeed
/// refuses the combination (deepspeed/runtime/pipe/engine.py), and FSDP has no pipeline of its own.
void check_sharding(const Node& root, const Job& scenario) {
  const int stage = scenario.optimizer.zero_stage, pipeline = scenario.parallelism.pipeline;
  if (scenario.optimizer.shards_gradients() && pipeline > 1)
    root.child("optimizer")
        .complain("zero_stage", fmt::format("expected 0 or 1 with pipeline {}, found {}: gradients and parameters are "
                                            "sharded without a pipeline only; try pipeline 1",
                                            pipeline, stage));
}

void check_recomputed_layers(const Node& root, const Job& scenario) {
  const int largest = job::deal_layers(scenario.model.layers, scenario.parallelism)->largest();
  if (scenario.recompute.layers > largest)
    root.child("recompute")
        .complain("layers", fmt::format("expected at most {}, the layers of the largest chunk, found "
                                        "{}",
                                        largest, scenario.recompute.layers));
}

void check_positions(const Node& root, const Job& scenario) {
  const model::Transformer& model = scenario.model;
  if (model.positions == model::Positions::kLearned && scenario.batch.sequence_length > model.max_positions)
    root.child("batch").complain(
        "sequence_length", fmt::format("expected at most {}, the learned positions of model {}, "
                                       "found {}",
                                       model.max_positions, in_quotes(model.name), scenario.batch.sequence_length));
}

}  // namespace

void check_gpus_fill_nodes(const Node& node, const net::Cluster& cluster, int gpus) {
  const int size = cluster.gpus_per_node;
  if (gpus > size && gpus % size != 0)
    node.complain("gpus", fmt::format("expected at most one node or whole nodes of {} GPUs ({}), found {}; try {}",
                                      size, in_quotes(cluster.name), gpus, multiples_near(gpus, size)));
}

void apply_scenario_rules(const Node& root, const Sound& sound, Job& scenario) {
  const Node parallelism = root.child("parallelism");
  const bool known = sound.parallelism && schedule_known(root, scenario);
  if (sound.cluster && sound.gpus && !groups_make_up_gpus(root, scenario)) return;
  const bool fits = sound.parallelism && sound.gpus && degrees_fit(root, scenario);
  if (sound.cluster && sound.gpus) check_nodes(root, scenario);
  if (sound.cluster && fits && !stages_dealt_to_groups(root, scenario)) return;
  if (sound.model && sound.parallelism) check_shards(parallelism, scenario);
  const bool split = sound.model && sound.parallelism && layers_split(parallelism, scenario);
  if (sound.parallelism && sound.batch) check_sequence(root, scenario);
  if (sound.model && sound.batch) check_positions(root, scenario);
  if (sound.batch && fits && batch_divides(root, scenario) && known) check_schedule(root, scenario);
  if (split) check_recomputed_layers(root, scenario);
  if (sound.parallelism) check_sharding(root, scenario);
  check_hardware(root, sound, scenario);
}

}  // namespace foretoken::io
