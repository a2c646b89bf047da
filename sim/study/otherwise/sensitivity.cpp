// Simulates a job with each hardware property smaller and larger.
#include "sim/study/otherwise/sensitivity.h"

#include <algorithm>
#include <iterator>

#include "sim/base/check.h"
#include "sim/job/make.h"
#include "sim/job/scale.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using job::Key;

struct Property {
  std::string_view name;
  Key key;
};

constexpr Property kProperties[] = {{"GPU arithmetic rate", Key::kArithmeticRate},
                                    {"GPU memory bandwidth", Key::kMemoryBandwidth},
                                    {"kernel launch time", Key::kLaunchTime},
                                    {"host time to issue a layer", Key::kHostTime},
                                    {"NVLink rate", Key::kNvlinkRate},
                                    {"PCIe rate", Key::kPcieRate},
                                    {"latency inside a node", Key::kNodeLatency},
                                    {"network interface rate", Key::kNicRate},
                                    {"network latency", Key::kNetworkLatency}};

Seconds step_time_with(const job::Question& question, Key key, double factor) {
  return predict(job::make(job::with(question, {{key, factor}})), {.keeps_tasks = false}).metrics.step_time;
}

}  // namespace

std::size_t sensitivity_count(const job::Job& job) {
  const job::Question question = job::question_of(job);
  return static_cast<std::size_t>(
      std::count_if(std::begin(kProperties), std::end(kProperties),
                    [&](const Property& property) { return job::has_property(property.key, question); }));
}

std::vector<Sensitivity> sensitivities(const job::Job& job, double part, double bias_factor, const Watch& watch) {
  expects(part > 0 && part < 1, "a part of a hardware property lies between 0 and 1");
  const job::Question question = job::question_of(job);
  const std::size_t count = sensitivity_count(job);
  std::vector<Sensitivity> all;
  watch.show(0, count);
  for (const auto& [name, key] : kProperties) {
    if (!job::has_property(key, question)) continue;
    if (watch.stopped()) break;
    all.push_back({.name = name,
                   .belongs = job::name_of(key),
                   .smaller = bias_factor * step_time_with(question, key, 1 - part),
                   .larger = bias_factor * step_time_with(question, key, 1 + part)});
    watch.show(all.size(), count);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Sensitivity& a, const Sensitivity& b) { return a.swing() > b.swing(); });
  return all;
}

}  // namespace foretoken::study
