// Lists the assumptions and omissions of one run, which depend on how its traffic moves.
#include "sim/study/predict/caveats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/fast/bounds.h"
#include "sim/job/parts.h"
#include "sim/model/attention_ops.h"
#include "sim/report/text/number.h"
#include "sim/step/memory/memory.h"

namespace foretoken::study {

using job::Job;
using ranks::Traffic;

namespace {

constexpr double kTrifle = 1e-4;  ///< part of a GPU's memory that no warning names

// Returns the clusters of a job whose nodes a fabric joins.
std::vector<const net::Cluster*> joined_clusters(const Job& job) {
  std::vector<const net::Cluster*> all;
  if (job.groups.empty() && job.gpus > job.cluster.links.gpus) all.push_back(&job.cluster);
  for (const job::StageGroup& group : job.groups) all.push_back(&group.cluster);
  return all;
}

// Returns the run's assumptions about the fabric.
std::vector<std::string> assumptions_of_fabric(const Job& job, Traffic traffic) {
  bool dragonfly = false, minimal = false;
  double over = 1;
  for (const net::Cluster* cluster : joined_clusters(job)) {
    if (cluster->fabric_kind == "dragonfly") {
      dragonfly = true;
      minimal = minimal || !cluster->adaptive_routing;
    } else {
      over = std::max(over, cluster->links.oversubscription);
    }
  }
  std::vector<std::string> lines;
  for (const net::Cluster* cluster : joined_clusters(job))
    if (cluster->segment && cluster->links.gpus == cluster->segment->gpus)
      lines.push_back(
          fmt::format("{}: {} of the {} GPUs of each NVLink domain (segment_gpus), as Slurm's --segment={} "
                      "places a job",
                      cluster->name, cluster->segment->gpus, cluster->segment->of,
                      cluster->segment->gpus / cluster->gpus_per_node));
  if (dragonfly)
    lines.emplace_back(traffic != Traffic::kFlows
                           ? "dragonfly: traffic never waits for the cables between two groups, a best case; "
                             "--unfolded lets it wait"
                       : minimal ? "dragonfly: only minimal routes, a worst case; ways around full links are not "
                                   "simulated"
                                 : "dragonfly: adaptive routes; between groups what every pattern of traffic can have, "
                                   "half of the cables or more");
  if (over > 1 && traffic == Traffic::kAnalytic)
    lines.push_back(
        fmt::format("fabric oversubscribed {:g}:1: a worst case, all traffic between nodes crosses its thin part; "
                    "--unfolded slows down only the traffic that does",
                    over));
  if (!job.groups.empty() && traffic == Traffic::kFlows)
    lines.emplace_back(
        "between nodes of different kinds traffic loads only their NICs: the links that join their networks are never "
        "full");
  return lines;
}

// Published steps of eight A100 (validate/testdata/bert-squad-pytorch.json) show such exchanges at a fifth to a sixth
// of the rate of PCIe.
void warn_of_copies_through_the_host(const Job& job, std::vector<std::string>& warnings) {
  const auto copies = [](const net::Cluster& cluster) { return !cluster.peer_to_peer; };
  if (job.gpus == 1 || !(copies(job.cluster) || std::ranges::any_of(job.groups, copies, &job::StageGroup::cluster)))
    return;
  warnings.emplace_back(
      "p2p false: exchanges have the rate of PCIe, a best case; those of eight A100 were measured at a fifth of it");
}

// Warns that a placement has no effect when each message and collective has one cost.
void warn_of_idle_placement(const Job& job, const How& how, std::vector<std::string>& warnings) {
  if (how.traffic == Traffic::kAnalytic && !job.imperfections.placement.empty())
    warnings.emplace_back(
        "imperfections.placement moves no message or collective: with --collectives analytic each has one cost "
        "wherever its ranks sit; expected --collectives flows");
}

// Returns the axes whose collectives inside layers may use slow links or ranks out of order.
AxisSet inside_layers(const Job& job) {
  const job::Imperfections& what = job.imperfections;
  const bool inside_nodes =
      !what.placement.empty() || std::any_of(what.slow_links.begin(), what.slow_links.end(), [](const auto& link) {
        return link.from.starts_with("node") && link.to.starts_with("node");
      });
  const auto uses = [&](const GroupShape& group) { return group.ranks > 1 && (inside_nodes || group.nodes > 1); };
  AxisSet inside;
  int first_gpu = 0;
  const job::Parts parts(job);
  for (const Job* part : parts.all()) {
    const NodeId first_node = job.node_of(id_of<Gpu>(first_gpu));
    first_gpu += part->gpus;
    const NodeId last_node = job.node_of(id_of<Gpu>(first_gpu - 1));
    const auto is_here = [&](const auto& nic) { return nic.node >= first_node && nic.node <= last_node; };
    if (!job.groups.empty() && std::none_of(what.slow_nics.begin(), what.slow_nics.end(), is_here)) continue;
    const int domain = part->cluster.links.gpus;
    for (const auto& [axis, name] : kAxisNames)
      if ((net::kLayerAxes | net::kExpertLayerAxes).contains(axis) && uses(part->grid().shape(axis, domain)))
        inside = inside | axis;
  }
  return inside;
}

// Warns of communication hidden by kernels: at stage fidelity only exposed communication becomes flows
// (sim/ranks/transfers.cpp).
void warn_of_hidden_communication(const Job& job, const How& how, std::vector<std::string>& warnings) {
  if (how.traffic != Traffic::kFlows || how.fidelity != step::Fidelity::kStage || !job.imperfections.moves_flows())
    return;
  const AxisSet inside = inside_layers(job);
  AxisSet hides = Axis::kContext;
  if (job.overlap.tensor_parallel || job.runtime.overlap_backward_collectives) hides = hides | Axis::kTensor;
  if (job.routing.shared_expert_overlap) hides = hides | net::kExpertLayerAxes;
  std::vector<std::string_view> hidden;
  for (const auto& [axis, name] : kAxisNames)
    if ((inside & hides).contains(axis)) hidden.push_back(name);
  if (hidden.empty()) return;
  warnings.push_back(fmt::format(
      "imperfections: {}-parallel communication that kernels hide keeps the cost of sound links and of ranks in order; "
      "`foretoken simulate --fidelity kernel` uses the links as they are",
      fmt::join(hidden, "- and ")));
}

// Warns of the part of exchanges that another micro-batch hides. It is time that no task has.
void warn_of_overlapped_exchanges(const Job& job, const How& how, std::vector<std::string>& warnings) {
  if (how.traffic != Traffic::kFlows || !job.imperfections.moves_flows() || !job.overlap.exchanges) return;
  if (!inside_layers(job).contains(Axis::kExpert)) return;
  warnings.emplace_back(
      "imperfections: the part of exchanges that moe.overlap hides keeps the cost of sound links and of ranks in "
      "order; expected moe.overlap false, for which all of it uses the links as they are");
}

// Warns that the memory of an answer ignores the rows of imbalanced experts.
void warn_of_rows_in_memory(const Job& job, std::vector<std::string>& warnings) {
  const auto is_counted = [&](const job::ImbalancedExperts& group) {
    return group.imbalance <= job.imbalance_at_peak();
  };
  if (std::ranges::all_of(job.imperfections.imbalanced_experts, is_counted)) return;
  warnings.push_back(fmt::format(
      "imperfections.imbalanced_experts change times, not memory: it has {:g} times the mean rows on every rank; "
      "--set moe.imbalance gives the memory of a group",
      job.imbalance_at_peak()));
}

// The fullest rank of Megatron-LM's functional tests has up to 1.9 times the mean tokens in the micro-batch of the peak
// (docs/modeller/experts.md, peaks with natural routing).
constexpr double kUnevenRouting = 1.9;

// Returns the peak of the job at an imbalance, when there it fits as `fits` says. Returns nothing otherwise.
std::optional<Bytes> peak_at(double imbalance, bool fits, Job job) {
  job.routing.imbalance = imbalance;
  const Bytes peak = search::peak_memory(job);
  return search::fits(job, peak) == fits ? std::optional(peak) : std::nullopt;
}

// Warns of a job that does not fit as uneven as published tests are, and of one that fits with even routing only.
void warn_of_uneven_routing(const Job& job, const report::Memory& memory, std::vector<std::string>& warnings) {
  if (!job.model.experts || job.routing.capacity_factor || !job.groups.empty()) return;
  const double counted = job.imbalance_at_peak(), even = job.routing.imbalance_in_times();
  const double uneven = std::min(kUnevenRouting, model::most_imbalance(*job.model.experts, job.parallelism.expert));
  const auto held = [&](Bytes peak) {
    return fmt::format("{} of {}", report::binary_bytes(peak + memory.outside_allocator),
                       report::binary_bytes(memory.capacity));
  };
  if (memory.fits && uneven > counted) {
    if (const auto peak = peak_at(uneven, false, job))
      warnings.push_back(fmt::format(
          "memory: {} at moe.imbalance {:.3g}; it fits at {:g}. Megatron-LM's tests reach {:g} before routing is "
          "trained",
          held(*peak), uneven, counted, kUnevenRouting));
  } else if (!memory.fits && even < counted) {
    if (const auto peak = peak_at(even, true, job))
      warnings.push_back(fmt::format(
          "memory: the fullest expert rank is taken to hold {:g} times the mean rows. With even routing the "
          "job fits: {}. Where routing is balanced, state moe.imbalance 1",
          counted, held(*peak)));
  }
}

// Says where a ZeRO stage needs more memory than the one below, beyond a trifle. Stages 2 and 3 have no pipeline.
void warn_of_a_stage_that_saves_nothing(const Job& job, std::vector<std::string>& warnings) {
  const int zero = job.optimizer.zero_stage;
  if (zero < 2 || !job.groups.empty()) return;
  Job below = job;
  below.optimizer.zero_stage = zero - 1;
  const Bytes most = step::JobMemory(job).held(Stage{}).total() - step::JobMemory(below).held(Stage{}).total();
  if (most <= kTrifle * job.cluster.gpu.memory) return;
  warnings.push_back(
      fmt::format("ZeRO-{} needs {} more than ZeRO-{} here: {}", zero, report::binary_bytes(most), zero - 1,
                  zero == 3                   ? "gathered weights stand beside the shards"
                  : job.runtime.fully_sharded ? "whole weights stand beside the shards"
                                              : "a bucket of gradients stands beside each rank's share"));
}

// Says where training fewer weights needs more activations: FSDP keeps inputs twice beside frozen weights.
void warn_of_inputs_kept_twice(const Job& job, std::vector<std::string>& warnings) {
  if (job.runtime.frozen_input_copies == 1 || !job.model.tuning.freezes() || !job.groups.empty()) return;
  Job once = job;
  once.runtime.frozen_input_copies = 1;
  const auto stashed = [](const Job& of) {
    Bytes bytes;
    for (const step::PassMemory& pass : step::JobMemory(of).of_passes(Stage{})) bytes += pass.stash;
    return bytes;
  };
  const Bytes more = stashed(job) - stashed(once);
  if (more <= kTrifle * job.cluster.gpu.memory) return;
  warnings.push_back(fmt::format(
      "beside frozen weights runtime {} keeps the input of a recomputed layer {:g} times: {} more than with "
      "all weights trained",
      in_quotes(job.runtime.name), job.runtime.frozen_input_copies, report::binary_bytes(more)));
}

// Says where recomputing whole layers needs more than recomputing attention. Schedules that split the backward pass
// keep a layer's tensors until both parts are done.
void warn_of_recomputation_that_saves_nothing(const Job& job, std::vector<std::string>& warnings) {
  if (job.recompute.granularity != model::RecomputeGranularity::kFull) return;
  if (!job.schedule.splits_backward || !job.groups.empty()) return;
  Job selective = job;
  selective.recompute.granularity = model::RecomputeGranularity::kSelective;
  const Bytes more = search::peak_memory(job) - search::peak_memory(selective);
  if (more <= kTrifle * job.cluster.gpu.memory) return;
  warnings.push_back(
      fmt::format("recompute full needs {} more than selective here: schedule {} keeps whole layers until "
                  "their weight gradients are done",
                  report::binary_bytes(more), job.schedule.name));
}

// Says where the softmax of unfused attention is slow for its shape: twice the sequences may then take less time.
void warn_of_unfused_softmax(const Job& job, std::vector<std::string>& warnings) {
  using model::kSoftmaxBlock;
  const model::LayerContext context = job.layer_context();
  if (job.attention != model::AttentionKind::kUnfused || is_wide(context.precision) || !job.groups.empty()) return;
  if (!context.fusions.softmax || context.fusions.any_softmax) return;
  const std::int64_t heads = job.model.heads / context.tensor;
  if (context.micro_batch * heads % kSoftmaxBlock == 0) return;
  warnings.push_back(fmt::format(
      "attention unfused: the fused softmax of {} takes a multiple of {} score matrices, and a GPU has {}; slower "
      "kernels run unless batch.micro is a multiple of {}",
      job.runtime.name, kSoftmaxBlock, context.micro_batch * heads, kSoftmaxBlock / std::gcd(kSoftmaxBlock, heads)));
}

// Says where a step takes less time than its operations at the GPU's peak. Counts causal attention once, as kernels do.
// Frozen weights need fewer operations than MFU counts.
void warn_of_more_than_the_peak(const Job& job, report::Metrics& metrics) {
  if (job.model.tuning.freezes() || metrics.megatron_log_tflops_per_gpu <= metrics.mfu_peak_tflops) return;
  metrics.warnings.push_back(
      fmt::format("the step needs {:.4g} TFLOP/s of a GPU with {:.4g}: no kernel is as fast; check the factors and "
                  "rates of profile "
                  "{} and runtime {}",
                  metrics.megatron_log_tflops_per_gpu, metrics.mfu_peak_tflops, in_quotes(job.profile.name),
                  in_quotes(job.runtime.name)));
}

// Says why MFU exceeds 1 where causal attention is nearly all of the work: by definition it counts the whole matrix of
// scores, and kernels compute half of it.
void warn_of_attention_counted_whole(const Job& job, report::Metrics& metrics) {
  if (metrics.mfu <= 1 || metrics.megatron_log_tflops_per_gpu > metrics.mfu_peak_tflops) return;
  metrics.warnings.push_back(
      fmt::format("MFU counts the full s x s attention, of which causal kernels compute half, so it can exceed 100 % "
                  "with sequences of {} tokens; with that half counted once it is {:.1f} %",
                  job.batch.sequence_length, 100 * metrics.megatron_log_tflops_per_gpu / metrics.mfu_peak_tflops));
}

}  // namespace

void add_caveats(const Job& job, const How& how, report::Metrics& metrics) {
  for (std::string& line : assumptions_of_fabric(job, *how.traffic)) metrics.assumptions.push_back(std::move(line));
  warn_of_copies_through_the_host(job, metrics.warnings);
  warn_of_idle_placement(job, how, metrics.warnings);
  warn_of_hidden_communication(job, how, metrics.warnings);
  warn_of_overlapped_exchanges(job, how, metrics.warnings);
  warn_of_rows_in_memory(job, metrics.warnings);
  warn_of_uneven_routing(job, metrics.memory, metrics.warnings);
  warn_of_a_stage_that_saves_nothing(job, metrics.warnings);
  warn_of_inputs_kept_twice(job, metrics.warnings);
  warn_of_recomputation_that_saves_nothing(job, metrics.warnings);
  warn_of_unfused_softmax(job, metrics.warnings);
  warn_of_more_than_the_peak(job, metrics);
  warn_of_attention_counted_whole(job, metrics);
}

}  // namespace foretoken::study
