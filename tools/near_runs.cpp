// Published runs that resemble a scenario. All cases are read, the nearest ones predicted.
#include "tools/near_runs.h"

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
#include "sim/study/simulate.h"
#include "validate/case_set.h"

namespace foretoken::tools {
namespace {

using job::Job;

constexpr double kFarthest = 9;
constexpr std::size_t kMostOfASet = 4;  // one publication does not speak for all

// How two scenarios differ: a sum of weighed differences, and the larger ones in words.
class Difference {
 public:
  void size(std::string_view name, double here, double there, double weight) {
    const double doublings = std::abs(std::log2(there / here));
    distance_ += weight * doublings;
    if (doublings > 0.3) words_.push_back(fmt::format("{} {}", report::in_words(there), name));
  }
  void kind(std::string_view words, bool differs, double weight) {
    if (!differs) return;
    distance_ += weight;
    words_.emplace_back(words);
  }
  [[nodiscard]] double distance() const { return distance_; }
  [[nodiscard]] std::string words() const {
    return words_.empty() ? "nothing of weight" : fmt::format("{}", fmt::join(words_, ", "));
  }

 private:
  double distance_ = 0;
  std::vector<std::string> words_;
};

Difference difference(const Job& here, const Job& there) {
  Difference d;
  d.size("parameters", model::total_parameters(here.model), model::total_parameters(there.model), 1);
  d.size("GPUs", here.gpus, there.gpus, 0.5);
  d.kind(there.gpu_names(), here.gpu_names() != there.gpu_names(), 1.5);
  d.kind(there.cluster.gpu.architecture + " generation",
         here.cluster.gpu.architecture != there.cluster.gpu.architecture, 3);
  d.kind(there.runtime.name, here.runtime.name != there.runtime.name, 1);
  d.size("tensor ranks", here.parallelism.tensor, there.parallelism.tensor, 0.5);
  d.size("stages", here.parallelism.pipeline, there.parallelism.pipeline, 0.5);
  d.size("tokens a sequence", static_cast<double>(here.batch.sequence_length),
         static_cast<double>(there.batch.sequence_length), 0.5);
  d.size("sequences a micro-batch", static_cast<double>(here.batch.micro), static_cast<double>(there.batch.micro),
         0.25);
  d.kind("other precision", bytes_per_element(here.precision) != bytes_per_element(there.precision), 1);
  d.kind("other recomputation", here.recompute.granularity != there.recompute.granularity, 0.5);
  return d;
}

struct NearCandidate {
  html::NearRun run;
  Job scenario;
};

std::vector<NearCandidate> candidates(const Job& scenario) {
  std::vector<NearCandidate> all;
  for (const std::string& name : validate::case_set_names()) {
    const validate::CaseSet set = validate::read_case_set(name);
    for (const validate::Case& row : set.cases) {
      if (!row.measured.step_time) continue;
      NearCandidate each{.run = {}, .scenario = io::read_scenario_text(row.scenario, row.id)};
      const Difference d = difference(scenario, each.scenario);
      if (d.distance() > kFarthest) continue;
      each.run = {.set = name,
                  .id = row.id,
                  .source = set.title,
                  .gpus = each.scenario.gpus,
                  .measured = *row.measured.step_time,
                  .predicted = {},
                  .fitted = row.fitted,
                  .distance = d.distance(),
                  .difference = d.words()};
      all.push_back(std::move(each));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const NearCandidate& a, const NearCandidate& b) { return a.run.distance < b.run.distance; });
  return all;
}

}  // namespace

std::vector<html::NearRun> near_runs(const Job& scenario, std::size_t count) {
  std::vector<html::NearRun> runs;
  std::map<std::string, std::size_t> taken;
  for (NearCandidate& each : candidates(scenario)) {
    if (runs.size() == count) break;
    if (++taken[each.run.set] > kMostOfASet) continue;
    each.run.predicted = study::predict(each.scenario).step_time;
    runs.push_back(std::move(each.run));
  }
  return runs;
}

}  // namespace foretoken::tools
