// Reads a question about serving: the files that it names, its own parts, then the rules between them.
#include "sim/io/serve/read_service.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "sim/base/parse_count.h"
#include "sim/base/text.h"
#include "sim/io/hardware/read_hardware.h"
#include "sim/io/hardware/serving_laws.h"
#include "sim/io/json/document.h"
#include "sim/io/json/parse_json.h"
#include "sim/io/json/set_value.h"
#include "sim/io/model/read_model.h"
#include "sim/io/serve/read_answers.h"
#include "sim/io/serve/read_engine.h"
#include "sim/io/serve/read_trace.h"
#include "sim/io/serve/service_rules.h"

namespace foretoken::io {
namespace {

using serve::ArrivalKind;
using serve::Batching;
using serve::Pool;
using serve::Service;
using serve::WeightPrecision;

constexpr WholeRange kServingDegree{.low = 1, .high = 1 << 16};
constexpr WholeRange kServingGpus{.low = 1, .high = 1 << 20, .thousand = kThousand};
constexpr WholeRange kRequestCount{.low = 1, .high = serve::kMostRequests, .thousand = kThousand};

/// Reads the laws of kernels that only inference has. A GPU without them takes its roofline, which is said.
void read_laws(const Node& root, Service& service) {
  const std::string& gpu = service.cluster.gpu.name;
  if (find_data_file(kServingLaws, gpu)) {
    const auto document = open_named(root.child("cluster"), kServingLaws, gpu);
    if (!document) return;
    service.laws = read_serving_laws(document->root(root.findings()));
    const cost::Evidence& evidence = service.laws->decode.at(cost::CacheKind::kWide).evidence;
    if (evidence.provenance == cost::Provenance::kScaled)
      root.findings().notes.assumptions.push_back(
          fmt::format("attention over the cache is scaled from {}: {}", evidence.scaled_from, evidence.source));
    return;
  }
  root.findings().notes.assumptions.push_back(
      fmt::format("attention over the cache runs at the rate of memory-bound kernels: no table of {} was fitted", gpu));
}

void read_machines(const Node& root, Service& service) {
  job::Question machines;
  const std::optional<Document> cluster = read_cluster_part(root, machines);
  if (!machines.pools.empty()) {
    root.complain("cluster", "expected nodes of one kind: a service does not spread over several kinds");
    return;
  }
  service.cluster = machines.cluster;
  read_profile_part(root, cluster, machines);
  service.profile = std::move(machines.profile);
  if (!service.profile.gpu.empty() && !service.cluster.gpu.name.empty() &&
      service.profile.gpu != service.cluster.gpu.name)
    root.findings().notes.warnings.push_back(
        fmt::format("profile {} describes GPU {}, but the cluster's GPU is {}", in_quotes(service.profile.name),
                    in_quotes(service.profile.gpu), in_quotes(service.cluster.gpu.name)));
  for (const Precision wide : {Precision::kTf32, Precision::kFp32})  // a search may ask for both
    lend_wide_products(service.cluster.gpu, wide, service.profile);
  if (cluster) read_laws(root, service);
  service.price_per_gpu_hour = root.find_number("price_per_gpu_hour", {.low = 0, .high = 1e6});
  if (!service.price_per_gpu_hour) service.price_per_gpu_hour = service.cluster.price_per_gpu_hour;
}

void read_served_model(const Node& root, Service& service) {
  const auto document = open_reference(root.child("model"), kModels);
  if (document) service.model = read_model(document->root(root.findings()), document->name);
  if (service.model.name.empty() && document) service.model.name = document->name;
}

serve::Degrees read_degrees(const Node& node) {
  node.allow_only({"tensor", "pipeline", "expert", "attention_data"});
  const auto degree = [&](std::string_view key) { return static_cast<int>(node.whole_or(key, 1, kServingDegree)); };
  return {.tensor = degree("tensor"),
          .pipeline = degree("pipeline"),
          .expert = degree("expert"),
          .attention_data = degree("attention_data")};
}

Pool read_pool(const Node& node) {
  Pool pool{.degrees = read_degrees(node.object_or_empty("parallelism"))};
  pool.gpus = static_cast<int>(node.whole_or("gpus", pool.degrees.gpus(), kServingGpus));
  return pool;
}

void read_pools(const Node& root, Service& service) {
  const std::optional<Node> split = root.find_object("disaggregated");
  if (!split) {
    service.pool = read_pool(root);
    return;
  }
  split->allow_only({"prefill", "decode"});
  const auto pool = [&](std::string_view key) {
    const Node node = split->object(key);
    node.allow_only({"gpus", "parallelism"});
    return read_pool(node);
  };
  service.disaggregated = serve::Disaggregated{.prefill = pool("prefill"), .decode = pool("decode")};
  if (root.has("parallelism"))
    root.complain("parallelism", "expected none: each pool of a disaggregated service states its own");
  const auto stated = root.find_whole("gpus", kServingGpus);
  if (stated && *stated != service.gpus())
    root.complain("gpus", fmt::format("expected {} (both pools), found {}", service.gpus(), *stated));
}

void read_precisions(const Node& root, Service& service) {
  service.precision = root.one_of_or("precision", WeightPrecision::kBf16,
                                     {{"bf16", WeightPrecision::kBf16},
                                      {"fp16", WeightPrecision::kFp16},
                                      {"fp8", WeightPrecision::kFp8},
                                      {"fp8_block", WeightPrecision::kFp8Block},
                                      {"nvfp4", WeightPrecision::kNvfp4},
                                      {"mxfp4", WeightPrecision::kMxfp4},
                                      {"int8", WeightPrecision::kInt8},
                                      {"int4", WeightPrecision::kInt4},
                                      {"w8a8", WeightPrecision::kW8a8},
                                      {"tf32", WeightPrecision::kTf32},
                                      {"fp32", WeightPrecision::kFp32}});
  const bool wide = is_wide(service.precision) && service.model.encoder_decoder;
  const std::string_view usual = service.precision == WeightPrecision::kFp16 ? "fp16" : "bf16";
  const std::string_view cache = root.one_of_or<std::string_view>(
      "kv_precision", wide ? "fp32" : usual,
      {{"bf16", "bf16"}, {"fp16", "fp16"}, {"fp8", "fp8"}, {"int8", "int8"}, {"fp32", "fp32"}});
  service.cache_precision = cache;
  if (cache == "fp32") service.cache_bytes = 4;
  if (cache == "fp8" || cache == "int8") service.cache_bytes = 1;
}

void read_trace_part(const Node& node, serve::Requests& requests) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(node.source().folder) / path_of_text(node.child("trace").as_reference());
  for (const std::string_view key : {"input_tokens", "output_tokens", "mean_output_tokens", "count", "length_spread"})
    if (node.has(key)) node.complain(key, "expected none: the trace states it");
  const std::string shown = printable(path.string());
  const auto text = read_text_file(path, shown, node.findings());
  if (!text) return;
  requests.trace = read_trace(*text, shown, node.findings());
  requests.count = static_cast<std::int64_t>(requests.trace.size());
}

/// Returns the only key of the four that says when requests come.
std::optional<std::string_view> arrival_key(const Node& node) {
  std::vector<std::string_view> stated;
  for (const std::string_view key : {"batch", "concurrency", "rate_per_s", "trace"})
    if (node.has(key)) stated.push_back(key);
  if (stated.size() == 1) return stated.front();
  if (stated.empty())
    node.complain("missing arrivals; expected one of batch, concurrency, rate_per_s or trace");
  else
    node.complain(
        stated[1],
        fmt::format("expected only one of batch, concurrency, rate_per_s and trace; {} is stated, too", stated[0]));
  return std::nullopt;
}

void read_arrivals(const Node& node, const model::Transformer& model, serve::Requests& requests) {
  constexpr std::int64_t kPoissonCount = 1000;
  const auto key = arrival_key(node);
  if (!key) return;
  if (*key == "trace") {
    requests.kind = ArrivalKind::kTrace;
    read_trace_part(node, requests);
    return;
  }
  requests.input_tokens = node.whole("input_tokens", kTokenCount);
  read_answers(node, model, requests);
  if (*key == "rate_per_s") {
    requests.kind = ArrivalKind::kPoisson;
    requests.rate_per_s = node.number("rate_per_s", {.low = 1e-6, .high = 1e9});
    requests.count = node.whole_or("count", kPoissonCount, kRequestCount);
    return;
  }
  requests.at_once = node.whole(*key, {.low = 1, .high = 1'000'000, .thousand = kThousand});
  requests.kind = *key == "batch" ? ArrivalKind::kBatch : ArrivalKind::kClosed;
  if (requests.kind == ArrivalKind::kBatch) {
    if (node.has("count")) node.complain("count", "expected none: a batch has as many requests as it says");
    requests.count = requests.at_once;
  } else {
    requests.count = node.whole_or("count", serve::closed_loop_count(requests.at_once), kRequestCount);
    requests.at_once = std::min(requests.at_once, requests.count);
  }
}

void read_requests(const Node& node, const model::Transformer& model, serve::Requests& requests) {
  node.allow_only({"input_tokens", "output_tokens", "mean_output_tokens", "padded_tokens", "beam_width", "batch",
                   "concurrency", "rate_per_s", "trace", "count", "length_spread", "prefix_share", "seed"});
  read_arrivals(node, model, requests);
  requests.length_spread = node.find_number("length_spread", {.low = 0, .high = 0.99}).value_or(0);
  requests.prefix_share = node.find_number("prefix_share", kFraction).value_or(0);
  requests.states_count = node.has("count");
  requests.beam_width = read_beams(node);
  requests.seed = static_cast<std::uint64_t>(node.whole_or("seed", 1, {.low = 0, .high = std::int64_t{1} << 53}));
}

void read_engine_part(const Node& root, Service& service) {
  const auto document = open_reference(root.child("engine"), kEngines);
  if (document) service.engine = read_engine(document->root(root.findings()));
  serve::Engine& engine = service.engine;
  service.batching = root.one_of_or("batching", engine.continuous ? Batching::kContinuous : Batching::kStatic,
                                    {{"static", Batching::kStatic}, {"continuous", Batching::kContinuous}});
  if (const auto tokens = root.find_whole("chunked_prefill", kTokenCount)) {
    engine.token_budget = *tokens;
    engine.chunks_prompts = true;
  }
  engine.capacity_policy = read_capacity_policy(root, engine.capacity_policy);
  engine.max_sequences = root.whole_or("max_sequences", engine.max_sequences, {.low = 1, .high = 1 << 20});
  const Node memory = root.object_or_empty("memory");
  memory.allow_only({"fraction", "block_tokens", "watermark"});
  engine.memory_fraction =
      memory.number_or("fraction", engine.memory_fraction, {.low = 0, .high = 1, .above_low = true});
  engine.block_tokens =
      static_cast<int>(memory.whole_or("block_tokens", engine.block_tokens, {.low = 1, .high = 4096}));
  engine.watermark = memory.number_or("watermark", engine.watermark, {.low = 0, .high = 0.5});
}

void read_options(const Node& root, Service& service) {
  if (const auto node = root.find_object("speculative")) {
    node->allow_only({"tokens", "acceptance", "draft_share"});
    service.speculation = serve::Speculation{.tokens = static_cast<int>(node->whole("tokens", {.low = 1, .high = 64})),
                                             .acceptance = node->number("acceptance", kFraction),
                                             .draft_share = node->number_or("draft_share", 0, {.low = 0, .high = 1})};
  }
  if (const auto node = root.find_object("limits")) {
    node->allow_only({"ttft_s", "tpot_s", "latency_s"});
    service.limits = {node->find_number("ttft_s", kPositive), node->find_number("tpot_s", kPositive),
                      node->find_number("latency_s", kPositive)};
  }
  if (const auto node = root.find_object("moe")) {
    node->allow_only({"imbalance", "backend"});
    service.moe_backend = node->one_of_or("backend", serve::MoeBackend::kAuto,
                                          {{name_of(serve::MoeBackend::kAuto), serve::MoeBackend::kAuto},
                                           {name_of(serve::MoeBackend::kMarlin), serve::MoeBackend::kMarlin},
                                           {name_of(serve::MoeBackend::kTriton), serve::MoeBackend::kTriton}});
    service.imbalance = node->number_or("imbalance", 1, {.low = 1, .high = 1024});
  }
}

void expect_service_keys(const Node& root) {
  root.allow_only({"name",
                   "source",
                   "notes",
                   "model",
                   "cluster",
                   "profile",
                   "price_per_gpu_hour",
                   "engine",
                   "capacity_scheduler_policy",
                   "batching",
                   "chunked_prefill",
                   "max_sequences",
                   "memory",
                   "gpus",
                   "parallelism",
                   "disaggregated",
                   "precision",
                   "kv_precision",
                   "requests",
                   "limits",
                   "speculative",
                   "moe"});
}

Service read_service(const Document& document, Findings& findings) {
  const Node root = document.root(findings);
  expect_service_keys(root);
  findings.throw_if_wrong();
  Service service;
  service.name = printable(root.text_or("name", document.name.empty() ? "unnamed service" : document.name));
  read_served_model(root, service);
  read_machines(root, service);
  read_engine_part(root, service);
  read_pools(root, service);
  read_precisions(root, service);
  read_requests(root.object("requests"), service.model, service.requests);
  read_options(root, service);
  findings.throw_if_wrong();
  if (service.disaggregated) {
    check_pool(root.child("disaggregated").child("prefill"), service, service.disaggregated->prefill);
    check_pool(root.child("disaggregated").child("decode"), service, service.disaggregated->decode);
  } else {
    check_pool(root, service, service.pool);
  }
  check_service(root, service);
  findings.throw_if_wrong();
  service.notes = findings.notes;
  service.files = paths_of(findings.files);
  return service;
}

Document with_overrides(std::optional<Document> document, std::span<const std::string> sets, Findings& findings) {
  if (const auto wrong = wrong_data_folder()) findings.complaints.push_back({"FORETOKEN_DATA", "", *wrong});
  if (document) document = with_bases(std::move(*document), kServices, findings);
  findings.throw_if_wrong();
  for (const std::string& assignment : sets) apply_set(document->value, assignment, findings);
  findings.throw_if_wrong();
  return std::move(*document);
}

Service read_overridden(std::optional<Document> asked, std::span<const std::string> sets, Findings& findings) {
  const Document document = with_overrides(std::move(asked), sets, findings);
  try {
    return read_service(document, findings);
  } catch (const ConfigError& error) {
    throw ConfigError(named_by_sets(error.complaints(), document.source.file, sets));
  }
}

}  // namespace

