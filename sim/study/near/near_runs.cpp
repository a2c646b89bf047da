// Finds published runs near a job: reads all of them, and predicts the nearest.
#include "sim/study/near/near_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "sim/io/scenario/read_scenario.h"
#include "sim/model/counts/parameters.h"
#include "sim/report/text/number.h"
#include "sim/study/predict/interval.h"
#include "sim/study/predict/predict.h"
#include "sim/trust/place.h"

namespace foretoken::study {
namespace {

using job::Job;

constexpr std::size_t kMostOfASet = 4;  // one publication may not fill the list

// Collects the differences between two jobs in words.
class Differences {
 public:
  void size(std::string_view name, double here, double there) {
    if (std::abs(std::log2(there / here)) > 0.3) words_.push_back(fmt::format("{} {}", report::in_words(there), name));
  }
  void kind(std::string_view words, bool differs) {
    if (differs) words_.emplace_back(words);
  }
  [[nodiscard]] std::string words() const {
    return words_.empty() ? "nothing important" : fmt::format("{}", fmt::join(words_, ", "));
  }

 private:
  std::vector<std::string> words_;
};

std::string differences(const Job& here, const Job& there) {
  Differences d;
  d.size("parameters", model::total_parameters(here.model), model::total_parameters(there.model));
  d.size("GPUs", here.gpus, there.gpus);
  d.kind(there.gpu_names(), here.gpu_names() != there.gpu_names());
  d.kind(there.cluster.gpu.architecture + " generation",
         here.cluster.gpu.architecture != there.cluster.gpu.architecture);
  d.kind(there.runtime.name, here.runtime.name != there.runtime.name);
  d.size("tensor ranks", here.parallelism.tensor, there.parallelism.tensor);
  d.size("stages", here.parallelism.pipeline, there.parallelism.pipeline);
  d.size("tokens a sequence", static_cast<double>(here.batch.sequence_length),
         static_cast<double>(there.batch.sequence_length));
  d.size("sequences a micro-batch", static_cast<double>(here.batch.micro), static_cast<double>(there.batch.micro));
  d.kind(fmt::format("{}", there.precision_name()), here.precision_name() != there.precision_name());
  d.kind("other recomputation", here.recompute.granularity != there.recompute.granularity);
  const trust::Place one = place_of(here), other = place_of(there);
  for (const trust::PlaceKey& key : trust::place_keys())
    if (key.name == "graphs" || key.name == "compile" || key.name == "routing" || key.name == "schedule")
      d.kind(fmt::format("other {}", key.words), trust::steps_of(key, one, other) > 0);
  return d.words();
}

struct NearCandidate {
  NearRun run;
  Job job;
};

// Returns the runs that are not too far away, nearest first. Equally near runs keep their order.
std::vector<NearCandidate> candidates(const Job& job, std::span<const MeasuredRun> measured,
                                      const trust::Weights& weights) {
  const trust::Place here = place_of(job);
  std::vector<NearCandidate> all;
  for (const MeasuredRun& run : measured) {
    NearCandidate each{.run = {}, .job = io::read_scenario_text(run.scenario, run.id).job};
    const trust::Place there = place_of(each.job);
    if (here.gpu != there.gpu && here.runtime != there.runtime && here.bits != there.bits) continue;
    each.run = {.set = run.set,
                .id = run.id,
                .source = run.source,
                .gpus = each.job.gpus,
                .measured = run.measured,
                .predicted = {},
                .fitted = run.fitted,
                .distance = weights.distance(trust::steps_between(here, there)),
                .difference = differences(job, each.job)};
    all.push_back(std::move(each));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const NearCandidate& a, const NearCandidate& b) { return a.run.distance < b.run.distance; });
  return all;
}

}  // namespace

std::vector<NearRun> near_runs(const Job& job, std::span<const MeasuredRun> measured, std::size_t count,
                               const trust::Weights& weights) {
  std::vector<NearRun> runs;
  std::map<std::string, std::size_t> taken;
  for (NearCandidate& each : candidates(job, measured, weights)) {
    if (runs.size() == count) break;
    if (++taken[each.run.set] > kMostOfASet) continue;
    each.run.predicted = predict(std::move(each.job), {.keeps_tasks = false}).metrics.simulated_step_time;
    runs.push_back(std::move(each.run));
  }
  return runs;
}

}  // namespace foretoken::study
