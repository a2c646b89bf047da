// Lists the numbers of a runtime by name.
#include "calibration/fit_runtime/runtime_number.h"

#include <algorithm>
#include <array>

namespace foretoken::fit {
namespace {

using job::Runtime;

constexpr std::array<RuntimeNumber, 18> kNumbers{
    {{"gradient_accumulation_bytes", [](Runtime& r, double v) { r.gradient_accumulation_bytes = v; }},
     {"tensor_comm_factor", [](Runtime& r, double v) { r.tensor_comm_factor = v; }},
     {"tensor_comm_overhead_us", [](Runtime& r, double v) { r.tensor_comm_overhead = microseconds(v); }},
     {"data_comm_factor", [](Runtime& r, double v) { r.data_comm_factor = v; }},
     {"data_comm_nics", [](Runtime& r, double v) { r.data_comm_nics = v; }},
     {"gemm_factor", [](Runtime& r, double v) { r.gemm_factor = v; }},
     {"memory_bound_factor", [](Runtime& r, double v) { r.memory_bound_factor = v; }},
     {"host_per_layer_forward_us", [](Runtime& r, double v) { r.host_per_layer_forward = microseconds(v); }},
     {"host_per_layer_backward_us", [](Runtime& r, double v) { r.host_per_layer_backward = microseconds(v); }},
     {"host_growth_per_tensor_rank", [](Runtime& r, double v) { r.host_growth_per_tensor_rank = v; }},
     {"p2p_overhead_us", [](Runtime& r, double v) { r.p2p_overhead = microseconds(v); }},
     {"pass_overhead_us", [](Runtime& r, double v) { r.pass_overhead = microseconds(v); }},
     {"fp8_backward_factor", [](Runtime& r, double v) { r.fp8_backward_factor = v; }},
     {"step_overhead_us", [](Runtime& r, double v) { r.step_overhead = microseconds(v); }},
     {"collective_per_rank_us", [](Runtime& r, double v) { r.collective_per_rank = microseconds(v); }},
     {"expert_product_us", [](Runtime& r, double v) { r.expert_product = microseconds(v); }},
     {"expert_wait_us", [](Runtime& r, double v) { r.expert_wait = microseconds(v); }},
     {"optimizer_bytes", [](Runtime& r, double v) { r.optimizer_bytes = v; }}}};

}  // namespace

const RuntimeNumber* find_runtime_number(std::string_view name) {
  const auto* found =
      std::find_if(kNumbers.begin(), kNumbers.end(), [&](const RuntimeNumber& number) { return number.name == name; });
  return found == kNumbers.end() ? nullptr : found;
}

}  // namespace foretoken::fit
