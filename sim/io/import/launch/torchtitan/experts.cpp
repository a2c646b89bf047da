// Maps experts: the ranks that share them, and their exchange.
#include "sim/base/text.h"
#include "sim/io/import/launch/torchtitan/settings.h"

namespace foretoken::io::launch::torchtitan {
namespace {

// torchtitan/models/llama4/infra/parallelize.py, apply_moe_ep_tp: without expert parallelism the plan of the experts is
// TensorParallel over all tensor ranks. The degree has no effect then: config/job_config.py,
// expert_tensor_parallel_degree.
void map_shared_experts(const Settings& settings, std::int64_t tensor, Report& report) {
  const Names kShared = {"parallelism.expert_tensor_parallel_degree"};
  const bool parallel = report.whole("parallelism.expert").value_or(1) > 1;
  if (number(settings, report, kShared).value_or(1) > 1) {
    const std::string key = settings.find(kShared)->key;
    if (parallel)
      report.refuse(key, "experts that tensor ranks share are not modelled for torchtitan");
    else
      report.ignore(key, "");
  }
  if (report.has_experts && !parallel && tensor > 1)
    report.assume("parallelism.expert_tensor", tensor, "tensor ranks share experts without expert parallelism");
}

}  // namespace

void map_experts(const Settings& settings, std::int64_t tensor, Report& report) {
  map_shared_experts(settings, tensor, report);
  const auto exchange = settings.find({"parallelism.expert_parallel_comm_backend"});
  if (exchange && exchange->text == "deepep")
    report.map("moe.dispatcher", "deepep", exchange->key);
  else if (exchange && exchange->text != "standard")
    report.refuse(exchange->key, "the exchange " + in_quotes(exchange->text) + " is not modelled");
}

}  // namespace foretoken::io::launch::torchtitan
