#include "tools/options/service_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sim/base/parse_count.h"
#include "sim/io/hardware/read_cluster.h"
#include "sim/io/json/document.h"
#include "sim/io/model/read_model.h"
#include "sim/io/serve/read_service.h"
#include "sim/report/text/number.h"
#include "sim/serve/memory.h"
#include "sim/serve/predict.h"

namespace foretoken::tools {
namespace {

using ServiceKey = KeyedOption<ServiceOptions>;

constexpr ServiceKey kPlainKeys[] = {
    {"--model", "model", &ServiceOptions::model, "NAME", "Model: a name (foretoken models list) or a config.json"},
    {"--cluster", "cluster", &ServiceOptions::cluster, "NAME", "Cluster: a name (foretoken clusters list) or a file"},
    {"--engine", "engine", &ServiceOptions::engine, "NAME", "Engine: vllm, sglang, trt-llm, fastertransformer, ..."},
    {"--precision", "precision", &ServiceOptions::precision, "NAME",
     "Weights in bf16, fp16, fp8, nvfp4, mxfp4, int8, int4, w8a8, tf32, fp32"},
    {"--input", "requests.input_tokens", &ServiceOptions::input, "N", "Tokens of a prompt: 1024, or 4k"},
    {"--output", "requests.output_tokens", &ServiceOptions::output, "N", "Tokens of an answer"}};

constexpr ServiceKey kDegreeKeys[] = {
    {"--tp", "parallelism.tensor", &ServiceOptions::tensor, "N", "Tensor-parallel degree"},
    {"--pp", "parallelism.pipeline", &ServiceOptions::pipeline, "N", "Pipeline-parallel degree"},
    {"--ep", "parallelism.expert", &ServiceOptions::expert, "N", "Expert-parallel degree"}};

constexpr ServiceKey kGpuKeys[] = {{"--gpus", "gpus", &ServiceOptions::gpus, "N", ""}};

constexpr ServiceKey kArrivalKeys[] = {
    {"--rate", "requests.rate_per_s", &ServiceOptions::rate, "N", "Requests a second (Poisson)"},
    {"--concurrency", "requests.concurrency", &ServiceOptions::concurrency, "N", ""},
    {"--batch", "requests.batch", &ServiceOptions::batch, "N", ""}};

// Prompts as vLLM's own benchmark has them (vllm/benchmarks/datasets.py: 1,024 tokens); the others are round numbers.
constexpr int kUsualInput = 1024, kUsualOutput = 256, kUsualUsers = 16, kMostTensor = 64;
constexpr const char* kEncoderEngine = "fastertransformer-bert";
constexpr const char* kHalvesEngine = "fastertransformer-t5";

bool states_arrivals(const ServiceOptions& options) {
  return !options.rate.empty() || !options.concurrency.empty() || !options.batch.empty();
}

void require_model_and_cluster(const ServiceOptions& options) {
  const char* const command = "foretoken serve";
  if (options.model.empty() && options.cluster.empty())
    throw ConfigError({{command, "", "QUESTION is required, or --model and --cluster"}});
  if (options.model.empty())
    throw ConfigError({{command, "", "without a QUESTION, --model is required; try --model llama-3-8b"}});
  if (options.cluster.empty())
    throw ConfigError({{command, "", "without a QUESTION, --cluster is required; try --cluster dgx-h100-ndr"}});
}

/// Reads the question with a tensor-parallel degree, unless an option or `sets` states one. The pools of a
/// disaggregated service state their own.
serve::Service read_stated(nlohmann::ordered_json json, int tensor, const std::vector<std::string>& sets) {
  const bool pools = std::ranges::any_of(sets, [](const std::string& set) { return set.starts_with("disaggregated"); });
  if (!pools) json["parallelism"]["tensor"] = tensor;
  return io::read_service_text(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), kStatedOrigin,
                               sets);
}

/// Returns true when memory holds the requests that run at once: a batch, or users as far as the engine runs them.
bool has_room(const serve::Service& service) {
  const serve::Pool& pool = service.pool;
  const serve::Memory memory = serve::memory_of(service, pool);
  if (!memory.fits() || service.requests.arrive_by_themselves()) return memory.fits();
  std::int64_t wanted = service.requests.at_once;
  if (service.batching == serve::Batching::kContinuous)
    wanted = std::min(
        wanted, pool.instances() * pool.degrees.attention_data * serve::group_sequences(service.engine, pool.degrees));
  return memory.max_batch * pool.instances() >= wanted;
}

/// Returns true when the service holds its load. One with given arrivals must keep up with them, and its cache must
/// never be full.
bool holds_its_load(const serve::Service& service) {
  if (!has_room(service)) return false;
  if (!service.requests.arrive_by_themselves()) return true;
  const serve::Prediction prediction = serve::predict(service);
  return !prediction.queue_grows && prediction.preemptions == 0;
}

std::optional<serve::Service> read_if_valid(const nlohmann::ordered_json& json, int tensor,
                                            const std::vector<std::string>& sets) {
  try {
    return read_stated(json, tensor, sets);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

/// Reads the question with the least degree with which it is valid, from `least` on: a static batch takes all stated
/// GPUs. Throws what the first one complains about if none is.
serve::Service read_with_least(const nlohmann::ordered_json& json, int& least, const std::vector<std::string>& sets,
                               bool stated) {
  for (int tensor = least; !stated && tensor <= kMostTensor; tensor *= 2)
    if (std::optional<serve::Service> service = read_if_valid(json, tensor, sets)) {
      least = tensor;
      return *std::move(service);
    }
  return read_stated(json, least, sets);
}

/// A service, the degree with which it was read, and whether it holds its load.
struct Sized {
  serve::Service service;
  int tensor = 1;
  bool holds = false;
};

/// Doubles the tensor-parallel degree until the service holds its load. Returns the widest valid one if none does.
/// Where requests have room, a degree that no node has is no help.
Sized smallest_that_holds(const nlohmann::ordered_json& json, const std::vector<std::string>& sets, Sized widest) {
  while (!(widest.holds = holds_its_load(widest.service)) && widest.tensor < kMostTensor) {
    const bool leaves_node = 2 * widest.tensor > widest.service.cluster.links.gpus;
    if (leaves_node && serve::memory_of(widest.service, widest.service.pool).fits()) break;
    std::optional<serve::Service> wider = read_if_valid(json, 2 * widest.tensor, sets);
    if (!wider) break;  // more ranks than the model's heads or the stated GPUs allow
    widest.service = *std::move(wider);
    widest.tensor *= 2;
  }
  return widest;
}

std::string kept_up_words(const serve::Requests& requests) {
  if (requests.kind == serve::ArrivalKind::kPoisson)
    return fmt::format("that keeps up with {:g} requests/s", requests.rate_per_s);
  if (requests.kind == serve::ArrivalKind::kTrace) return "that keeps up with the trace";
  return fmt::format("with room for {} requests", requests.at_once);
}

/// Says why the degree was chosen.
std::string degree_words(const Sized& sized) {
  return (sized.holds ? "the smallest " : "the widest tried: there is none ") + kept_up_words(sized.service.requests);
}

/// Opens the document of a name or a path that an option states.
std::optional<io::Document> stated_document(const char* key, const std::string& name, const io::DataKind& kind,
                                            io::Findings& findings) {
  const nlohmann::json asked = {{key, name}};
  const io::Source source{.file = kStatedOrigin};
  return io::open_reference(io::Node(asked, source, findings).child(key), kind);
}

model::Transformer model_of(const ServiceOptions& options) {
  io::Findings findings;
  const auto document = stated_document("model", options.model, io::kModels, findings);
  model::Transformer model;
  if (document) model = io::read_model(document->root(findings), document->name);
  findings.throw_if_wrong();
  return model;
}

/// Assumes the lengths of an encoder's prompts.
std::vector<std::string> assume_encoder(const ServiceOptions& options, const model::Transformer& model,
                                        nlohmann::ordered_json& json) {
  std::vector<std::string> assumptions;
  const std::int64_t length =
      model.max_positions > 0 ? std::min<std::int64_t>(kUsualInput, model.max_positions) : kUsualInput;
  if (options.engine.empty()) assumptions.push_back(fmt::format("Engine {} (state it with --engine).", kEncoderEngine));
  if (options.input.empty())
    assumptions.push_back(
        fmt::format("Sequences of {} (state them with --input).", report::counted(real(length), "token")));
  json["engine"] = kEncoderEngine;
  json["requests"] = {{"input_tokens", length}};
  return assumptions;
}

/// Writes what no option states into `json`, and says it.
std::vector<std::string> assume(const ServiceOptions& options, nlohmann::ordered_json& json) {
  const model::Transformer model = model_of(options);
  if (model.encoder) return assume_encoder(options, model, json);
  std::vector<std::string> assumptions;
  const char* const engine = model.encoder_decoder ? kHalvesEngine : "vllm";
  if (options.engine.empty()) assumptions.push_back(fmt::format("Engine {} (state it with --engine).", engine));
  if (options.input.empty() || options.output.empty())
    assumptions.push_back(fmt::format("Prompts of {} tokens and answers of {} (state them with --input and --output).",
                                      options.input.empty() ? report::whole(kUsualInput) : options.input,
                                      options.output.empty() ? report::whole(kUsualOutput) : options.output));
  json["engine"] = engine;
  json["requests"] = {{"input_tokens", kUsualInput}, {"output_tokens", kUsualOutput}};
  return assumptions;
}

/// Returns the name of the cluster's GPU where it has no bf16, as Volta and Turing; nothing for others, and for
/// clusters that cannot be read: the question complains about them.
std::string gpu_without_bf16(const ServiceOptions& options) {
  io::Findings ignored;
  const auto document = stated_document("cluster", options.cluster, io::kClusters, ignored);
  if (!document || !document->root(ignored).has("gpu")) return "";
  const net::Gpu gpu = io::read_cluster(document->root(ignored)).gpu;
  return ignored.complaints.empty() && !gpu.peak.contains(Precision::kBf16) ? gpu.name : "";
}

/// Returns true when an override states when requests come.
bool sets_arrivals(const std::vector<std::string>& sets) {
  return std::ranges::any_of(sets, [](const std::string& set) {
    if (set.starts_with("requests=")) return true;
    return std::ranges::any_of(std::array{"batch", "concurrency", "rate_per_s", "trace"}, [&](const char* key) {
      return set.starts_with(fmt::format("requests.{}=", key)) && !set.ends_with("=null");
    });
  });
}

/// Returns the least tensor-parallel degree over which the stated experts can be dealt out.
int least_tensor(const ServiceOptions& options) {
  const double experts = foretoken::parse_count(options.expert, kThousand).value_or(1);
  return experts >= 1 && experts <= kMostTensor ? static_cast<int>(experts) : 1;
}

/// Returns the overrides with those of the options. `users` stand for arrivals that no option states.
std::vector<std::string> stated_sets(const ServiceOptions& options, const std::vector<std::string>& sets,
                                     const char* users) {
  std::vector<std::string> all = sets_of(options);
  if (users != nullptr) all.push_back(fmt::format("requests.{}={}", users, kUsualUsers));
  all.insert(all.end(), sets.begin(), sets.end());
  return all;
}

}  // namespace

void add_service_options(CLI::App& command, ServiceOptions& options) {
  add_keyed<ServiceOptions>(command, options, kPlainKeys);
  add_keyed<ServiceOptions>(command, options, kDegreeKeys);
  add_keyed<ServiceOptions>(command, options, std::span(kArrivalKeys).first<1>());
}

std::vector<std::string> sets_of(const ServiceOptions& options) {
  std::vector<std::string> sets;
  append_sets<ServiceOptions>(sets, options, kPlainKeys);
  append_sets<ServiceOptions>(sets, options, kGpuKeys);
  append_sets<ServiceOptions>(sets, options, kDegreeKeys);
  if (states_arrivals(options))
    for (const char* key : {"batch", "concurrency", "rate_per_s", "trace"})
      sets.push_back(fmt::format("requests.{}=null", key));
  if (!options.batch.empty()) sets.emplace_back("requests.count=null");  // a batch has as many as it says
  append_sets<ServiceOptions>(sets, options, kArrivalKeys);
  return sets;
}

std::vector<std::string> fixed_degrees_of(const ServiceOptions& options) {
  std::vector<std::string> degrees;
  append_sets<ServiceOptions>(degrees, options, kDegreeKeys);
  return degrees;
}

std::vector<std::string> words_of(const ServiceOptions& options) {
  std::vector<std::string> words;
  for (const std::span<const ServiceKey> all :
       {std::span<const ServiceKey>(kPlainKeys), std::span<const ServiceKey>(kGpuKeys),
        std::span<const ServiceKey>(kDegreeKeys), std::span<const ServiceKey>(kArrivalKeys)})
    append_words<ServiceOptions>(words, options, all);
  return words;
}

std::vector<Complaint> as_given(std::vector<Complaint> complaints, const ServiceOptions& options) {
  for (const std::span<const ServiceKey> all :
       {std::span<const ServiceKey>(kPlainKeys), std::span<const ServiceKey>(kGpuKeys),
        std::span<const ServiceKey>(kDegreeKeys), std::span<const ServiceKey>(kArrivalKeys)})
    name_as_given<ServiceOptions>(complaints, options, all);
  return complaints;
}

StatedService stated_service(const ServiceOptions& options, const std::vector<std::string>& sets) {
  require_model_and_cluster(options);
  nlohmann::ordered_json json;
  std::vector<std::string> assumptions = assume(options, json);
  const bool arrives = states_arrivals(options) || sets_arrivals(sets);
  const std::string old_gpu = options.precision.empty() ? gpu_without_bf16(options) : "";
  if (!old_gpu.empty()) {
    json["precision"] = json["kv_precision"] = "fp16";
    assumptions.push_back(fmt::format("Precision fp16: {} has no bf16 (state it with --precision).", old_gpu));
  }
  int least = least_tensor(options);
  const bool stated = !options.tensor.empty();
  std::vector<std::string> all = stated_sets(options, sets, arrives ? nullptr : "batch");
  serve::Service service = read_with_least(json, least, all, stated);
  if (!arrives && service.batching == serve::Batching::kContinuous) {
    all = stated_sets(options, sets, "concurrency");
    service = read_with_least(json, least, all, stated);
  }
  std::vector<std::string> varied;
  if (!arrives)
    varied.push_back(
        fmt::format("{} requests at once (state them with --rate, --concurrency or --batch).", kUsualUsers));
  if (options.tensor.empty() && !service.disaggregated) {
    Sized sized = smallest_that_holds(json, all, {.service = std::move(service), .tensor = least});
    if (sized.service.pool.degrees.tensor == sized.tensor)
      varied.push_back(
          fmt::format("Tensor-parallel degree {}: {} (state it with --tp).", sized.tensor, degree_words(sized)));
    service = std::move(sized.service);
  }
  service.name = fmt::format("{} on {}", service.model.name, service.cluster.name);
  std::vector<std::string>& noted = service.notes.assumptions;
  noted.insert(noted.begin(), varied.begin(), varied.end());
  noted.insert(noted.begin(), assumptions.begin(), assumptions.end());
  return {std::move(service), std::move(varied)};
}

}  // namespace foretoken::tools
