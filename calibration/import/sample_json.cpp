// Writes samples as JSON and reads them. A line first names the measured work, then holds "us" and the members after
// it. Its front part is the sample's key.
#include "calibration/import/sample_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "calibration/import/read_fields.h"
#include "sim/base/parse_number.h"

namespace foretoken::measured {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::array kPasses{std::pair{GemmPass::kForward, std::string_view("forward")},
                             std::pair{GemmPass::kInputGradient, std::string_view("input_gradient")},
                             std::pair{GemmPass::kWeightGradient, std::string_view("weight_gradient")}};

const std::array kFamilies{std::pair{LayerFamily::kGpt, name_of(LayerFamily::kGpt)},
                           std::pair{LayerFamily::kLlama, name_of(LayerFamily::kLlama)}};
constexpr std::array kDirections{std::pair{false, std::string_view("forward")},
                                 std::pair{true, std::string_view("backward")}};

/// Rounds to six significant digits: finer than any clock here, and half the length on the line.
double short_number(double value) { return round_to_digits(value, 6); }

Ordered whole(Bytes bytes) { return static_cast<std::int64_t>(std::llround(bytes.value())); }

/// Writes the measured work: the front of the line.
struct Front {
  Ordered json = Ordered::object();

  void operator()(const GemmSample& s) {
    for (const auto& [pass, name] : kPasses)
      if (pass == s.shape.pass) json["gemm"] = name;
    json["type"] = foretoken::name_of(s.shape.precision);
    if (s.adds_to_fp32) json["adds_to"] = "fp32";
    if (s.with_quantisation) json["with_quantisation"] = true;
    json["m"] = s.shape.m;
    json["n"] = s.shape.n;
    json["k"] = s.shape.k;
    if (s.shape.batch != 1) json["batch"] = s.shape.batch;
  }
  void operator()(const KernelSample& s) {
    json["kernel"] = s.kernel;
    json["rows"] = s.rows;
    json["columns"] = s.columns;
    json["bytes"] = whole(s.bytes);
    json["cold"] = s.cold;
  }
  void operator()(const AttentionSample& s) {
    json["attention"] = s.shape.backward ? "backward" : "forward";
    json["by"] = s.implementation;
    json["type"] = foretoken::name_of(s.shape.precision);
    json["batch"] = s.shape.batch;
    json["heads"] = s.shape.heads;
    json["kv_heads"] = s.shape.kv_heads;
    json["q"] = s.shape.q_length;
    json["kv"] = s.shape.kv_length;
    json["head_dim"] = s.shape.head_dim;
    json["causal"] = s.shape.causal;
    if (s.shape.window > 0) json["window"] = s.shape.window;
    if (s.beside.value() > 0) json["beside_bytes"] = whole(s.beside);
  }
  void operator()(const LayerSample& s) {
    json["layer"] = s.backward ? "backward" : "forward";
    json["family"] = name_of(s.family);
    json["batch"] = s.batch;
    json["sequence"] = s.sequence;
    json["hidden"] = s.hidden;
    json["ffn"] = s.ffn;
    json["heads"] = s.heads;
    json["tensor"] = s.tensor;
  }
  void operator()(const CollectiveSample& s) {
    json["collective"] = name_of(s.kind);
    json["bytes"] = whole(s.bytes);
    json["ranks"] = s.group.ranks;
    json["nodes"] = s.group.nodes;
    json["per_node"] = s.group.ranks_per_node;
    if (s.group.groups_per_node != 1) json["groups"] = s.group.groups_per_node;
    json["in_place"] = s.in_place;
    json["type"] = s.type;
  }
  void operator()(const HostSample& s) {
    json["host"] = s.what;
    if (s.bytes.value() > 0) json["bytes"] = whole(s.bytes);
  }
  void operator()(const ClockSample& s) {
    json["clock"] = s.work;
    json["at_ms"] = short_number(s.at.value() * 1e3);
  }
};

void put_time(Ordered& json, const Timing& time) {
  const double median = short_number(time.median.value() * 1e6);
  const double p10 = short_number(time.p10.value() * 1e6), p90 = short_number(time.p90.value() * 1e6);
  if (p10 == median && p90 == median)
    json["us"] = median;
  else
    json["us"] = {median, p10, p90};
  if (time.runs > 0) json["runs"] = time.runs;
}

/// Writes the results: the rest of the line.
struct Back {
  Ordered& json;