std::optional<std::filesystem::path> service_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) || is_path(path.string())) return path;
  return find_data_file(kServices, path.string());
}

bool is_service(const std::string& argument) {
  const auto file = service_file(argument);
  if (!file) return false;
  if (*file != std::filesystem::path(argument)) return !find_data_file(kScenarios, argument);
  Findings findings;
  const auto document = document_from_file(*file, findings);
  if (!document || !document->value.is_object()) return false;
  if (document->value.contains("requests")) return true;
  const auto base = document->value.find("base");
  return base != document->value.end() && base->is_string() &&
         find_data_file(kServices, base->get<std::string>()).has_value() &&
         !find_data_file(kScenarios, base->get<std::string>());
}

Service read_service_file(const std::filesystem::path& path, std::span<const std::string> sets) {
  Findings findings;
  const auto file = service_file(path);
  if (!file) findings.complaints.push_back({printable(path.string()), "", unknown_name(kServices, path.string())});
  findings.throw_if_wrong();
  if (*file != path) note_hidden(kServices, path.string(), *file);
  return read_overridden(document_from_file(*file, findings), sets, findings);
}

Service read_service_text(std::string_view text, const std::string& origin, std::span<const std::string> sets) {
  Findings findings;
  return read_overridden(document_from_text(text, origin, findings), sets, findings);
}

}  // namespace foretoken::io
