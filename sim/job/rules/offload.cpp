// Checks offloading: what the runtime can move, what the shards allow, and where the machines have room.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/job/layout.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {
namespace {

bool can_move(const OffloadSupport& support, std::string_view part) {
  if (part == "optimizer") return support.optimizer;
  return part == "parameters" ? support.parameters : support.activations;
}

std::string what_moves(const OffloadSupport& support) {
  std::string words;
  for (const auto& [key, part] : kOffloadedParts)
    if (can_move(support, key)) words += (words.empty() ? "" : ", ") + std::string(key);
  return words.empty() ? "nothing" : words;
}

void check_machines(Draft& draft, std::string_view key, const Offloaded& part, const net::Cluster& cluster) {
  const std::string pointer = fmt::format("/offload/{}", key);
  if (!cluster.host)
    draft.complain(pointer, fmt::format("cluster {} states no node.host; expected memory_bytes and memory_gb_per_s of "
                                        "the host that takes the bytes",
                                        in_quotes(cluster.name)));
  else if (part.to == Tier::kDisk && !cluster.host->disks)
    draft.complain(pointer, fmt::format("expected \"cpu\": the hosts of cluster {} state no nvme, found \"nvme\"",
                                        in_quotes(cluster.name)));
}

int fewest_layers(const Job& job) {
  auto fewest = static_cast<int>(job.model.layers);
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline))
    for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline))
      fewest = std::min(fewest, job.layers_in(stage, chunk));
  return fewest;
}

void check_part(Draft& draft, std::string_view key, const Offloaded& part, bool split) {
  const Job& job = draft.job;
  const OffloadSupport& support = job.runtime.offload;
  const std::string pointer = fmt::format("/offload/{}", key);
  if (!can_move(support, key)) {
    draft.complain(pointer, fmt::format("expected none: runtime {} can move {}; try runtime deepspeed",
                                        in_quotes(job.runtime.name), what_moves(support)));
    return;
  }
  if (part.to == Tier::kDisk && !support.disks)
    draft.complain(pointer,
                   fmt::format("expected \"cpu\": runtime {} does not move bytes to disks, found \"nvme\"; try "
                               "runtime deepspeed",
                               in_quotes(job.runtime.name)));
  if (draft.sound.cluster) {
    check_machines(draft, key, part, job.cluster);
    for (const StageGroup& group : job.groups) check_machines(draft, key, part, group.cluster);
  }
  if (split && part.layers && *part.layers > fewest_layers(job))
    draft.complain(pointer + "/layers", fmt::format("expected at most the {} of a chunk, found {}",
                                                    with_noun(fewest_layers(job), "layer"), *part.layers));
}

// DeepSpeed refuses parameters on the host below stage 3 (deepspeed/runtime/zero/config.py). The optimizer on the host
// needs states of its own: stage 1 or more (Megatron-Core's distributed optimizer, ZeRO-Offload).
void check_stages(Draft& draft) {
  const Job& job = draft.job;
  const int stage = job.optimizer.zero_stage;
  if (job.offload.parameters.any() && stage < 3)
    draft.complain(
        "/offload/parameters",
        fmt::format("expected optimizer.zero_stage 3: only sharded parameters stand elsewhere, found {}", stage));
  if (job.offload.optimizer.any() && stage < 1)
    draft.complain("/offload/optimizer",
                   fmt::format("expected optimizer.zero_stage 1 to 3 with an optimizer on the host, found {}", stage));
  if (job.offload.optimizer.any() && job.schedule.without_flush)
    draft.complain("/offload/optimizer", fmt::format("expected a schedule with a flush, found {}", job.schedule.name));
  if (job.offload.optimizer.any() && job.optimizer.name != "adam")
    draft.complain("/offload/optimizer",
                   fmt::format("expected optimizer adam: no runtime has {} on the host", job.optimizer.name));
}

// FSDP has one switch for parameters, gradients and optimizer states (torch/distributed/fsdp, CPUOffload).
void settle_fully_sharded(Draft& draft) {
  Offload& offload = draft.job.offload;
  if (!draft.job.runtime.fully_sharded || offload.optimizer == offload.parameters) return;
  if (offload.optimizer.any()) {
    draft.complain("/offload/optimizer",
                   "expected the value of offload.parameters: FSDP's optimizer states stand where its parameters do");
    return;
  }
  offload.optimizer = offload.parameters;
  draft.notes.assumptions.push_back(
      "offload.optimizer as offload.parameters: FSDP's gradients and optimizer states stand where its parameters do");
}

// Megatron-Core's classic offloading excludes recomputation and pipelines (transformer_config.py, cpu_offloading). Its
// fine-grained one, a fraction here, excludes full recomputation, which leaves it nothing to move.
void check_activations(Draft& draft) {
  const Job& job = draft.job;
  const Offloaded& part = job.offload.activations;
  if (!part.any() || !job.runtime.transformer_engine) return;
  const bool recomputes = job.recompute.granularity != model::RecomputeGranularity::kNone;
  const bool full = job.recompute.granularity == model::RecomputeGranularity::kFull;
  if ((part.layers && recomputes) || full)
    draft.complain("/offload/activations",
                   fmt::format("expected recompute \"none\"{}: runtime {} does not offload what it recomputes",
                               part.layers ? "" : " or \"selective\"", in_quotes(job.runtime.name)));
  if (part.layers && job.parallelism.pipeline > 1)
    draft.complain("/offload/activations",
                   fmt::format("expected pipeline 1 with layers: runtime {} offloads layers without a pipeline only, "
                               "found {}; try a fraction",
                               in_quotes(job.runtime.name), job.parallelism.pipeline));
}

void check_delayed_update(Draft& draft) {
  const Job& job = draft.job;
  if (!job.offload.delayed_update) return;
  if (!job.offload.optimizer.any())
    draft.complain("/offload/delayed_update", "expected false: only an optimizer on the host is delayed");
  else if (!job.runtime.offload.delayed_update)
    draft.complain("/offload/delayed_update",
                   fmt::format("expected false: runtime {} waits for its update", in_quotes(job.runtime.name)));
  else
    draft.notes.warnings.push_back(
        "offload.delayed_update: passes use weights that are one update old; the loss may differ");
}

}  // namespace

void settle_offload(Draft& draft, bool split) {
  const Offload& offload = draft.job.offload;
  if (!offload.any() && !offload.delayed_update) return;
  for (const auto& [key, part] : kOffloadedParts)
    if ((offload.*part).any()) check_part(draft, key, offload.*part, split);
  check_stages(draft);
  settle_fully_sharded(draft);
  check_activations(draft);
  check_delayed_update(draft);
}

}  // namespace foretoken::job
