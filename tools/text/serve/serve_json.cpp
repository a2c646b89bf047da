// Writes the answer of `foretoken serve` as one line of JSON.
#include <nlohmann/json.hpp>

#include "sim/study/serve/service_words.h"
#include "tools/text/serve/serve_text.h"

namespace foretoken::tools {
namespace {

using ServeJson = nlohmann::ordered_json;

}  // namespace

nlohmann::ordered_json spread_json(const serve::Spread& spread) {
  return {{"mean", spread.mean}, {"p50", spread.p50}, {"p99", spread.p99}};
}

nlohmann::ordered_json degrees_json(const serve::Degrees& degrees) {
  return {{"tensor", degrees.tensor},
          {"pipeline", degrees.pipeline},
          {"expert", degrees.expert},
          {"attention_data", degrees.attention_data}};
}

nlohmann::ordered_json pool_json(const serve::Pool& pool) {
  return {{"gpus", pool.gpus}, {"instances", pool.instances()}, {"parallelism", degrees_json(pool.degrees)}};
}

nlohmann::ordered_json answer_json(const serve::Prediction& prediction) {
  const auto known = [&](const auto& value) { return prediction.fits ? ServeJson(value) : ServeJson(); };
  const auto stated = [](const std::optional<double>& value) { return value ? ServeJson(*value) : ServeJson(); };
  return {{"ttft_s", known(spread_json(prediction.ttft))},
          {"tpot_s", prediction.tpot ? spread_json(*prediction.tpot) : ServeJson()},
          {"latency_s", known(spread_json(prediction.latency))},
          {"output_tokens_per_s", known(prediction.output_tokens_per_s)},
          {"total_tokens_per_s", known(prediction.total_tokens_per_s)},
          {"requests_per_s", known(prediction.requests_per_s)},
          {"tokens_per_s_per_gpu", known(prediction.tokens_per_s_per_gpu)},
          {"goodput_requests_per_s", stated(prediction.goodput_requests_per_s)},
          {"cost_per_million_output_tokens", stated(prediction.cost_per_million_tokens)},
          {"kwh_per_million_output_tokens", stated(prediction.kwh_per_million_tokens)}};
}

namespace {

ServeJson memory_json(const serve::Memory& memory) {
  return {{"peak_bytes", memory.fits() ? memory.peak().value() : memory.needed.value()},
          {"capacity_bytes", memory.capacity.value()},
          {"fits", memory.fits()},
          {"limit", name_of(memory.limit)},
          {"weights_bytes", memory.weights.value()},
          {"cache_bytes", memory.cache.value()},
          {"activations_bytes", memory.activations.value()},
          {"other_bytes", memory.overhead.value()},
          {"cache_bytes_per_token", memory.token.value()},
          {"cache_tokens", memory.cached_tokens},
          {"max_batch", memory.max_batch},
          {"max_context", memory.max_context}};
}

// Of a disaggregated service the memory of the prefill pool stands at the top, and both pools have their own.
ServeJson memories_json(const serve::Prediction& prediction) {
  ServeJson json = memory_json(prediction.memory.front());
  json["fits"] = prediction.fits;
  if (prediction.memory.size() == 1) return json;
  json["prefill"] = memory_json(prediction.memory.front());
  json["decode"] = memory_json(prediction.memory.back());
  return json;
}

void add_question(const serve::Service& service, ServeJson& json) {
  json = {
      {"name", service.name},
      {"model", service.model.name},
      {"cluster", service.cluster.name},
      {"gpus", service.gpus()},
      {"engine", service.engine.name},
      {"batching", service.batching == serve::Batching::kStatic ? "static" : "continuous"},
      {"capacity_scheduler_policy",
       service.batching == serve::Batching::kStatic ? ServeJson() : ServeJson(name_of(service.engine.capacity_policy))},
      {"precision", name_of(service.precision)},
      {"cache_element_bytes", service.cache_bytes}};
  if (service.model.experts)
    json["moe"] = {{"backend", name_of(service.moe_backend)}, {"imbalance", service.imbalance}};
  if (service.model.encoder_decoder) json["beam_width"] = service.requests.beam_width;
  if (service.requests.mean_output_tokens > 0) json["mean_output_tokens"] = service.requests.mean_output_tokens;
  if (service.disaggregated) {
    json["disaggregated"] = {{"prefill", pool_json(service.disaggregated->prefill)},
                             {"decode", pool_json(service.disaggregated->decode)}};
  } else {
    json["parallelism"] = degrees_json(service.pool.degrees);
    json["instances"] = service.pool.instances();
  }
}

void add_run(const serve::Prediction& prediction, ServeJson& json) {
  json["run"] = {{"requests", prediction.requests},
                 {"duration_s", prediction.makespan_s},
                 {"input_tokens", prediction.input_tokens},
                 {"output_tokens", prediction.output_tokens},
                 {"mean_requests_in_system", prediction.mean_in_system},
                 {"peak_running", prediction.peak_running},
                 {"peak_cache_share", prediction.peak_cache_share},
                 {"passes", prediction.passes},
                 {"preemptions", prediction.preemptions}};
}

}  // namespace

ServeJson interval_json(const study::ServiceTrust& trusted) {
  if (trusted.intervals.empty()) return nullptr;
  ServeJson json = {{"level", 0.9}};
  for (const auto& [quantity, interval] : trusted.intervals)
    json[std::string(name_of(quantity)) + (quantity == trust::Served::kThroughput ? "_per_s" : "_s")] = {
        {"low", interval.low},   {"high", interval.high},         {"cases", interval.cases},
        {"sets", interval.sets}, {"distance", interval.distance}, {"outside", interval.outside()},
        {"away", interval.away}};
  return json;
}

ServeJson nearest_json(const study::ServiceTrust& trusted) {
  if (trusted.nearest == nullptr) return nullptr;
  const trust::ServedCase& one = *trusted.nearest;
  ServeJson place = ServeJson::object();
  for (const trust::ServedKey& key : trust::served_keys()) place[std::string(key.name)] = value_of(key, one.place);
  return {{"set", one.set},           {"title", one.title},         {"quantity", name_of(one.quantity)},
          {"measured", one.measured}, {"predicted", one.predicted}, {"place", place}};
}

std::string serve_json(const serve::Service& service, const serve::Prediction& prediction,
                       const study::ServiceTrust& trusted) {
  ServeJson json;
  add_question(service, json);
  json.update(answer_json(prediction));
  add_run(prediction, json);
  json["memory"] = memories_json(prediction);
  json["interval"] = interval_json(trusted);
  json["why_no_interval"] = trusted.why_no_interval ? ServeJson(*trusted.why_no_interval) : ServeJson();
  json["nearest"] = nearest_json(trusted);
  json["assumptions"] = study::sources_of(service);
  json["warnings"] = serve::warnings_of(service, prediction);
  return json.dump(-1, ' ', false, ServeJson::error_handler_t::replace) + '\n';
}

namespace {

ServeJson counter(std::string_view name, double at_us, int process, ServeJson values) {
  return {{"name", name}, {"ph", "C"}, {"ts", at_us}, {"pid", process}, {"args", std::move(values)}};
}

double microseconds_of(des::Instant at) { return static_cast<double>(at.ps) * 1e-6; }

}  // namespace

void write_serve_trace(const serve::Service& service, const serve::Prediction& prediction,
                       const std::function<void(std::string_view)>& write) {
  write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  write(ServeJson({{"name", "process_name"}, {"ph", "M"}, {"pid", 0}, {"args", {{"name", service.name}}}}).dump());
  const auto event = [&](const ServeJson& json) {
    write(",\n");
    write(json.dump(-1, ' ', false, ServeJson::error_handler_t::replace));
  };
  for (const serve::TracedPass& pass : prediction.traced) {
    const serve::Load& load = pass.load;
    const double at = microseconds_of(load.at);
    event({{"name", load.prompt_tokens == 0 ? "decode"
                    : load.decoding == 0    ? "prefill"
                                            : "prefill and decode"},
           {"ph", "X"},
           {"ts", at},
           {"dur", microseconds_of(load.end) - at},
           {"pid", pass.instance},
           {"tid", load.lane},
           {"args", {{"decoding", load.decoding}, {"prompt_tokens", load.prompt_tokens}}}});
    event(counter("requests", at, pass.instance, {{"running", load.running}, {"waiting", load.waiting}}));
    event(counter("cache pages", at, pass.instance, {{"used", load.used_pages}}));
  }
  write("\n]}\n");
}

}  // namespace foretoken::tools
