// Writes the keys of the answer in the order of their documentation.
#include "sim/report/json.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "sim/base/check.h"
#include "sim/report/text/range.h"
#include "sim/report/text/time_parts.h"

namespace foretoken::report {
namespace {

using Json = nlohmann::ordered_json;

double finite(double value) {
  expects(std::isfinite(value), "every number of a prediction is finite");
  return value;
}
double finite(Seconds time) { return finite(time.value()); }
// Rounds to whole bytes, which print without decimals.
std::int64_t finite(Bytes bytes) { return std::llround(finite(bytes.value())); }

Json ends_of(const std::optional<trust::Interval>& interval) {
  if (!interval) return {};
  return Json::array({finite(interval->low), finite(interval->high)});
}

Json interval_of(const std::optional<trust::Interval>& interval) {
  if (!interval) return {};
  return {{"level", interval->level},
          {"cases", interval->cases},
          {"distance", finite(interval->distance)},
          {"outside_validated", interval->outside},
          {"away_in", interval->away},
          {"words", interval->words}};
}

Json bias_of(const Metrics& m) {
  if (!m.bias) return {};
  return {{"factor", finite(m.bias_factor())}, {"words", m.bias->words}};
}

Json time_of(const TimeSplit& time) {
  Json json;
  for (const TimePart& part : time_parts())
    if (is_named(part, time)) json[std::string(part.key)] = finite(part.of(time));
  return json;
}

// Counts are whole, and print without decimals.
std::int64_t whole_count(double count) { return std::llround(finite(count)); }

Json parameters_of(const Parameters& parameters) {
  Json json = {{"total", whole_count(parameters.total)},
               {"active", whole_count(parameters.active)},
               {"trainable", whole_count(parameters.trainable)}};
  if (parameters.prediction > 0) json["multi_token_prediction"] = whole_count(parameters.prediction);
  return json;
}

Json outside_of(const step::OutsideMemory& outside) {
  return {{"parameters_bytes", finite(outside.parameters)},
          {"gradients_bytes", finite(outside.gradients)},
          {"optimizer_bytes", finite(outside.optimizer)},
          {"activations_bytes", finite(outside.activations)},
          {"total_bytes", finite(outside.total())}};
}

Json room_of(const OutsideRoom& room) {
  return {{"bytes_per_node", finite(room.used)}, {"capacity_bytes", finite(room.capacity)}, {"fits", room.fits()}};
}

Json stage_of(const StageMemory& stage, bool offloads) {
  Json json = {{"weights_bytes", finite(stage.weights)},
               {"gradients_bytes", finite(stage.gradients)},
               {"optimizer_bytes", finite(stage.optimizer)},
               {"activations_bytes", finite(stage.activations)},
               {"other_bytes", finite(stage.other)},
               {"peak_bytes", finite(stage.peak)},
               {"capacity_bytes", finite(stage.capacity)},
               {"layers", stage.layers},
               {"peak_microbatch_chunks", stage.peak_microbatch_chunks}};
  if (offloads) json["host"] = outside_of(stage.outside.host);
  if (stage.outside.disk.total() > Bytes(0)) json["nvme"] = outside_of(stage.outside.disk);
  return json;
}

Json memory_of(const Memory& memory) {
  Json stages = Json::array();
  for (const StageMemory& stage : memory.per_stage) stages.push_back(stage_of(stage, memory.host.has_value()));
  Json json = {{"peak_bytes", finite(memory.peak)},
               {"capacity_bytes", finite(memory.capacity)},
               {"outside_allocator_bytes", finite(memory.outside_allocator)},
               {"fits", memory.fits},
               {"verdict", name_of(memory.fit())},
               {"filled", finite(memory.filled())},
               {"dominant", memory.dominant}};
  json["advice"] = memory.advice ? Json(*memory.advice) : Json();
  json["model_state_bytes"] = finite(memory.model_state);
  json["boundary_activations_whole_batch_bytes"] = finite(memory.boundary_whole_batch);
  json["boundary_activations_microbatch_bytes"] = finite(memory.boundary_one_microbatch);
  if (memory.host) {
    json["host"] = room_of(memory.host->memory);
    json["host"]["gpus_per_node"] = memory.host->gpus;
    if (memory.host->disks) json["nvme"] = room_of(*memory.host->disks);
  }
  json["per_stage"] = std::move(stages);
  return json;
}

Json run_of(const Metrics& m) {
  const RunCost& run = *m.run;
  const auto ends = [&](double value) {
    const auto range = range_of(m, value);
    return range ? Json::array({finite(range->low), finite(range->high)}) : Json();
  };
  Json json = {{"tokens", finite(run.tokens)}, {"days", finite(run.days)}, {"gpu_hours", finite(run.gpu_hours)}};
  json["cost"] = run.cost ? Json(finite(*run.cost)) : Json();
  json["currency"] = run.currency;
  json["days_interval"] = ends(run.days);
  json["cost_interval"] = run.cost ? ends(*run.cost) : Json();
  return json;
}

}  // namespace

Json delays_json(const Metrics& m) {
  Json json = Json::array();
  if (!m.delays) return json;
  for (const Delay& delay : *m.delays) {
    Json& each = json.emplace_back(Json{{"what", delay.what}});
    if (delay.gpu) each["gpu"] = delay.gpu->number();
    if (delay.node) each["node"] = delay.node->number();
    if (delay.nic) each["nic"] = *delay.nic;
    each["on_critical_path_s"] = delay.on_critical_path ? Json(finite(*delay.on_critical_path)) : Json();
    each["step_time_s_without"] = finite(delay.without);
    each["waits_s"] = finite(m.step_time - delay.without);
  }
  return json;
}

std::string to_json(const Metrics& m) {
  Json json = {{"name", m.name},
               {"schedule", m.schedule},
               {"step_time_s", finite(m.step_time)},
               {"simulated_step_time_s", finite(m.simulated_step_time)},
               {"forward_only_step_s", m.forward_only_step ? Json(finite(*m.forward_only_step)) : Json()},
               {"bias", bias_of(m)},
               {"step_time_s_interval", ends_of(m.interval)},
               {"interval", interval_of(m.interval)},
               {"tokens_per_s", finite(m.tokens_per_s)},
               {"tokens_per_s_per_gpu", finite(m.tokens_per_s_per_gpu)},
               {"model_tflops_per_gpu", finite(m.model_tflops_per_gpu)},
               {"hardware_tflops_per_gpu", finite(m.hardware_tflops_per_gpu)},
               {"megatron_log_tflops_per_gpu", finite(m.megatron_log_tflops_per_gpu)},
               {"mfu", finite(m.mfu)},
               {"hfu", finite(m.hfu)},
               {"mfu_peak_tflops", finite(m.mfu_peak_tflops)},
               {"bubble_fraction", finite(m.bubble_fraction)},
               {"ideal_bubble_fraction", finite(m.ideal_bubble_fraction)},
               {"bubble_fraction_of_step", finite(m.bubble_fraction_of_step)},
               {"layer", {{"forward_s", finite(m.layer_forward)}, {"backward_s", finite(m.layer_backward)}}},
               {"shown_gpus", numbers_of(m.shown_gpus)},
               {"time_s", time_of(m.time)},
               {"parameters", parameters_of(m.parameters)},
               {"p2p_bytes_per_step", finite(Bytes(m.p2p_bytes_per_step))},
               {"memory", memory_of(m.memory)}};
  if (m.weights)
    json["weight_versions"] = {{"kept", m.weights->kept.values()}, {"staleness", m.weights->staleness.values()}};
  json["run"] = m.run ? run_of(m) : Json();
  json["delays"] = delays_json(m);
  json["assumptions"] = m.assumptions;
  json["warnings"] = m.warnings;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace foretoken::report
