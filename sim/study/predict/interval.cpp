// From a job to its place, and from there to its bias and its interval.
#include "sim/study/predict/interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include "sim/model/counts/parameters.h"

namespace foretoken::study {

namespace {

// One piece of the names of a job's GPUs. Several kinds of nodes are a kind of their own, which no case stands for.
template <class Piece>
std::string joined(const job::Job& job, Piece&& piece) {
  if (job.groups.empty()) return std::string(piece(job.cluster.gpu));
  std::string all;
  std::set<std::string> known;
  for (const job::StageGroup& group : job.groups) {
    const std::string one(piece(group.cluster.gpu));
    if (!known.insert(one).second) continue;
    if (!all.empty()) all += '+';
    all += one;
  }
  return all;
}

// "a100" of "a100-sxm4-80gb".
std::string_view kind_of(const net::Gpu& gpu) { return std::string_view(gpu.name).substr(0, gpu.name.find('-')); }

// "sxm" of "a100-sxm4-80gb"; "" of "gb200-186gb".
std::string_view board_of(const net::Gpu& gpu) {
  const std::string_view name = gpu.name;
  const std::size_t first = std::min(name.find('-'), name.size() - 1) + 1;
  const auto* const letter = std::find_if(name.begin() + static_cast<std::ptrdiff_t>(first), name.end(),
                                          [](unsigned char c) { return std::isalpha(c) == 0; });
  return name.substr(first, static_cast<std::size_t>(letter - name.begin()) - first);
}

// " at 500 W" where power limits are lower than the boards'.
std::string limits_of(const job::Job& job) {
  std::string all;
  const auto add = [&](const net::Cluster& cluster) {
    if (cluster.power_limit_watts) all += fmt::format(" at {:g} W", *cluster.power_limit_watts);
  };
  if (job.groups.empty()) add(job.cluster);
  for (const job::StageGroup& group : job.groups) add(group.cluster);
  return all;
}

std::string layers_of(const model::Transformer& model) {
  if (!model.stack) return std::string(model.experts ? "experts" : "dense") + (model.latent ? "+latent" : "");
  std::set<std::string> names;
  for (const model::LayerRun& run : *model.stack) names.insert(run.block.name);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : "+") + name;
  return all;
}

std::string recipe_of(const job::Job& job) {
  const job::PrecisionRecipe& recipe = job.recipe;
  std::string text =
      fmt::format("{:g}+{:g}+{:g}+{:g}", recipe.weight_bytes, recipe.gradient_bytes + recipe.extra_gradient_bytes,
                  recipe.master_bytes, recipe.moment_bytes);
  if (recipe.reduce_bytes != recipe.gradient_bytes) text += fmt::format(" reduced in {:g}", recipe.reduce_bytes);
  if (recipe.fp8_attention) text += " fp8 attention";
  if (job.precision == Precision::kFp8) text += fmt::format(" {} scales", model::name_of(recipe.fp8));
  return text;
}

std::string recompute_of(const job::Recompute& recompute) {
  std::string text(model::name_of(recompute.granularity));
  const model::SelectiveModules& modules = recompute.modules;
  if (recompute.granularity == model::RecomputeGranularity::kSelective)
    for (const model::ModuleName& module : model::kModules)
      if (modules.*module.on) text += fmt::format(" {}", module.key);
  return recompute.block ? text + " of some layers" : text;
}

std::string on_or_off(bool is_on) { return is_on ? "on" : "off"; }

// Returns the way in which tensor-parallel collectives are hidden. Runs with one way say nothing about the other.
std::string tensor_overlap_of(const job::Job& job) {
  if (!job.overlap.tensor_parallel) return "off";
  return job.runtime.tensor_overlap == model::TensorOverlap::kMicroPipeline ? "micro-pipeline" : "userbuffers";
}

std::string routing_of(const job::Job& job) {
  if (!job.model.experts) return "none";
  const job::Routing& routing = job.routing;
  std::string text(model::name_of(routing.dispatcher));
  if (routing.capacity_factor) text += fmt::format(", capacity {:g}", *routing.capacity_factor);
  if (routing.imbalance_in_times() > 1) text += fmt::format(", imbalance {:g}", *routing.imbalance);
  if (job.overlap.exchanges) text += ", beside another micro-batch";
  return text + (routing.shared_expert_overlap ? ", shared experts beside" : "");
}

// GB/s of network that a GPU has to itself; what joins GPUs without a network is no network.
double network_of(const net::Cluster& cluster) {
  const double each = cluster.links.nics_total().value() / (1e9 * std::max(1, cluster.links.gpus));
  return each > 0 ? each : 1;
}

void add_question(trust::Place& place, const job::Job& job) {
  place.gpu = joined(job, kind_of);
  place.architecture = joined(job, [](const net::Gpu& gpu) -> std::string_view { return gpu.architecture; });
  place.runtime = job.runtime.name;
  place.year = job.runtime.year;
  place.bits = 8 * bytes_per_element(job.precision);
  place.layers = layers_of(job.model);
  place.heads = job.model.kv_heads < job.model.heads ? "grouped" : "all";
  place.mlp = job.model.gated() ? "gated" : "plain";
  place.parameters = model::total_parameters(job.model);
}

void add_switches(trust::Place& place, const job::Job& job) {
  place.board = joined(job, board_of) + limits_of(job);
  place.fabric = job.cluster.fabric_kind;
  place.recipe = recipe_of(job);
  place.attention = std::string(model::name_of(job.attention, job.flash_kernel));
  place.exchange = model::exchange_name(job.layer_context());
  place.recompute = recompute_of(job.recompute);
  place.schedule = job.schedule.name + (job.optimizer.post_validation ? ", post-validated" : "");
  place.zero = std::to_string(job.optimizer.zero_stage);
  place.sequence_parallel = on_or_off(job.parallelism.sequence_parallel);
  place.grad_reduce = on_or_off(job.overlap.grad_reduce);
  place.param_gather = on_or_off(job.overlap.param_gather);
  place.p2p = on_or_off(job.overlap.p2p);
  place.tensor_overlap = tensor_overlap_of(job);
  place.graphs = job::name_of(job.cuda_graphs);
  place.compile = on_or_off(job.compile);
  place.routing = routing_of(job);
  place.dropout = on_or_off(job.model.hidden_dropout > 0 || job.model.attention_dropout > 0);
  place.hardware = job.imperfections.any() || job.stragglers.on ? "uneven" : "even";
}

void add_sizes(trust::Place& place, const job::Job& job) {
  const job::Parallelism& cut = job.parallelism;
  place.gpus = job.gpus;
  place.domain = std::max(1, job.cluster.links.gpus);
  place.network = network_of(job.cluster);
  place.sequence = static_cast<double>(job.batch.sequence_length);
  place.micro = static_cast<double>(job.batch.micro);
  place.microbatches = job.microbatches();
  place.tensor = cut.tensor;
  place.context = cut.context;
  place.pipeline = cut.pipeline;
  place.chunks = cut.virtual_pipeline;
  place.expert = cut.expert;
  place.expert_tensor = job.model.experts ? cut.expert_tensor : 1;
}

}  // namespace

trust::Place place_of(const job::Job& job) {
  trust::Place place;
  add_question(place, job);
  add_switches(place, job);
  add_sizes(place, job);
  return place;
}

trust::Bias bias_of(const job::Job& job, const trust::Evidence& evidence) {
  return trust::bias_at(place_of(job), evidence);
}

trust::Interval interval_of(const job::Job& job, Seconds headline, const IntervalQuestion& question) {
  return trust::interval_of(place_of(job), headline, question.evidence, question.level);
}

}  // namespace foretoken::study
