// A small service for tests, and its run.
#pragma once

#include "sim/serve/passes.h"
#include "sim/serve/run/static_batch.h"
#include "sim/step/test_job.h"

namespace foretoken::serve {

/// A GPT of 4 layers on one A100, served with continuous batches.
inline Service small_service() {
  const job::Job job = step::test_job(4, 1024);
  Service service;
  service.model = job.model;
  service.cluster = job.cluster;
  service.profile = job.profile;
  service.engine = {.name = "test", .token_budget = 512, .max_sequences = 32, .pass = microseconds(100)};
  service.requests = {.kind = ArrivalKind::kPoisson,
                      .input_tokens = 200,
                      .output_tokens = 50,
                      .rate_per_s = 100,
                      .count = 300,
                      .length_spread = 0.5};
  return service;
}

inline Run run_of(const Service& service, bool traces = false) {
  const PoolTimes times = times_of(service);
  return service.batching == Batching::kStatic ? run_static(service, *times.front(), traces)
                                               : simulate(service, times, traces);
}

}  // namespace foretoken::serve
