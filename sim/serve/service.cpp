// Computes values that follow from the fields of a service.
#include "sim/serve/service.h"

#include <algorithm>
#include <cmath>

#include "sim/base/kernel.h"

namespace foretoken::serve {

std::string_view name_of(WeightPrecision precision) {
  switch (precision) {
    case WeightPrecision::kFp16:
      return "fp16";
    case WeightPrecision::kBf16:
      return "bf16";
    case WeightPrecision::kFp8:
      return "fp8";
    case WeightPrecision::kFp8Block:
      return "fp8_block";
    case WeightPrecision::kNvfp4:
      return "nvfp4";
    case WeightPrecision::kMxfp4:
      return "mxfp4";
    case WeightPrecision::kInt8:
      return "int8";
    case WeightPrecision::kInt4:
      return "int4";
    case WeightPrecision::kW8a8:
      return "w8a8";
    case WeightPrecision::kTf32:
      return "tf32";
    case WeightPrecision::kFp32:
      return "fp32";
  }
  return "";
}

// int4 has a scale of 16 bits for each group of 128 weights (GPTQ, AWQ). mxfp4 has a scale of 8 bits for each 32 (OCP
// Microscaling Formats 1.0, table 1).
double weight_bytes(WeightPrecision precision) {
  switch (precision) {
    case WeightPrecision::kTf32:
    case WeightPrecision::kFp32:
      return 4;
    case WeightPrecision::kFp16:
    case WeightPrecision::kBf16:
      return 2;
    case WeightPrecision::kFp8:
    case WeightPrecision::kInt8:
    case WeightPrecision::kW8a8:
      return 1;
    case WeightPrecision::kFp8Block:
      return bytes_per_element(Precision::kFp8Block);
    case WeightPrecision::kNvfp4:
      return bytes_per_element(Precision::kNvfp4);
    case WeightPrecision::kMxfp4:
      return 0.5 + 1.0 / 32;
    case WeightPrecision::kInt4:
      return 0.5 + 2.0 / 128;
  }
  return 2;
}

std::string_view name_of(CapacityPolicy policy) {
  return policy == CapacityPolicy::kGuaranteedNoEvict ? "guaranteed_no_evict" : "max_utilization";
}

double Speculation::tokens_a_pass() const {
  if (acceptance >= 1) return tokens + 1.0;
  return (1 - std::pow(acceptance, tokens + 1)) / (1 - acceptance);
}

std::int64_t Service::longest() const {
  std::int64_t longest = requests.input_tokens + requests.output_tokens;
  for (const TracedRequest& request : requests.trace)
    longest = std::max(longest, request.input_tokens + request.output_tokens);
  return longest;
}

std::int64_t Service::longest_prompt() const {
  std::int64_t longest = requests.input_tokens;
  for (const TracedRequest& request : requests.trace) longest = std::max(longest, request.input_tokens);
  return longest;
}

std::string_view name_of(MoeBackend backend) {
  switch (backend) {
    case MoeBackend::kMarlin:
      return "marlin";
    case MoeBackend::kTriton:
      return "triton";
    case MoeBackend::kAuto:
      break;
  }
  return "auto";
}

bool runs_unfused(const Service& service) {
  const auto& halves = service.model.encoder_decoder;
  const auto& dims = service.engine.fused_head_dims;
  const bool fuses_heads =
      !service.model.encoder || !dims || std::find(dims->begin(), dims->end(), service.model.head_dim) != dims->end();
  return is_wide(service.precision) || !fuses_heads || (halves && halves->relative());
}

std::int64_t cached_layers(const model::Transformer& model) {
  return model.layers - (model.encoder_decoder ? model.encoder_decoder->encoder_layers : 0);
}

namespace {

std::int64_t of_a_group(std::int64_t limit, const Engine& engine, const Degrees& degrees) {
  const std::int64_t groups = engine.limits_each_group ? 1 : degrees.attention_data;
  return (limit + groups - 1) / groups;
}

}  // namespace

std::int64_t group_tokens(const Engine& engine, const Degrees& degrees) {
  return of_a_group(engine.token_budget, engine, degrees);
}

std::int64_t group_sequences(const Engine& engine, const Degrees& degrees) {
  return of_a_group(engine.max_sequences, engine, degrees);
}

std::vector<Pool> pools_of(const Service& service) {
  if (!service.disaggregated) return {service.pool};
  return {service.disaggregated->prefill, service.disaggregated->decode};
}

}  // namespace foretoken::serve
