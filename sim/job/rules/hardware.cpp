// Checks precisions, profiles and placements against the machines. Allowed but slow choices give warnings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/cost/kernels/attention.h"
#include "sim/job/deepep.h"
#include "sim/job/rules/rules.h"
#include "sim/model/attention_ops.h"
#include "sim/model/cut.h"
#include "sim/net/cables.h"

namespace foretoken::job {
namespace {

/// One kind of node and its costs.
struct Hardware {
  const net::Cluster& cluster;
  const cost::Profile& profile;
};

std::vector<Hardware> hardware_of(const Job& job) {
  if (job.groups.empty()) return {{job.cluster, job.profile}};
  std::vector<Hardware> all;
  for (const job::StageGroup& group : job.groups) all.push_back({group.cluster, group.profile});
  return all;
}

/// Returns the precisions of training, as a scenario states them, that a map of rates or laws has.
template <class Map>
std::string precisions_of(const Map& map) {
  std::vector<std::string> names;
  for (const Precision precision :
       {Precision::kFp16, Precision::kBf16, Precision::kFp8, Precision::kNvfp4, Precision::kTf32, Precision::kFp32})
    if (map.contains(precision)) names.emplace_back(in_quotes(name_of(precision)));
  return either(names);
}

// Tensor cores multiply scales of 32 elements since Blackwell (Transformer Engine, MXFP8BlockScaling).
bool lacks_mxfp8(const net::Gpu& gpu) {
  return gpu.architecture == "volta" || gpu.architecture == "ampere" || gpu.architecture == "ada" ||
         gpu.architecture == "hopper";
}

void check_precision(Draft& draft, const Hardware& hardware) {
  const Job& job = draft.job;
  const net::Gpu& gpu = hardware.cluster.gpu;
  const model::LayerContext context = job.layer_context();
  const Precision products = model::Cut(context).product_precision();
  if (draft.sound.cluster && !gpu.peak_of(job.precision)) {
    draft.complain("/precision", fmt::format("GPU {} has no {} rate; expected {}", in_quotes(gpu.name),
                                             in_quotes(job.precision_name()), precisions_of(gpu.peak)));
  } else if (draft.sound.cluster && job.uses_mxfp8() && lacks_mxfp8(gpu)) {
    draft.complain("/precision", fmt::format("GPU {} has no tensor cores for \"mxfp8\", which came with Blackwell; "
                                             "expected {} (with another fp8_recipe)",
                                             in_quotes(gpu.name), precisions_of(gpu.peak)));
  } else if (draft.sound.profile && !hardware.profile.gemm.contains(products)) {
    const bool blocks = products == Precision::kFp8Block && !job.uses_mxfp8();
    const std::string expected = blocks ? "\"delayed\" or \"tensorwise\"" : precisions_of(hardware.profile.gemm);
    draft.complain(blocks ? "/precision_recipe/fp8_recipe" : "/precision",
                   fmt::format("profile {} has no {} matrix products; expected {}", in_quotes(hardware.profile.name),
                               blocks ? "\"blockwise\"" : in_quotes(job.precision_name()), expected));
  }
}

// FlashAttention and DeepEP have kernels for 16 bits and less.
void check_wide_elements(Draft& draft) {
  const Job& job = draft.job;
  if (!is_wide(job.precision)) return;
  if (job.attention == model::AttentionKind::kFlash)
    draft.complain("/attention",
                   fmt::format("expected \"unfused\" with precision {}: FlashAttention has no kernels for it",
                               in_quotes(job.precision_name())));
  if (job.model.experts)
    draft.complain("/precision", fmt::format("expected \"bf16\" or \"fp16\" with experts, found {}",
                                             in_quotes(job.precision_name())));
}

// Attention in fp8 is one fused kernel, Transformer Engine's.
void check_narrow_attention(Draft& draft, const cost::Profile& profile) {
  const Job& job = draft.job;
  if (!job.recipe.fp8_attention) return;
  const char* pointer = "/precision_recipe/attention";
  if (job.precision != Precision::kFp8 && job.precision != Precision::kNvfp4) {
    draft.complain(pointer,
                   fmt::format("expected \"bf16\" with precision {}: attention in fp8 is part of fp8 and nvfp4",
                               in_quotes(job.precision_name())));
    return;
  }
  if (job.attention != model::AttentionKind::kFlash || job.flash_kernel != FlashKernel::kFastest) {
    draft.complain(pointer, fmt::format("expected \"bf16\" with attention {}: only \"flash\" runs in fp8",
                                        in_quotes(model::name_of(job.attention, job.flash_kernel))));
  } else if (!cost::has_mask(profile.attention.fp8, /*causal=*/true)) {
    draft.complain(
        pointer, fmt::format("profile {} has no laws of attention in fp8; expected \"bf16\"", in_quotes(profile.name)));
  }
}

// Tables have attention in fp8 under a causal mask alone.
void warn_of_an_assumed_mask(const Job& job, const cost::Profile& profile, std::vector<std::string>& warnings) {
  const bool ring = model::runs_without_mask(job.layer_context());
  if (!job.recipe.fp8_attention || !(ring || job.model.encoder || job.model.encoder_decoder)) return;
  if (!cost::is_mask_assumed(profile.attention, {.causal = false, .precision = Precision::kFp8})) return;
  warnings.push_back(
      fmt::format("attention in fp8 without a mask{} was not measured: its time has the proportion to bf16 that causal "
                  "kernels have",
                  ring ? ", as a ring of context ranks runs it," : ""));
}

// Warns of a GPU whose profile was fitted at another rate. Costs stay the profile's.
void warn_of_another_rate(const Job& job, const Hardware& hardware, std::vector<std::string>& warnings) {
  const auto stated = hardware.cluster.gpu.peak_of(job.precision);
  const auto found = hardware.profile.gemm.find(job.precision);
  if (!stated || found == hardware.profile.gemm.end()) return;
  const auto* law = std::get_if<cost::TileWaveLaw>(&found->second.law);
  if (law == nullptr || std::abs(*stated / law->peak - 1) < 0.01) return;
  warnings.push_back(
      fmt::format("the GPU states {:.4g} TFLOP/s, but profile {} was fitted at {:.4g}: times are the "
                  "profile's, MFU is of the stated rate",
                  stated->value() / 1e12, in_quotes(hardware.profile.name), law->peak.value() / 1e12));
}

void warn_of_slow_placements(const Job& job, const Hardware& hardware, std::vector<std::string>& warnings) {
  const int tensor = job.parallelism.tensor;
  const int domain = std::min(hardware.cluster.links.gpus, job.gpus);
  if (tensor > domain) {
    warnings.push_back(
        fmt::format("tensor {} is wider than the {} that {} NVLink: its collectives cross the network in every layer",
                    tensor, with_noun(domain, "GPU"), domain == 1 ? "shares" : "share"));
  } else if (domain % tensor != 0) {
    warnings.push_back(fmt::format("tensor {} does not divide the {} GPUs of a node: some tensor groups span two nodes",
                                   tensor, domain));
  }
}

// Warns of groups without NVLink. Bridged pairs and meshes join some GPUs of a node and not others.
void warn_of_missing_cables(const Job& job, const net::Cluster& cluster, std::vector<std::string>& warnings) {
  const net::RankGrid grid = job.grid();
  for (const auto& [axis, name] : kAxisNames) {
    if (!net::kStageAxes.contains(axis) && !(job.model.experts && net::kExpertAxes.contains(axis))) continue;
    if (axis == Axis::kPipeline) continue;
    const AxisSet axes = axis == Axis::kData ? net::kReplicaAxes : axis;  // gradients are reduced over both
    if (!net::lacks_cables(cluster, grid.groups(axes))) continue;
    warnings.push_back(
        fmt::format("no ring of NVLink cables joins the GPUs of every {}-parallel group inside a node: "
                    "its collectives go over PCIe",
                    name));
  }
}

// NCCL's rates in the place of an unknown law would be a guess without a word.
void check_exchanges(Draft& draft, const Hardware& hardware) {
  const Job& job = draft.job;
  if (job.parallelism.expert == 1) return;
  if (job.routing.dispatcher == model::Dispatcher::kHybridEp)
    draft.notes.assumptions.emplace_back(
        "dispatcher hybridep: no public table of it; its bytes move at the rate of NCCL's all-to-all");
  if (job.routing.dispatcher != model::Dispatcher::kDeepEp) return;
  const auto& [cluster, profile] = hardware;
  const net::RankGroups groups = job.grid().groups(Axis::kExpert);
  const auto refuse = [&](const std::string& reason) {
    draft.complain("/moe/dispatcher", fmt::format("expected \"all-to-all\": {}", reason));
  };
  if (net::collective_links(cluster, groups).nvlink_per_gpu.value() <= 0)
    return refuse(
        fmt::format("expert ranks of {} have no NVLink between them, which DeepEP needs", in_quotes(cluster.name)));
  const bool crosses = groups.shape(cluster.links.gpus).nodes > 1;
  if (const auto reason = why_no_deepep(profile, crosses)) refuse(*reason);
}

// Copy engines reach the memory of GPUs that NVLink joins.
void check_peer_copies(Draft& draft, const Hardware& hardware) {
  const Job& job = draft.job;
  if (!job.overlap.tensor_parallel || job.parallelism.tensor == 1) return;
  if (job.runtime.tensor_overlap != model::TensorOverlap::kMicroPipeline) return;
  const net::Cluster& cluster = hardware.cluster;
  const net::RankGroups groups = job.grid().groups(Axis::kTensor);
  const auto refuse = [&](const std::string& reason) {
    draft.complain(
        "/overlap/tensor_parallel",
        fmt::format("expected false, found true: {}, and PyTorch copies between GPUs of one NVLink domain", reason));
  };
  if (groups.shape(cluster.links.gpus).nodes > 1)
    return refuse(fmt::format("tensor groups of {} ranks span nodes of {}", job.parallelism.tensor,
                              with_noun(cluster.links.gpus, "GPU")));
  if (net::pair_links(cluster, groups).nvlink_per_gpu.value() <= 0)
    refuse(fmt::format("NVLink does not join every two of {} tensor ranks on {}", job.parallelism.tensor,
                       in_quotes(cluster.name)));
}

void check_kind(Draft& draft, const Hardware& hardware, std::vector<std::string>& warnings) {
  const auto& [cluster, profile] = hardware;
  const Sound& sound = draft.sound;
  const Job& job = draft.job;
  check_precision(draft, hardware);
  if (sound.profile) check_narrow_attention(draft, profile);
  if (sound.cluster && sound.profile && profile.gpu != cluster.gpu.name)
    warnings.push_back(fmt::format("profile {} describes GPU {}, but the cluster's GPU is {}", in_quotes(profile.name),
                                   in_quotes(profile.gpu), in_quotes(cluster.gpu.name)));
  if (sound.cluster && sound.profile) warn_of_another_rate(job, hardware, warnings);
  if (sound.parallelism && sound.profile) warn_of_an_assumed_mask(job, profile, warnings);
  if (sound.cluster && sound.parallelism) warn_of_slow_placements(job, hardware, warnings);
  if (sound.cluster && sound.profile && draft.complaints.empty()) check_exchanges(draft, hardware);
  if (sound.cluster && draft.complaints.empty()) check_peer_copies(draft, hardware);
  if (sound.cluster && draft.complaints.empty()) warn_of_missing_cables(job, cluster, warnings);
  if (sound.profile && job.flash_kernel != FlashKernel::kFastest && profile.attention.flash2.empty())
    draft.complain("/attention",
                   fmt::format("profile {} has no laws of FlashAttention-2; expected \"flash\" or "
                               "\"unfused\", found {}",
                               in_quotes(profile.name), in_quotes(model::name_of(job.attention, job.flash_kernel))));
}

}  // namespace

void check_hardware(Draft& draft) {
  const Sound& sound = draft.sound;
  Job& job = draft.job;
  std::vector<std::string> warnings;
  for (const Hardware& hardware : hardware_of(job)) check_kind(draft, hardware, warnings);
  check_wide_elements(draft);
  std::vector<std::string>& noted = draft.notes.warnings;
  for (std::string& warning : warnings)  // two kinds of nodes may give the same
    if (std::find(noted.begin(), noted.end(), warning) == noted.end()) noted.push_back(std::move(warning));
  if (sound.parallelism && job.parallelism.sequence_parallel && job.parallelism.tensor == 1) {
    job.parallelism.sequence_parallel = false;
    noted.push_back("sequence_parallel is ignored: it needs tensor of at least 2 (as in Megatron-LM)");
  }
}

}  // namespace foretoken::job
