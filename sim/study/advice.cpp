// What to change when a job does not fit: every legal combination of a few changes is simulated.
#include "sim/study/advice.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "fmt/format.h"
#include "sim/schedule/catalogue.h"
#include "sim/study/simulate.h"

namespace foretoken::study {
namespace {

using job::Job;
using model::RecomputeGranularity;

// Places of the two recompute modes in kChanges.
constexpr std::size_t kSelectiveRecompute = 2, kFullRecompute = 3;

// One way to save memory: applied to a scenario, or not applicable.
struct Change {
  std::string words;
  bool (*apply)(Job&);
};

const Change kChanges[] = {
    {"optimizer.zero_stage 1",
     [](Job& s) {
       if (s.optimizer.zero_stage >= 1 || s.parallelism.data * s.parallelism.context == 1) return false;
       s.optimizer.zero_stage = 1;
       return true;
     }},
    {"parallelism.sequence_parallel true",
     [](Job& s) {
       const bool splits = s.batch.sequence_length % (s.parallelism.context * s.parallelism.tensor) == 0;
       if (s.parallelism.sequence_parallel || s.parallelism.tensor == 1 || !splits) return false;
       s.parallelism.sequence_parallel = true;
       return true;
     }},
    {"recompute \"selective\"",
     [](Job& s) {
       if (s.recompute.granularity != RecomputeGranularity::kNone) return false;
       s.recompute = {};
       s.recompute.granularity = RecomputeGranularity::kSelective;
       return true;
     }},
    {"recompute \"full\"",
     [](Job& s) {
       if (s.recompute.granularity == RecomputeGranularity::kFull) return false;
       s.recompute = {};
       s.recompute.granularity = RecomputeGranularity::kFull;
       return true;
     }},
    {"batch.micro 1",
     [](Job& s) {
       if (s.batch.micro == 1) return false;
       s.batch.micro = 1;
       return true;
     }},
};

// Whether the schedule takes the changed batch, and the question stays about as large as it was.
bool can_run(const Job& changed, const Job& original) {
  constexpr std::int64_t kMostMicrobatches = 4096;
  const std::int64_t microbatches = changed.batch.global / (changed.batch.micro * changed.parallelism.data);
  if (microbatches > std::max<std::int64_t>(original.microbatches(), kMostMicrobatches)) return false;
  return !schedule::why_not(changed.schedule, {.stages = changed.parallelism.pipeline,
                                               .microbatches = static_cast<int>(microbatches),
                                               .chunks = changed.parallelism.virtual_pipeline,
                                               .group = changed.batch.microbatch_group});
}

// The scenario with the changes of `mask`; nothing when one of them does not apply.
std::optional<Job> changed(const Job& job, unsigned mask, std::string& words) {
  Job result = job;
  for (std::size_t i = 0; i < std::size(kChanges); ++i) {
    if ((mask >> i & 1U) == 0) continue;
    if (i == kFullRecompute && (mask >> kSelectiveRecompute & 1U) != 0) return std::nullopt;  // full alone is the same
    if (!kChanges[i].apply(result)) return std::nullopt;
    words += (words.empty() ? "" : ", ") + kChanges[i].words;
  }
  return can_run(result, job) ? std::optional(result) : std::nullopt;
}

}  // namespace

std::string advise(const Simulation& simulation) {
  const double now = simulation.metrics.step_time.value();
  std::string best_words;
  double best_step = 0, best_peak = 0, lowest_peak = simulation.metrics.memory.peak.value();
  for (unsigned mask = 1; mask < 1U << std::size(kChanges); ++mask) {
    std::string words;
    const std::optional<Job> candidate = changed(simulation.job, mask, words);
    if (!candidate) continue;
    const report::Metrics metrics = predict(*candidate);
    lowest_peak = std::min(lowest_peak, metrics.memory.peak.value());
    if (!metrics.memory.fits || (!best_words.empty() && metrics.step_time.value() >= best_step)) continue;
    best_words = words;
    best_step = metrics.step_time.value();
    best_peak = metrics.memory.peak.value();
  }
  if (best_words.empty())
    return fmt::format(
        "no recomputation, sharding or smaller micro-batch is enough (at best {:.1f} GiB): raise the "
        "tensor or pipeline degree",
        lowest_peak / kGiB);
  return fmt::format("{}: {:.1f} GiB, step time {:+.1f} %", best_words, best_peak / kGiB, 100 * (best_step / now - 1));
}

}  // namespace foretoken::study
