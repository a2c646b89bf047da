// Runs a static batch through the stages.
#include "sim/serve/run/static_batch.h"

#include <algorithm>

namespace foretoken::serve {
namespace {

/// Stages that passes go through one after another.
class Stages {
 public:
  explicit Stages(PassTimes& times) : times_(times), free_(static_cast<std::size_t>(times.stages())) {}

  /// Returns the end of a pass that can start at `at`.
  des::Instant pass(const PassShape& shape, des::Instant at) {
    times_.time(shape, durations_);
    const des::Duration message = times_.message(shape.tokens());
    for (std::size_t stage = 0; stage < free_.size(); ++stage) {
      if (stage > 0) at = at + message;
      at = later(std::max(at, free_[stage]), durations_[stage]);
      free_[stage] = at;
    }
    return at;
  }

 private:
  PassTimes& times_;
  std::vector<des::Instant> free_;
  std::vector<des::Duration> durations_;
};

PassShape shape_of(const model::Transformer& model, std::int64_t sequences, std::int64_t input,
                   std::int64_t generated) {
  if (generated == 0) return {.prompts = {{.sequences = sequences, .tokens = input}}};
  if (model.encoder_decoder)  // the answer begins with a start token
    return {.prompts = {},
            .decoding = sequences,
            .cached = real(sequences * (generated + 1)),
            .encoded = real(sequences * input)};
  return {.prompts = {}, .decoding = sequences, .cached = real(sequences * (input + generated))};
}

}  // namespace

std::int64_t micro_batch(const Engine& engine, std::int64_t batch, std::int64_t length, int stages) {
  if (stages == 1 || !engine.splits_batch) return batch;
  std::int64_t local = batch % stages == 0 ? batch / stages : batch;
  while (local * length > engine.split_tokens && local % 2 == 0) local /= 2;
  return local;
}

Run run_static(const Service& service, PassTimes& times, bool traces) {
  const Requests& asked = service.requests;
  const std::int64_t batch = asked.at_once;
  Stages stages(times);
  Run run{.requests = requests_of(service), .peak_running = batch, .peak_cache = 1};
  const des::Instant accepted =
      later(des::Instant{}, des::to_duration(real(service.model.layers) * service.engine.request_layer));
  std::vector<des::Instant> ready;  // when each micro-batch has its last token
  const std::int64_t passes = std::max<std::int64_t>(1, asked.output_tokens);  // an encoder has one
  for (std::int64_t generated = 0; generated < passes; ++generated) {
    const std::int64_t length = generated == 0 ? asked.input_tokens : 1;
    const std::int64_t local = micro_batch(service.engine, batch, length, times.stages());
    const des::Instant start = ready.empty() ? accepted : *std::max_element(ready.begin(), ready.end());
    const bool same = static_cast<std::int64_t>(ready.size()) == batch / local;
    if (!same) ready.assign(static_cast<std::size_t>(batch / local), start);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const des::Instant at = ready[i];
      ready[i] = stages.pass(shape_of(service.model, local, asked.input_tokens, generated), at);
      ++run.passes;
      if (traces)
        run.traced.push_back({.load = {.at = at,
                                       .end = ready[i],
                                       .decoding = generated == 0 ? 0 : local,
                                       .prompt_tokens = generated == 0 ? local * length : 0,
                                       .running = batch,
                                       .lane = static_cast<int>(i)}});
    }
    const des::Instant end = *std::max_element(ready.begin(), ready.end());
    for (Request& request : run.requests) {
      if (generated == 0) request.first = end;
      request.finish = end;
    }
  }
  for (Request& request : run.requests) {
    if (asked.mean_output_tokens > 0) request.output = static_cast<std::int32_t>(asked.mean_output_tokens);
    request.generated = request.output;
  }
  run.makespan = run.requests.front().finish - des::Instant{};
  run.request_seconds = real(batch) * des::to_seconds(run.makespan).value();
  return run;
}

}  // namespace foretoken::serve
