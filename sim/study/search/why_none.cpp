// Finds reasons that hold for every choice of the open keys.
//
// Open keys stand at their defaults in the question, and degrees then at 1. A rule that such a question breaks says
// nothing about the other choices when it depends on an open key. So a broken rule counts only when the keys that it
// depends on are stated. When none is left, the batch or the shape of the model is to blame.
#include "sim/study/search/why_none.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "sim/job/make.h"
#include "sim/report/text/number.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::study {
namespace {

using job::Key;
using search::Space;
using search::SpaceOptions;

constexpr Key kTensorDegree = job::key_of(Axis::kTensor), kContextDegree = job::key_of(Axis::kContext),
              kPipelineDegree = job::key_of(Axis::kPipeline);
constexpr Key kRanks[] = {kTensorDegree, kContextDegree, kPipelineDegree};
constexpr Key kPasses[] = {kTensorDegree, kContextDegree, kPipelineDegree, Key::kVirtualPipeline, Key::kSchedule};

// The rules about a key, or about all keys below it, and the other keys that they depend on.
struct Dependence {
  std::string_view pointer;
  std::span<const Key> keys;
};
constexpr Dependence kDependences[] = {
    {"/parallelism/data", kRanks},
    {"/parallelism/sequence_parallel", std::span(kRanks).first<1>()},
    {"/parallelism/virtual_pipeline", std::span(kRanks).last<1>()},
    {"/parallelism/encoder_pipeline", std::span(kRanks).last<1>()},
    {"/batch", kPasses},
    {"/schedule", kPasses},
};

std::string pointer_of(Key key) {
  std::string pointer = fmt::format("/{}", name_of(key));
  std::ranges::replace(pointer, '.', '/');
  return pointer;
}

// Returns true when another choice of the open keys may satisfy the rule.
bool depends_on_open(const job::Choices& stated, const Complaint& broken) {
  if (broken.pointer.empty()) return true;
  const auto is_about = [&](std::string_view pointer) { return broken.pointer.starts_with(pointer); };
  for (const Key key : job::searched_keys())
    if (job::is_open(stated, key) && broken.pointer == pointer_of(key)) return true;
  return std::ranges::any_of(kDependences, [&](const Dependence& rule) {
    return is_about(rule.pointer) && std::ranges::any_of(rule.keys, [&](Key key) { return job::is_open(stated, key); });
  });
}

// Returns a complaint when the stated chunks a stage suit none of the schedules to try.
std::optional<Complaint> chunks_of_no_schedule(const job::Question& question, const SpaceOptions& options) {
  const job::Choices& asked = question.choices;
  if (!asked.parallelism.virtual_pipeline || asked.schedule) return std::nullopt;
  const int chunks = *asked.parallelism.virtual_pipeline;
  const std::vector<std::string> names =
      options.schedules.empty() ? search::default_schedules(question) : options.schedules;
  for (const std::string& name : names)
    if (schedule::schedule_named(name).interleaves == (chunks > 1)) return std::nullopt;
  return Complaint{question.file, "/parallelism/virtual_pipeline",
                   fmt::format("expected {} for the schedules to try ({}), found {}; try --free "
                               "parallelism.virtual_pipeline",
                               chunks > 1 ? "1" : "at least 2", fmt::join(names, ", "), chunks)};
}

// Returns true when there would be configurations if every degree divided the batch.
bool batch_is_to_blame(const io::OpenScenario& question, const SpaceOptions& options, int gpus) {
  job::Question other = question.asked();
  job::AskedBatch& batch = other.choices.batch;
  const std::int64_t micro = batch.micro.value_or(1);
  if (batch.global > std::numeric_limits<int>::max() / gpus / micro) return false;
  batch.global *= gpus * micro;
  batch.micro = micro;  // one size is enough to see
  const io::OpenScenario divisible(std::move(other), {});
  return !Space(divisible, options).candidates().empty();
}

Complaint no_candidate(const io::OpenScenario& question, const SpaceOptions& options, int gpus) {
  const job::Question& asked = question.asked();
  const std::string size = report::counted(gpus, "GPU");
  if (batch_is_to_blame(question, options, gpus))
    return {asked.file, "/batch/global",
            fmt::format("expected a multiple of a data-parallel degree that {} leave, found {}; try other --gpus or "
                        "another batch",
                        size, asked.choices.batch.global)};
  return {asked.file, "",
          fmt::format("no degrees of {} suit the model's layers and heads; try other --gpus, or --free keys that the "
                      "scenario states",
                      size)};
}

// Returns the rules that all candidates break, or those of the first one when each breaks others.
std::vector<Complaint> why_candidates_fail(const Space& space) {
  constexpr std::size_t kMostTried = 100;
  const std::vector<search::Candidate>& all = space.candidates();
  std::vector<Complaint> first, shared;
  for (std::size_t tried = 0; tried < std::min(all.size(), kMostTried); ++tried) {
    const search::Candidate& candidate = all[tried * all.size() / std::min(all.size(), kMostTried)];
    const job::Overlap overlap = space.overlaps(candidate).front();
    std::vector<Complaint> broken =
        job::attempt(job::with(space.question().asked(), space.patch_of(candidate, overlap))).complaints;
    const auto stands = [&](const Complaint& one) {
      return std::ranges::any_of(
          broken, [&](const Complaint& each) { return each.pointer == one.pointer && each.message == one.message; });
    };
    if (tried > 0) {
      std::erase_if(shared, [&](const Complaint& one) { return !stands(one); });
      continue;
    }
    shared = broken;
    first = std::move(broken);
    for (Complaint& complaint : first)
      complaint.message += fmt::format(" (with {})", configuration_words(candidate, overlap));
  }
  return shared.empty() ? first : shared;
}

}  // namespace

