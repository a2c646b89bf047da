// Finds advice for a job that does not fit, by simulating every legal combination of a few changes.
#include "sim/study/predict/advice.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "fmt/format.h"
#include "sim/job/make.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using job::Edit;
using job::Job;
using job::Key;
using job::Patch;
using model::RecomputeGranularity;

// The changes that save memory. Two changes of one key exclude each other.
const std::array kChanges = {Edit{Key::kZeroStage, std::int64_t{1}}, Edit{Key::kSequenceParallel, true},
                             Edit{Key::kRecompute, RecomputeGranularity::kSelective},
                             Edit{Key::kRecompute, RecomputeGranularity::kFull},
                             Edit{Key::kMicroBatch, std::int64_t{1}}};

// Returns true when an edit changes the job and saves memory.
bool saves(const Edit& edit, const Job& job) {
  switch (edit.key) {
    case Key::kZeroStage:
      return job.optimizer.zero_stage < 1 && product(job::degrees_of(job.parallelism), net::kReplicaAxes) > 1;
    case Key::kSequenceParallel:
      return !job.parallelism.sequence_parallel && job.parallelism.tensor > 1;
    case Key::kRecompute: {
      const bool full = std::get<RecomputeGranularity>(edit.value) == RecomputeGranularity::kFull;
      return full ? job.recompute.granularity != RecomputeGranularity::kFull
                  : job.recompute.granularity == RecomputeGranularity::kNone;
    }
    default:
      return job.batch.micro > 1;
  }
}

// Returns the changes of `mask`, or nothing when one of them saves no memory or two exclude each other.
std::optional<Patch> patch_of(unsigned mask, const Job& job) {
  Patch patch;
  for (std::size_t i = 0; i < kChanges.size(); ++i) {
    if ((mask >> i & 1U) == 0) continue;
    const Edit& edit = kChanges[i];
    const bool again =
        std::any_of(patch.begin(), patch.end(), [&](const Edit& other) { return other.key == edit.key; });
    if (again || !saves(edit, job)) return std::nullopt;
    patch.push_back(edit);
  }
  return patch;
}

// Returns the job with a patch, or nothing when it breaks a rule or makes the simulation much larger.
std::optional<Job> otherwise(const job::Question& question, const Patch& patch, const Job& original) {
  constexpr int kMostMicrobatches = 4096;
  job::Attempt attempt = job::attempt(job::with(question, patch));
  if (!attempt.made) return std::nullopt;
  if (attempt.made->job.microbatches() > std::max(original.microbatches(), kMostMicrobatches)) return std::nullopt;
  return std::move(attempt.made->job);
}

std::string words_of(const Patch& patch) {
  std::string words;
  for (const Edit& edit : patch) words += (words.empty() ? "" : ", ") + job::in_words(edit);
  return words;
}

}  // namespace

std::string advise(const Prediction& prediction) {
  const job::Question question = job::question_of(prediction.job);
  const double now = prediction.metrics.simulated_step_time.value();
  std::string best_words;
  double best_step = 0, best_peak = 0, lowest_peak = prediction.metrics.memory.needed().value();
  for (unsigned mask = 1; mask < 1U << kChanges.size(); ++mask) {
    const std::optional<Patch> patch = patch_of(mask, prediction.job);
    if (!patch) continue;
    const std::optional<Job> candidate = otherwise(question, *patch, prediction.job);
    if (!candidate) continue;
    const report::Metrics metrics = predict(*candidate, {.keeps_tasks = false}).metrics;
    lowest_peak = std::min(lowest_peak, metrics.memory.needed().value());
    if (!metrics.memory.fits || (!best_words.empty() && metrics.step_time.value() >= best_step)) continue;
    best_words = words_of(*patch);
    best_step = metrics.step_time.value();
    best_peak = metrics.memory.needed().value();
  }
  if (best_words.empty())
    return fmt::format(
        "no recomputation, sharding or smaller micro-batch is enough (at best {:.1f} GiB): raise the "
        "tensor or pipeline degree",
        lowest_peak / kGiB);
  return fmt::format("{}: {:.1f} GiB, step time {:+.1f} %", best_words, best_peak / kGiB, 100 * (best_step / now - 1));
}

}  // namespace foretoken::study
