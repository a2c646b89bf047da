// Writes the answer about a log as JSON.
#include <nlohmann/json.hpp>

#include "tools/text/diagnose/log_answer.h"

namespace foretoken::tools {
namespace diagnose_json {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json steady_json(const LogAnswer& answer) {
  const study::Steady& steady = answer.steady;
  Json left_out = Json::object();
  for (std::size_t reason = 1; reason < study::kUnsteady; ++reason)
    left_out[std::string(name_of(static_cast<study::Unsteady>(reason)))] = steady.left_out[reason];
  const bool seconds = steady.measured == study::Measured::kSeconds;
  return {{"step_time_s", answer.step ? Json(answer.step->value()) : Json(nullptr)},
          {"jitter", steady.jitter},
          {"p95_s", seconds ? Json(steady.p95) : Json(nullptr)},
          {"drift", steady.drift},
          {"entries", steady.entries},
          {"steps", steady.steps},
          {"left_out", std::move(left_out)},
          {"restarts", steady.restarts},
          {"stall_period_steps", or_null(steady.stall_period_steps)},
          {"lost_s", steady.lost_s},
          {"global_batch", steady.global_batch ? Json(*steady.global_batch) : Json(nullptr)},
          {"samples_per_s", or_null(answer.samples_per_s())},
          {"tokens_per_s", or_null(answer.tokens_per_s())},
          {"mfu", or_null(answer.mfu())},
          {"log_states",
           {{"samples_per_s", or_null(steady.samples_per_s)},
            {"tokens_per_s_per_gpu", or_null(steady.tokens_per_s_per_gpu)},
            {"tflops_per_gpu", or_null(steady.tflops_per_gpu)},
            {"mfu", or_null(steady.mfu)}}}};
}

Json prediction_json(const study::Diagnosis& d) {
  const report::Metrics& m = d.prediction.metrics;
  return {{"name", m.name},
          {"step_time_s", m.step_time.value()},
          {"step_time_s_interval", Json::array({m.interval->low.value(), m.interval->high.value()})},
          {"mfu", m.mfu},
          {"measured_over_predicted", 1 + d.gap()},
          {"inside_interval", d.inside}};
}

Json causes_json(const study::Diagnosis& d) {
  Json causes = Json::array();
  for (const study::RankedCause& cause : d.causes)
    causes.push_back({{"cause", cause.key},
                      {"words", cause.words},
                      {"likelihood", cause.likelihood},
                      {"tied", cause.tied},
                      {"step_time_s", cause.step.value()},
                      {"worth_s", cause.worth.value()},
                      {"test", cause.test}});
  return causes;
}

Json near_json(const std::vector<study::NearRun>& runs) {
  Json all = Json::array();
  for (const study::NearRun& run : runs)
    all.push_back({{"set", run.set},
                   {"id", run.id},
                   {"gpus", run.gpus},
                   {"measured_s", run.measured.value()},
                   {"predicted_s", run.predicted.value()},
                   {"difference", run.difference}});
  return all;
}

}  // namespace
}  // namespace diagnose_json

std::string log_answer_json(const LogAnswer& answer) {
  using namespace diagnose_json;
  Json json{{"file", answer.file},
            {"format", name_of(answer.log.format)},
            {"lines", answer.log.lines},
            {"entries", answer.log.entries.size()},
            {"broken_lines", answer.log.broken_lines},
            {"repeated_lines", answer.log.repeated_lines},
            {"cut", answer.log.is_cut},
            {"steady", steady_json(answer)}};
  if (answer.diagnosis) {
    json["prediction"] = prediction_json(*answer.diagnosis);
    json["near_runs"] = near_json(answer.near_runs);
    json["told_apart_by"] = answer.diagnosis->has_timers ? "timers" : "step time";
    json["unexplained"] = answer.diagnosis->unexplained;
    json["explained"] = answer.diagnosis->explained();
    json["causes"] = causes_json(*answer.diagnosis);
  }
  json["notes"] = answer.notes();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace foretoken::tools