std::vector<Complaint> why_none_is_valid(const io::OpenScenario& question, SpaceOptions options, int gpus) {
  options.gpus = {gpus};
  job::Question asked = question.asked();
  asked.choices.gpus = gpus;
  const job::Offload offload = asked.choices.offload.value_or(job::Offload{});
  if (offload.any() && !asked.choices.zero_stage) asked.choices.zero_stage = search::least_zero_stage(offload);
  if (std::optional<Complaint> wrong = chunks_of_no_schedule(asked, options)) return {*std::move(wrong)};
  std::vector<Complaint> complaints = job::attempt(asked).complaints;
  std::erase_if(complaints, [&](const Complaint& broken) { return depends_on_open(asked.choices, broken); });
  if (!complaints.empty()) return complaints;
  const Space space(question, options);
  if (space.candidates().empty()) return {no_candidate(question, options, gpus)};
  complaints = why_candidates_fail(space);
  if (complaints.empty())  // their steps are longer than the clock can hold
    complaints.push_back({asked.file, "", fmt::format("no step of {} can be timed", report::counted(gpus, "GPU"))});
  return complaints;
}

std::vector<Complaint> why_none_is_valid(const io::OpenScenario& question, const SpaceOptions& options) {
  if (options.gpus.empty()) return why_none_is_valid(question, options, question.asked().choices.gpus);
  if (options.gpus.size() == 1) return why_none_is_valid(question, options, options.gpus.front());
  constexpr std::size_t kMostLines = 10;
  std::vector<Complaint> reasons;
  for (const int gpus : options.gpus) {
    if (reasons.size() == kMostLines) break;
    Complaint first = why_none_is_valid(question, options, gpus).front();
    const auto is_same = [&](const Complaint& each) { return each.line() == first.line(); };
    if (std::ranges::none_of(reasons, is_same)) reasons.push_back(std::move(first));
  }
  return reasons;
}

std::string why_none_fits(std::size_t count, const FoundConfiguration& smallest) {
  return fmt::format("no configuration fits in memory; the smallest of {} needs {} of {} GiB",
                     report::counted(static_cast<double>(count), "configuration"), report::gib(needed(smallest)),
                     report::gib(smallest.scenario.cluster.gpu.memory));
}

}  // namespace foretoken::study
