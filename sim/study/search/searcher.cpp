// Searches in two passes: estimates by group, then replays in rounds.
#include "sim/study/search/searcher.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/memo.h"
#include "sim/fast/bounds.h"
#include "sim/job/make.h"
#include "sim/step/lower.h"
#include "sim/study/search/parallel.h"

namespace foretoken::search {
namespace {

using job::Job;

constexpr std::size_t kCandidatesAtOnce = 20'000;  // estimated before memory is trimmed
constexpr std::size_t kLargestRound = 256;         // replays between two comparisons with the best so far
constexpr std::size_t kReplaysOfAStopped = 8;      // they take milliseconds, so the end of a search does not wait

// Returns 0 to `items` - 1, with the first item of each key before all others. The first item of a key makes the data
// that all items of the key share. Threads with neighbouring items of one key would wait for each other.
template <class KeyOf>
std::vector<std::size_t> first_of_each(std::size_t items, KeyOf key_of) {
  std::vector<std::size_t> order, others;
  std::set<decltype(key_of(0))> known_keys;
  for (std::size_t item = 0; item < items; ++item)
    (known_keys.insert(key_of(item)).second ? order : others).push_back(item);
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

class Search {
 public:
  Search(const Space& space, const SearchOptions& options, const SearchHooks& hooks)
      : space_(space),
        options_(options),
        hooks_(hooks),
        ranking_(space, options.objective, options.top, options.axes),
        replayer_(options.memory),
        estimates_(space.candidates().size()),
        groups_(space.groups()),
        workers_(std::max<std::size_t>(options.threads, 1), Worker{job::Maker(space.question().asked()), {}}) {
    progress_.total = space.candidates().size();
  }

  SearchResult run() {
    estimate_all();
    if (stopped())
      replay_a_few();
    else
      replay_all();
    return {std::move(ranking_), !stopped()};
  }

 private:
  // Schedule, stages, chunks, micro-batches, their group, stages of the encoder, and layers by stage.
  using OrderKey = std::tuple<int, int, int, int, int, int, std::vector<int>>;

  struct Worker {
    job::Maker maker;
    std::vector<std::int64_t> scratch;
  };

  [[nodiscard]] bool stopped() const { return hooks_.stop != nullptr && *hooks_.stop; }

  // Returns the candidate's job, valid until the worker takes another, or nullptr when it breaks a rule.
  const Job* take(std::size_t candidate, const job::Overlap& overlap, Worker& worker) const {
    return worker.maker.make(space_.patch_of(space_.candidates()[candidate], overlap));
  }

  // Bounds the step from below for all overlaps of a candidate. `overlaps` has the one with most switched on first.
  des::Duration least_of_all(std::size_t candidate, std::span<const job::Overlap> overlaps, const PassOrder& order,
                             Worker& worker) {
    const job::Overlap& most = overlaps.front();
    std::vector<step::Passes> passes;
    if (!std::ranges::all_of(overlaps, &job::Overlap::tensor_parallel) && most.tensor_parallel) {
      job::Overlap without = most;
      without.tensor_parallel = false;
      passes.push_back(replayer_.passes(*take(candidate, without, worker)));
    }
    const Job& job = *take(candidate, most, worker);
    passes.push_back(replayer_.passes(job));
    const bool hides_reduction = most.grad_reduce && !std::ranges::all_of(overlaps, &job::Overlap::grad_reduce);
    return least_step_time(job, passes, order, hides_reduction);
  }

  // Groups whose layers are cut otherwise often share an order: half as many replicas with micro-batches of twice the
  // size have as many micro-batches.
  const PassOrder& order_of(const Candidate& candidate, const Job& job, std::optional<schedule::Program>& program) {
    const OrderKey key{candidate.schedule,        job.parallelism.pipeline,   job.parallelism.virtual_pipeline,
                       job.microbatches(),        candidate.microbatch_group, candidate.encoder_pipeline,
                       candidate.layers_per_stage};
    return orders_.get(key, [&] {
      if (!program) program = step::program_of(job);
      return PassOrder(job, *program);
    });
  }

  // `program` is that of the candidate's group, or empty until it is needed.
  void estimate(std::size_t candidate, Worker& worker, std::optional<schedule::Program>& program) {
    Outcome& outcome = estimates_[candidate];
    outcome.candidate = candidate;
    const std::vector<job::Overlap> overlaps = space_.overlaps(space_.candidates()[candidate]);
    const Job* const taken = take(candidate, overlaps.front(), worker);
    if (taken == nullptr) return;
    const Job& job = *taken;
    const PassOrder& order = order_of(space_.candidates()[candidate], job, program);
    outcome.peak = peak_memory(replayer_.memory(job), job, order, program);
    outcome.fits = fits(job, outcome.peak);
    outcome.verdict = Verdict::kTooLarge;
    if (!outcome.fits && options_.require_fit) return;
    try {
      outcome.step_time = least_of_all(candidate, overlaps, order, worker);
      outcome.verdict = Verdict::kSlower;  // until it is replayed
    } catch (const ConfigError&) {         // a step of months
      outcome.verdict = Verdict::kInvalid;
    }
  }

  // Estimates neighbouring groups, which share layers. Large groups have more kinds of layers than memory should hold;
  // threads then leave the rest of their groups for after a trim.
  void estimate(std::span<const Space::Group> groups) {
    orders_.clear();
    std::vector<Space::Group> left = in_good_order(groups);
    while (!left.empty() && !stopped()) {
      parallel_for(workers_.size(), left.size(),
                   [&](std::size_t thread, std::size_t item) { estimate(left[item], workers_[thread]); });
      replayer_.trim();
      std::erase_if(left, [](const Space::Group& group) { return group.begin == group.end; });
    }
  }

  // Estimates the first candidate of `group` and those behind it until memory is full, and takes them out of it.
  void estimate(Space::Group& group, Worker& worker) {
    if (replayer_.is_full() || stopped()) return;
    std::optional<schedule::Program> program;
    std::size_t decided = 0;
    do {
      estimate(group.begin, worker, program);
      if (estimates_[group.begin].verdict != Verdict::kSlower) ++decided;
      ++group.begin;
    } while (group.begin < group.end && !replayer_.is_full() && !stopped());
    advance(decided, 0);
  }

  [[nodiscard]] std::vector<Space::Group> in_good_order(std::span<const Space::Group> groups) const {
    // These keys decide how the layers of a group run.
    const std::vector<std::size_t> order = first_of_each(groups.size(), [&](std::size_t g) {
      const Candidate& c = space_.candidates()[groups[g].begin];
      PerAxis<int> cuts = c.degrees;
      cuts[Axis::kPipeline] = cuts[Axis::kData] = 1;
      return std::tuple(cuts, c.micro);
    });
    std::vector<Space::Group> ordered;
    for (const std::size_t g : order) ordered.push_back(groups[g]);
    return ordered;
  }

  void estimate_all() {
    for (std::size_t at = 0, next = 0; at < groups_.size(); at = next) {
      while (next < groups_.size() && groups_[next].end - groups_[at].begin <= kCandidatesAtOnce) ++next;
      next = std::max(next, at + 1);
      estimate(groups_.subspan(at, next - at));
    }
    std::vector<Outcome> decided;
    for (const Space::Group& group : groups_)
      for (std::size_t candidate = group.begin; candidate < group.end; ++candidate) {
        const bool is_open = estimates_[candidate].verdict == Verdict::kSlower;
        (is_open ? open_ : decided).push_back(estimates_[candidate]);
      }
    if (!stopped()) tell(decided);
    std::sort(open_.begin(), open_.end(), [&](const Outcome& a, const Outcome& b) {
      return std::tuple(ranking_.value(options_.objective, a), a.step_time.ps, a.candidate) <
             std::tuple(ranking_.value(options_.objective, b), b.step_time.ps, b.candidate);
    });
  }

  void replay(Outcome& outcome, Worker& worker) {
    const auto known = hooks_.known.find(outcome.candidate);
    if (known != hooks_.known.end())
      outcome = known->second;
    else
      try_overlaps(outcome, worker);
    advance(1, 1);
  }

  // Counts the overlaps that differ from the runtime's own.
  [[nodiscard]] int changes(const job::Overlap& overlap) const {
    const job::Runtime& runtime = space_.question().asked().runtime;
    return (overlap.grad_reduce != runtime.overlap_grad_reduce ? 1 : 0) +
           (overlap.param_gather != runtime.overlap_param_gather ? 1 : 0) +
           (overlap.p2p != runtime.overlap_p2p ? 1 : 0) + (overlap.tensor_parallel ? 1 : 0) +
           (overlap.exchanges ? 1 : 0);
  }

  // Replays a candidate with each of its overlaps, and takes the fastest. Ties go to fewer changes of the runtime's
  // own overlaps, then to the first.
  void try_overlaps(Outcome& outcome, Worker& worker) {
    outcome.verdict = Verdict::kInvalid;
    const Candidate& candidate = space_.candidates()[outcome.candidate];
    std::optional<schedule::Program> program;
    for (const job::Overlap& overlap : space_.overlaps(candidate)) {
      const Job* const job = take(outcome.candidate, overlap, worker);
      if (job == nullptr) continue;
      const bool is_first = outcome.verdict == Verdict::kInvalid;
      try {
        const step::Passes passes = replayer_.passes(*job);
        if (!is_first && options_.prune &&
            least_step_time(*job, {&passes, 1}, order_of(candidate, *job, program)) > outcome.step_time)
          continue;
        const des::Duration time = replayer_.step_time(*job, passes, worker.scratch);
        if (!is_first &&
            std::pair(time, changes(job->overlap)) >= std::pair(outcome.step_time, changes(outcome.overlap)))
          continue;
        outcome.step_time = time;
        outcome.overlap = job->overlap;
        outcome.verdict = Verdict::kReplayed;
      } catch (const ConfigError&) {  // a step of months
        continue;
      }
    }
  }

  // Replays the most promising estimates when the search ended before its first replay.
  void replay_a_few() {
    open_.resize(std::min(open_.size(), kReplaysOfAStopped));
    parallel_for(workers_.size(), open_.size(),
                 [&](std::size_t thread, std::size_t item) { replay(open_[item], workers_[thread]); });
    for (const Outcome& outcome : open_) ranking_.add(outcome);
  }

  // Candidates to decide before the next comparison with the best so far.
  struct Round {
    std::vector<Outcome> slower, replays;
  };

  // Takes the next round out of open_. A candidate waits for a later round while the others would rule it out if they
  // took no longer than their bounds.
  Round next_round() {
    Round round;
    std::vector<Outcome> later;
    Ranking expected = ranking_;
    for (const Outcome& outcome : open_) {
      if (options_.prune && ranking_.is_hopeless(outcome)) {
        round.slower.push_back(outcome);
      } else if (round.replays.size() == kLargestRound || (options_.prune && expected.is_hopeless(outcome))) {
        later.push_back(outcome);
      } else {
        round.replays.push_back(outcome);
        Outcome at_best = outcome;
        at_best.verdict = Verdict::kReplayed;
        expected.add(at_best);
      }
    }
    open_ = std::move(later);
    return round;
  }

  void replay_all() {
    while (!open_.empty()) {
      auto [slower, round] = next_round();
      advance(slower.size(), 0);
      if (!replay(round)) return;
      tell(slower);
      tell(round);
    }
  }

  // Replays a round. Returns false when the search was stopped meanwhile. Its outcomes then count for the answer, but
  // are not reported.
  bool replay(std::vector<Outcome>& round) {
    std::vector<char> done(round.size(), 0);
    // These keys decide the shape of the pipeline.
    std::vector<std::size_t> left = first_of_each(round.size(), [&](std::size_t item) {
      const Candidate& c = space_.candidates()[round[item].candidate];
      return std::tuple(c.schedule, c.virtual_pipeline, c.degrees[Axis::kPipeline], c.degrees[Axis::kData] * c.micro);
    });
    while (!left.empty() && !stopped()) {
      parallel_for(workers_.size(), left.size(), [&](std::size_t thread, std::size_t place) {
        if (stopped() || replayer_.is_full()) return;
        replay(round[left[place]], workers_[thread]);
        done[left[place]] = 1;
      });
      replayer_.trim();
      std::erase_if(left, [&](std::size_t item) { return done[item] != 0; });
    }
    if (left.empty()) return true;
    for (std::size_t item = 0; item < round.size(); ++item)
      if (done[item] != 0) ranking_.add(round[item]);
    return false;
  }

  void tell(const std::vector<Outcome>& outcomes) {
    for (const Outcome& outcome : outcomes) ranking_.add(outcome);
    if (hooks_.decided && !outcomes.empty()) hooks_.decided(outcomes);
  }

  void advance(std::size_t decided, std::size_t replayed) {
    const std::lock_guard lock(mutex_);
    progress_.decided += decided;
    progress_.replayed += replayed;
    if (hooks_.progress) hooks_.progress(progress_);
  }

  const Space& space_;
  const SearchOptions& options_;
  const SearchHooks& hooks_;
  Ranking ranking_;
  fast::Replayer replayer_;
  Memo<OrderKey, PassOrder> orders_;
  std::vector<Outcome> estimates_;  // by candidate
  std::vector<Outcome> open_;       // candidates that fit, to be replayed or ruled out; most promising first
  std::span<const Space::Group> groups_;
  std::vector<Worker> workers_;
  std::mutex mutex_;
  Progress progress_;
};

}  // namespace

SearchResult run_search(const Space& space, const SearchOptions& options, const SearchHooks& hooks) {
  return Search(space, options, hooks).run();
}

}  // namespace foretoken::search