  template <class T>
  void operator()(const T& s) const {
    put_time(json, s.time);
  }
  void operator()(const CollectiveSample& s) const {
    put_time(json, s.time);
    if (s.estimate) json["nccl_us"] = short_number(s.estimate->value() * 1e6);
  }
  void operator()(const ClockSample& s) const {
    json["tflops"] = short_number(s.rate.value() * 1e-12);
    if (s.sm_mhz) json["mhz"] = *s.sm_mhz;
    if (s.watts) json["watts"] = short_number(*s.watts);
    if (s.celsius) json["celsius"] = *s.celsius;
  }
};

GemmSample read_gemm(Fields& fields) {
  GemmSample s;
  s.shape.pass = fields.one_of("gemm", kPasses);
  s.shape.precision = fields.one_of("type", kPrecisionNames);
  if (fields.has("adds_to")) s.adds_to_fp32 = fields.one_of("adds_to", kPrecisionNames) == Precision::kFp32;
  if (fields.has("with_quantisation")) s.with_quantisation = fields.boolean("with_quantisation");
  s.shape.m = fields.whole("m");
  s.shape.n = fields.whole("n");
  s.shape.k = fields.whole("k");
  s.shape.batch = fields.whole_or("batch", 1);
  s.time = fields.timing();
  if (const std::string wrong = why_impossible(s); !wrong.empty()) throw std::invalid_argument(wrong);
  return s;
}

KernelSample read_kernel(Fields& fields) {
  KernelSample s;
  s.kernel = fields.text("kernel");
  s.rows = fields.whole("rows");
  s.columns = fields.whole("columns");
  s.bytes = Bytes(static_cast<double>(fields.whole("bytes")));
  s.cold = fields.boolean("cold");
  s.time = fields.timing();
  return s;
}

AttentionSample read_attention(Fields& fields) {
  AttentionSample s;
  s.shape.backward = fields.one_of("attention", kDirections);
  s.implementation = fields.text("by");
  if (s.implementation == "flash-2") s.shape.kernel = FlashKernel::kFlash2;
  s.shape.precision = fields.one_of("type", kPrecisionNames);
  s.shape.batch = fields.whole("batch");
  s.shape.heads = fields.whole("heads");
  s.shape.kv_heads = fields.whole("kv_heads");
  s.shape.q_length = fields.whole("q");
  s.shape.kv_length = fields.whole("kv");
  s.shape.head_dim = fields.whole("head_dim");
  s.shape.causal = fields.boolean("causal");
  s.shape.window = fields.whole_or("window", 0);
  s.beside = Bytes(static_cast<double>(fields.whole_or("beside_bytes", 0)));
  s.time = fields.timing();
  return s;
}

LayerSample read_layer(Fields& fields) {
  LayerSample s;
  s.backward = fields.one_of("layer", kDirections);
  s.family = fields.one_of("family", kFamilies);
  s.batch = fields.small("batch");
  s.sequence = fields.small("sequence");
  s.hidden = fields.small("hidden");
  s.ffn = fields.small("ffn");
  s.heads = fields.small("heads");
  s.tensor = fields.small("tensor");
  s.time = fields.timing();
  if (const std::string wrong = why_impossible(s); !wrong.empty()) throw std::invalid_argument(wrong);
  return s;
}

CollectiveSample read_collective(Fields& fields) {
  CollectiveSample s;
  const std::string name = fields.text("collective");
  const auto kind = collective_named(name);
  if (!kind) throw std::invalid_argument(fmt::format("unknown collective \"{}\"", name));
  s.kind = *kind;
  s.bytes = Bytes(static_cast<double>(fields.whole("bytes")));
  s.group.ranks = fields.small("ranks");
  s.group.nodes = fields.small("nodes");
  s.group.ranks_per_node = fields.small("per_node");
  s.group.groups_per_node = static_cast<int>(fields.whole_or("groups", 1));
  s.in_place = fields.boolean("in_place");
  s.type = fields.text("type");
  s.time = fields.timing();
  if (fields.has("nccl_us")) s.estimate = microseconds(fields.positive("nccl_us"));
  return s;
}

HostSample read_host(Fields& fields) {
  HostSample s;
  s.what = fields.text("host");
  s.bytes = Bytes(static_cast<double>(fields.whole_or("bytes", 0)));
  s.time = fields.timing();
  return s;
}

ClockSample read_clock(Fields& fields) {
  ClockSample s;
  s.work = fields.text("clock");
  s.at = Seconds(fields.positive("at_ms") * 1e-3);
  s.rate = teraflops(fields.positive("tflops"));
  if (fields.has("mhz")) s.sm_mhz = fields.positive("mhz");
  if (fields.has("watts")) s.watts = fields.positive("watts");
  if (fields.has("celsius")) s.celsius = fields.positive("celsius");
  return s;
}

Provenance read_header(Fields& fields) {
  Provenance origin;
  origin.source = fields.text("header");
  origin.gpu = fields.text("gpu");
  origin.facts = fields.texts("facts");
  return origin;
}

std::variant<Provenance, Sample> read_any(Fields& fields) {
  if (fields.has("header")) return read_header(fields);
  if (fields.has("gemm")) return read_gemm(fields);
  if (fields.has("kernel")) return read_kernel(fields);
  if (fields.has("attention")) return read_attention(fields);
  if (fields.has("layer")) return read_layer(fields);
  if (fields.has("collective")) return read_collective(fields);
  if (fields.has("host")) return read_host(fields);
  if (fields.has("clock")) return read_clock(fields);
  throw std::invalid_argument(
      "expected a sample: one of the keys header, gemm, kernel, attention, layer, collective, host, clock");
}

}  // namespace

std::string key_of(const Sample& sample) {
  Front front;
  std::visit([&front](const auto& s) { front(s); }, sample);
  return front.json.dump();
}

std::string line_of(const Sample& sample) {
  Front front;
  std::visit([&front](const auto& s) { front(s); }, sample);
  std::visit(Back{front.json}, sample);
  return front.json.dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

std::string line_of(const Provenance& origin) {
  Ordered json{{"header", origin.source}, {"gpu", origin.gpu}};
  Ordered facts = Ordered::array();
  for (const auto& [key, text] : origin.facts) facts.push_back({key, text});
  json["facts"] = std::move(facts);
  return json.dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

std::variant<Provenance, Sample> read_record(const nlohmann::json& json) {
  Fields fields(json);
  auto record = read_any(fields);
  fields.expect_all_read();
  return record;
}

}  // namespace foretoken::measured
