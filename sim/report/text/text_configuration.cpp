// Writes the resolved configuration with its defaults marked.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/job/parts.h"
#include "sim/model/counts/parameters.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"

namespace foretoken::report {
namespace {

// Writes values, with a star behind each default.
class Resolved {
 public:
  explicit Resolved(const job::Notes& notes) : notes_(notes) {}

  [[nodiscard]] std::string operator()(std::string_view pointer, std::string text) const {
    return is_default(pointer) ? text + "*" : text;
  }
  [[nodiscard]] std::string degree(std::string_view name, std::string_view key, int degree) const {
    return (*this)(fmt::format("/parallelism/{}", key), fmt::format("{} {}", name, degree));
  }
  [[nodiscard]] std::string yes_no(std::string_view name, std::string_view pointer, bool on) const {
    return (*this)(pointer, fmt::format("{} {}", name, on ? "yes" : "no"));
  }

 private:
  // Returns true when the key, or the object around it, was absent.
  [[nodiscard]] bool is_default(std::string_view pointer) const {
    return std::any_of(notes_.defaulted.begin(), notes_.defaulted.end(), [&](const std::string& absent) {
      return pointer.starts_with(absent) && (pointer.size() == absent.size() || pointer[absent.size()] == '/');
    });
  }
  const job::Notes& notes_;
};

std::string number(std::int64_t value) { return whole(static_cast<double>(value)); }

std::string model_row(const model::Transformer& model) {
  std::string heads = counted(static_cast<double>(model.heads), "head");
  if (model.kv_heads != model.heads) heads += fmt::format(" ({} for keys and values)", model.kv_heads);
  return fmt::format("{}: {} parameters, {}, hidden {}, {}, feed-forward {}, vocabulary {}", model.name,
                     in_words(model::total_parameters(model::without_prediction(model))),
                     counted(static_cast<double>(model.layers), "layer"), number(model.hidden), heads,
                     number(model.ffn_hidden), number(model.vocabulary));
}

std::string nodes_row(const job::Job& job) {
  const net::Cluster& cluster = job.cluster;
  const NodeLinks& links = cluster.links;
  const int nodes = (job.gpus + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  std::string inside = links.nvlink_per_gpu.value() > 0
                           ? fmt::format("NVLink {} GB/s a GPU", plain(links.nvlink_per_gpu.value() / 1e9))
                           : fmt::format("PCIe {} GB/s a GPU", plain(links.pcie_per_gpu.value() / 1e9));
  if (links.gpus != cluster.gpus_per_node) inside += fmt::format(" in domains of {}", links.gpus);
  return fmt::format("{}: {} {}, {} of {}; {}; {} of {} GB/s a {} (each direction)", cluster.name,
                     counted(job.gpus, "GPU"), cluster.gpu.name, counted(nodes, "node"), cluster.gpus_per_node, inside,
                     counted(links.nics, "NIC"), plain(links.nic.value() / 1e9),
                     links.gpus == cluster.gpus_per_node ? "node" : "domain");
}

// Describes the nodes of every kind, with the stages placed on them.
std::string cluster_row(const job::Job& job) {
  if (job.groups.empty()) return nodes_row(job);
  std::string row = job.cluster.name;
  int first = 0;  // stage of the kind of nodes
  const job::Parts parts(job);
  for (const job::Job* part : parts.all()) {
    const int last = first + part->parallelism.pipeline - 1;
    row += fmt::format("{} stage{} on {}", first == 0 ? ":" : ".",
                       first == last ? fmt::format(" {}", first) : fmt::format("s {} to {}", first, last),
                       nodes_row(*part));
    first = last + 1;
  }
  return row;
}

std::string profiles_of(const job::Job& job) {
  if (job.groups.empty()) return "profile " + job.profile.name;
  std::vector<std::string> names;
  for (const job::StageGroup& group : job.groups)
    if (std::ranges::find(names, group.profile.name) == names.end()) names.push_back(group.profile.name);
  return fmt::format("profile{} {}", names.size() == 1 ? "" : "s", fmt::join(names, " and "));
}

std::string parallelism_row(const job::Job& job, const Resolved& resolved) {
  const job::Parallelism& p = job.parallelism;
  std::vector<std::string> parts;
  for (const auto& [axis, degree] : job::kDegrees) {
    parts.push_back(resolved.degree(name_of(axis), name_of(axis), p.*degree));
    if (axis == Axis::kPipeline)
      parts.push_back(resolved.degree("virtual pipeline", "virtual_pipeline", p.virtual_pipeline));
  }
  parts.push_back(resolved.yes_no("sequence parallel", "/parallelism/sequence_parallel", p.sequence_parallel));
  if (p.embedding_and_head_as_layers) parts.emplace_back("embedding and head count as layers");
  if (job::encoder_stages(p) > 0 && p.layers_per_stage.empty())
    parts.push_back(fmt::format("encoder on {}", counted(job::encoder_stages(p), "stage")));
  if (!p.layers_per_stage.empty()) parts.push_back(fmt::format("layers {}", fmt::join(p.layers_per_stage, "-")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string experts_row(const job::Job& job, const Resolved& resolved) {
  const model::Experts& experts = *job.model.experts;
  const job::Routing& routing = job.routing;
  std::vector<std::string> parts{
      fmt::format("{} of {} a token", experts.per_token, experts.count),
      resolved.degree("expert", "expert", job.parallelism.expert),
      resolved.degree("expert_tensor", "expert_tensor", job.parallelism.expert_tensor),
      resolved("/moe/dispatcher", fmt::format("dispatcher {}", model::name_of(routing.dispatcher))),
      resolved.yes_no("exchanges beside another micro-batch", "/moe/overlap", job.overlap.exchanges)};
  if (routing.capacity_factor) parts.push_back(fmt::format("capacity factor {:g}", *routing.capacity_factor));
  if (routing.imbalance_in_times() > 1) parts.push_back(fmt::format("imbalance {:g}", *routing.imbalance));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string recompute_text(const job::Recompute& recompute) {
  switch (recompute.granularity) {
    case model::RecomputeGranularity::kNone:
      return "recompute none";
    case model::RecomputeGranularity::kFull:
      return recompute.block ? fmt::format("recompute full, {} of each chunk", counted(recompute.layers, "layer"))
             : recompute.layers == 1 ? std::string("recompute full, every layer")
                                     : fmt::format("recompute full, groups of {} layers", recompute.layers);
    case model::RecomputeGranularity::kSelective:
      break;
  }
  std::vector<std::string_view> modules;
  for (const model::ModuleName& module : model::kModules)
    if (recompute.modules.*module.on) modules.push_back(module.words);
  return fmt::format("recompute selective ({})", fmt::join(modules, ", "));
}

std::string batch_row(const job::Job& job, const Resolved& resolved) {
  const job::Batch& batch = job.batch;
  const std::string masked =
      batch.masked_fraction ? fmt::format(", {:.3g} % of tokens masked", 100 * *batch.masked_fraction) : "";
  const std::string decoder =
      batch.decoder_sequence_length ? fmt::format(", decoder {}", number(*batch.decoder_sequence_length)) : "";
  const std::string packed = batch.packed ? fmt::format(" packed from {} a mean sequence", number(*batch.packed)) : "";
  return fmt::format("{}, {}, {}{}{}{}; {} a step and replica",
                     resolved("/batch/micro", "micro " + number(batch.micro)),
                     resolved("/batch/global", "global " + number(batch.global)),
                     resolved("/batch/sequence_length", "sequence " + number(batch.sequence_length)), decoder, packed,
                     masked, counted(job.microbatches(), "micro-batch", "micro-batches"));
}

// "lora, rank 16 beside queries and values".
std::string training_row(const model::Transformer& model) {
  const model::FineTuning& tuning = model.tuning;
  std::string words(name_of(tuning.method));
  if (tuning.rank > 0) words += fmt::format(", rank {}", tuning.rank);
  if (tuning.has_prompts())
    words += fmt::format(", {}", counted(static_cast<double>(tuning.virtual_tokens), "virtual token"));
  if (!tuning.is_lora()) return words;
  const auto absent = model.latent ? model::HasProduct::kPlain : model::HasProduct::kLatent;
  std::vector<std::string_view> products;
  for (const model::TargetWords& target : model::kTargetWords)
    if (tuning.targets.*target.on && target.in != absent) products.push_back(target.words);
  words += fmt::format(", beside {}", fmt::join(products, ", "));
  return tuning.whole.any() ? fmt::format("{}; {} whole", words, name_of(tuning.whole)) : words;
}

// "fp8, fp8 attention, CUDA graphs of the whole step, compiled".
std::string words_of_precision(const job::Job& job) {
  std::string words(job.precision_name());
  if (job.recipe.fp8_attention) words += ", fp8 attention";
  if (job.cuda_graphs == job::CudaGraphs::kLayer) words += ", CUDA graphs of layers";
  if (job.cuda_graphs == job::CudaGraphs::kFull) words += ", CUDA graphs of the whole step";
  return job.compile ? words + ", compiled" : words;
}

std::string precision_row(const job::Job& job, const Resolved& resolved) {
  return fmt::format(
      "{}, {}, {}", resolved("/precision", words_of_precision(job)),
      resolved("/attention", fmt::format("attention {}", model::name_of(job.attention, job.flash_kernel))),
      resolved("/recompute", recompute_text(job.recompute)));
}

std::string overlap_row(const job::Job& job, const Resolved& resolved) {
  return fmt::format("{}, {}, {}",
                     resolved.yes_no("gradient reduction", "/overlap/grad_reduce", job.overlap.grad_reduce),
                     resolved.yes_no("parameter gathering", "/overlap/param_gather", job.overlap.param_gather),
                     resolved.yes_no("pipeline messages", "/overlap/p2p", job.overlap.p2p));
}

// Describes offloading: "optimizer to the host, activations of 4 layers to NVMe".
std::string offload_row(const job::Offload& offload) {
  std::vector<std::string> parts;
  for (const auto& [key, member] : job::kOffloadedParts) {
    const job::Offloaded& part = offload.*member;
    if (!part.any()) continue;
    const std::string amount = part.layers         ? fmt::format(" of {}", counted(*part.layers, "layer"))
                               : part.fraction < 1 ? fmt::format(", {:.3g} % of them,", 100 * part.fraction)
                                                   : "";
    parts.push_back(fmt::format("{}{} to {}", key, amount, part.to == job::Tier::kHost ? "the host" : "NVMe"));
  }
  if (offload.delayed_update) parts.emplace_back("update delayed by a step");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Describes imperfections: "2 slow GPUs, 1 failed NIC"; empty when there are none.
std::string imperfections_row(const job::Imperfections& what) {
  std::vector<std::string> parts;
  const auto add = [&](std::ptrdiff_t count, std::string_view name) {
    if (count > 0) parts.push_back(counted(static_cast<double>(count), name));
  };
  const auto has_failed = [](const auto& part) { return part.rate_factor == 0; };
  const auto failed_nics = std::count_if(what.slow_nics.begin(), what.slow_nics.end(), has_failed);
  const auto failed_links = std::count_if(what.slow_links.begin(), what.slow_links.end(), has_failed);
  const auto is_fast = [](const job::SlowGpu& gpu) { return gpu.slowdown < 1; };
  const auto fast_gpus = std::count_if(what.slow_gpus.begin(), what.slow_gpus.end(), is_fast);
  add(std::ssize(what.slow_gpus) - fast_gpus, "slow GPU");
  add(fast_gpus, "fast GPU");
  add(std::ssize(what.slow_nics) - failed_nics, "slow NIC");
  add(failed_nics, "failed NIC");
  add(std::ssize(what.slow_links) - failed_links, "slow link");
  add(failed_links, "failed link");
  add(std::ssize(what.imbalanced_experts), "imbalanced expert group");
  if (!what.placement.empty()) parts.emplace_back("ranks placed as stated");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string stragglers_row(const job::Stragglers& how) {
  return fmt::format("GPUs vary by {:.3g} %, passes by {:.3g} %; {:.3g} % of the nodes slow; seed {}",
                     100 * how.gpu_spread, 100 * how.jitter, 100 * how.slow_nodes, how.seed);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> configuration_rows(const job::Job& job, const job::Notes& notes) {
  const Resolved resolved(notes);
  std::vector<std::pair<std::string, std::string>> rows = {
      {"model", model_row(job.model)},
      {"cluster", cluster_row(job)},
      {"costs", fmt::format("{}, {}", resolved("/profile", profiles_of(job)),
                            resolved("/runtime", "runtime " + job.runtime.name))},
      {"parallelism", parallelism_row(job, resolved)},
      {"schedule", resolved("/schedule", job.schedule.name)},
      {"batch", batch_row(job, resolved)},
      {"precision", precision_row(job, resolved)},
      {"optimizer",
       fmt::format(
           "{}, {}",
           resolved("/optimizer/name", job.optimizer.paged ? "paged " + job.optimizer.name : job.optimizer.name),
           resolved("/optimizer/zero_stage", fmt::format("ZeRO stage {}", job.optimizer.zero_stage)))},
      {"overlap", overlap_row(job, resolved)}};
  if (job.model.tuning.freezes()) rows.insert(rows.begin() + 7, {"training", training_row(job.model)});
  if (job.model.experts) rows.insert(rows.begin() + 4, {"experts", experts_row(job, resolved)});
  if (job.offload.any()) rows.emplace_back("offload", offload_row(job.offload));
  if (std::string row = imperfections_row(job.imperfections); !row.empty())
    rows.emplace_back("imperfections", std::move(row));
  if (job.stragglers.on) rows.emplace_back("stragglers", stragglers_row(job.stragglers));
  return rows;
}

std::string configuration_text(const job::Job& job, const job::Notes& notes, const Paint& paint) {
  std::string text = title_text("Configuration", "as resolved; * marks a default", paint);
  for (const auto& [label, value] : configuration_rows(job, notes))
    text += paint.paragraph("  " + pad_right(label, 14), value);
  return text;
}

}  // namespace foretoken::report
