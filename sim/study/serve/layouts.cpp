// Enumerates layouts in a fixed order: small instances first.
#include "sim/study/serve/layouts.h"

#include <algorithm>

#include "sim/serve/pool_rules.h"

namespace foretoken::study {
namespace {

using serve::Degrees;
using serve::Pool;

bool allows(const std::optional<int>& fixed, int degree) { return !fixed || *fixed == degree; }

std::vector<int> divisors(int number) {
  std::vector<int> found;
  for (int divisor = 1; divisor <= number; ++divisor)
    if (number % divisor == 0) found.push_back(divisor);
  return found;
}

void add_pools(const serve::Service& service, Degrees degrees, int gpus, const FixedDegrees& fixed,
               std::vector<Pool>& pools) {
  const int ranks = degrees.stage_ranks();
  std::vector<int> experts{1};
  if (service.model.experts && ranks > 1) experts.push_back(ranks);
  if (fixed.expert) experts = {*fixed.expert};
  for (const int expert : experts) {
    degrees.expert = expert;
    const Pool pool{.gpus = gpus, .degrees = degrees};
    if (serve::faults_of(service, pool).empty()) pools.push_back(pool);
  }
}

}  // namespace

bool FixedDegrees::allow(const Degrees& degrees) const {
  return allows(tensor, degrees.tensor) && allows(pipeline, degrees.pipeline) &&
         allows(attention_data, degrees.attention_data);
}

int ServiceLayout::gpus() const {
  return disaggregated ? disaggregated->prefill.gpus + disaggregated->decode.gpus : pool.gpus;
}

void ServiceLayout::apply_to(serve::Service& service) const {
  service.precision = precision;
  service.pool = pool;
  service.disaggregated = disaggregated;
}

std::vector<Pool> pools_on(const serve::Service& service, int gpus, const FixedDegrees& fixed) {
  const bool one_instance = service.batching == serve::Batching::kStatic;
  const bool groups = service.model.experts.has_value() || fixed.attention_data.has_value();
  std::vector<Pool> pools;
  for (const int instance : divisors(gpus)) {
    if (one_instance && instance != gpus) continue;
    for (const int pipeline : divisors(instance))
      for (const int attention_data : divisors(instance / pipeline)) {
        if (attention_data > 1 && !groups) continue;
        const Degrees degrees{
            .tensor = instance / pipeline / attention_data, .pipeline = pipeline, .attention_data = attention_data};
        if (fixed.allow(degrees)) add_pools(service, degrees, gpus, fixed, pools);
      }
  }
  return pools;
}

std::vector<serve::Disaggregated> splits_of(int gpus, const std::vector<Degrees>& cuts) {
  constexpr int kParts = 8;
  std::vector<serve::Disaggregated> splits;
  for (const Degrees& prompts : cuts)
    for (const Degrees& decoding : cuts) {
      const int instances = gpus / prompts.gpus();
      const int step = std::max(1, instances / kParts);
      for (int count = step; count < instances; count += step) {
        const int left = gpus - count * prompts.gpus();
        if (left < decoding.gpus() || left % decoding.gpus() != 0) continue;
        splits.push_back({.prefill = {.gpus = count * prompts.gpus(), .degrees = prompts},
                          .decode = {.gpus = left, .degrees = decoding}});
      }
    }
  return splits;
}

}  // namespace foretoken::study
