// Simulates the usual causes of a gap. Each strength of a cause between two simulated ones is a mixture of both.
//
// The priors are judgements: slow machines come first in published reports of slow runs (MegaScale, arXiv:2402.15627).
// They decide only between causes that explain a log equally well.
#include "sim/study/diagnose/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "sim/job/make.h"
#include "sim/job/patch.h"

namespace foretoken::study {
namespace {

using job::Edit;
using job::Job;
using job::Key;

constexpr double kLeastChange = 1e-3;
constexpr double kUsualPart = 0.4;  // of a cause's probability, for the strength that is reported most often

// Returns the job of the question with a patch, or nothing when it breaks a rule.
std::optional<Job> patched(const Job& job, const job::Patch& patch) {
  const job::Attempt attempt = job::attempt(job::with(job::question_of(job), patch));
  return attempt.made ? std::optional(attempt.made->job) : std::nullopt;
}

// A strength in numbers, and the signature at it.
struct Knot {
  double strength = 0;
  Signature signature;
};

// Fills the range between knots with strengths a fortieth apart. The one nearest to `usual` gets its part, and the
// others share the rest.
std::vector<Strength> filled(const std::vector<Knot>& knots, double usual,
                             const std::function<std::string(double)>& words) {
  constexpr int kSteps = 40;
  std::vector<Strength> strengths;
  const double first = knots.front().strength, last = knots.back().strength;
  int nearest = 1;
  for (int i = 1; i <= kSteps; ++i) {
    const double at = first + (last - first) * i / kSteps;
    if (std::abs(at - usual) < std::abs(first + (last - first) * nearest / kSteps - usual)) nearest = i;
    std::size_t knot = 1;
    while (knot + 1 < knots.size() && (at - knots[knot].strength) * (last - first) > 0) ++knot;
    const Knot &a = knots[knot - 1], &b = knots[knot];
    const double part = (at - a.strength) / (b.strength - a.strength);
    strengths.push_back({words(at), (1 - kUsualPart) / kSteps, between(a.signature, b.signature, part)});
  }
  strengths[static_cast<std::size_t>(nearest - 1)].part += kUsualPart;
  return strengths;
}

// Makes the causes of one job, one after another.
class Causes {
 public:
  Causes(const Job& job, const Signature& base, double factor, const Watch& watch)
      : job_(job), base_(base), factor_(factor), watch_(watch) {}

  std::vector<Cause> all() {
    const std::vector<std::function<void()>> makers{
        [&] { slow_rank(); },   [&] { slow_network(); }, [&] { slow_nvlink(); }, [&] { overlaps(); },
        [&] { slow_clocks(); }, [&] { slow_host(); },    [&] { slow_data(); },   [&] { translations(); }};
    for (std::size_t at = 0; at < makers.size() && !watch_.stopped(); ++at) {
      watch_.show(at, makers.size());
      makers[at]();
    }
    return std::move(causes_);
  }

 private:
  void add(Cause cause) {
    const bool changes = std::any_of(cause.strengths.begin(), cause.strengths.end(), [&](const Strength& each) {
      return std::abs(each.signature.step / base_.step - 1) >= kLeastChange;
    });
    if (changes) causes_.push_back(std::move(cause));
  }

  [[nodiscard]] std::optional<Signature> with_edits(const job::Patch& patch) const {
    const std::optional<Job> other = patched(job_, patch);
    return other ? std::optional(signature_of(*other, factor_)) : std::nullopt;
  }

  // Properties of machines that are `slowest` times slower at most. A factor of a rate is its inverse.
  void slower(Cause cause, Key key, bool is_rate, double slowest, double usual,
              const std::function<std::string(double)>& words) {
    std::vector<Knot> knots{{1, base_}};
    for (const double times : {std::sqrt(slowest), slowest}) {
      const auto signature = with_edits({{key, is_rate ? 1 / times : times}});
      if (!signature) return;
      knots.push_back({times, *signature});
    }
    cause.strengths = filled(knots, usual, words);
    add(std::move(cause));
  }

  // One GPU in the first, a middle and the last stage. Its pass holds up the ranks that share its layers.
  void slow_rank() {
    if (job_.gpus < 2 || job_.imperfections.any()) return;
    constexpr double kSlowest = 2, kUsual = 1.1;
    const int stages = job_.parallelism.pipeline;
    std::vector<int> tried{0, stages / 2, stages - 1};
    tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
    Cause cause{.key = "slow-rank",
                .test =
                    "run the nodes one by one (or DCGM diagnostics), and swap the slowest: Megatron's "
                    "--log-straggler names it",
                .prior = 1};
    const step::LoweredStep lowered = step::lower(job_, step::Fidelity::kStage);
    for (const int stage : tried) {
      const Rank rank = job_.grid().rank_of(Stage{static_cast<std::uint32_t>(stage)}, StageRank{0});
      const Gpu gpu = job_.imperfections.gpu_of(rank);
      std::vector<Knot> knots{{1, base_}};
      for (const double times : {kUsual, kSlowest}) {
        Job slow = job_;
        slow.imperfections.slow_gpus.push_back({gpu, times});
        knots.push_back({times, signature_of(slow, factor_, &lowered)});
      }
      const std::string where = stages > 1 ? fmt::format(" (as in stage {})", stage) : "";
      for (Strength& each : filled(knots, kUsual, [&](double times) {
             return fmt::format("one rank is {:.0f} % slower{}", 100 * (times - 1), where);
           })) {
        each.part /= static_cast<double>(tried.size());
        cause.strengths.push_back(std::move(each));
      }
    }
    add(std::move(cause));
  }

  void slow_network() {
    if (job_.gpus <= job_.cluster.gpus_per_node) return;
    slower({.key = "slow-network",
            .test = "run nccl-tests between the nodes of the job; look for links at half rate and NICs that are down",
            .prior = 1},
           Key::kNicRate, true, 4, 2,
           [](double times) { return fmt::format("the network has {:.0f} % of its rate", 100 / times); });
  }

  void slow_nvlink() {
    slower({.key = "slow-nvlink",
            .test = "run nccl-tests within one node; nvidia-smi nvlink --status names links that are down",
            .prior = 0.3},
           Key::kNvlinkRate, true, 4, 2,
           [](double times) { return fmt::format("NVLink has {:.0f} % of its rate", 100 / times); });
  }

  void slow_clocks() {
    slower({.key = "low-clocks",
            .test = "read clocks and throttle reasons (nvidia-smi -q -d PERFORMANCE,CLOCK) of all GPUs under load",
            .prior = 0.6},
           Key::kArithmeticRate, true, 2, 1.1,
           [](double times) { return fmt::format("all GPUs compute at {:.0f} % (power cap or heat)", 100 / times); });
  }

  void slow_host() {
    slower({.key = "slow-host",
            .test = "profile one rank: gaps between kernels are waits for the host; try CUDA graphs, --manual-gc and "
                    "pinned cores",
            .prior = 0.4},
           Key::kHostTime, false, 4, 2,
           [](double times) { return fmt::format("the host takes {:.1f} times as long to launch kernels", times); });
  }

  // Overlaps that the question has and the run may not have.
  void overlaps() {
    struct Switch {
      std::string_view what;
      job::Patch off;
      bool on;
    };
    const job::Overlap& overlap = job_.overlap;
    const std::vector<Switch> switches{
        {"the reduction of gradients", {{Key::kGradReduce, false}, {Key::kParamGather, false}}, overlap.grad_reduce},
        {"the gather of parameters", {{Key::kParamGather, false}}, overlap.param_gather},
        {"messages between stages", {{Key::kP2pOverlap, false}}, overlap.p2p},
        {"tensor-parallel communication", {{Key::kTensorOverlap, false}}, overlap.tensor_parallel},
        {"the exchange of tokens", {{Key::kExchangeOverlap, false}}, overlap.exchanges}};
    Cause cause{.key = "overlap-off",
                .test = "look for the overlap in the log's printed arguments, and in a profile of one step",
                .prior = 1};
    for (const Switch& each : switches) {
      if (!each.on) continue;
      if (auto signature = with_edits(each.off))
        cause.strengths.push_back({fmt::format("{} does not overlap", each.what), 1, std::move(*signature)});
    }
    for (Strength& each : cause.strengths) each.part = 1 / static_cast<double>(cause.strengths.size());
    add(std::move(cause));
  }

  // A loader that is too slow delays the first pass, and with it everything.
  void slow_data() {
    Cause cause{.key = "slow-data",
                .test = "train on mock data (--mock-data) or with more loader workers, and compare the step",
                .prior = 0.6,
                .jitter = 0.05,
                .data = 1};
    Signature late = base_;
    late.step = 2.0 * base_.step;
    if (late.timers)
      for (const TimerKind kind : {TimerKind::kForwardBackward, TimerKind::kForward}) {
        Spread& spread = (*late.timers)[static_cast<std::size_t>(kind)];
        const bool all = kind == TimerKind::kForwardBackward;
        spread.most = spread.most + base_.step;
        if (all || job_.parallelism.pipeline <= 2) spread.least = spread.least + base_.step;
        if (all || job_.parallelism.pipeline <= 2) spread.last = spread.last + base_.step;
      }
    cause.strengths = filled({{0, base_}, {1, late}}, 0.1, [](double part) {
      return fmt::format("loading data adds {:.0f} % to the step", 100 * part);
    });
    add(std::move(cause));
  }

  void translation(Cause& cause, const std::string& words, const job::Patch& patch) {
    if (auto signature = with_edits(patch)) cause.strengths.push_back({words, 1, std::move(*signature)});
  }

  // Statements of the question that the run may not share.
  void translations() {
    using model::RecomputeGranularity;
    Cause cause{.key = "wrong-translation",
                .test = "compare the scenario with the arguments that the log prints at its start",
                .prior = 0.5};
    const std::pair<RecomputeGranularity, const char*> kRecompute[] = {
        {RecomputeGranularity::kNone, "nothing is recomputed"},
        {RecomputeGranularity::kSelective, "attention is recomputed (selective)"},
        {RecomputeGranularity::kFull, "every layer is recomputed (full)"}};
    for (const auto& [granularity, words] : kRecompute)
      if (granularity != job_.recompute.granularity) translation(cause, words, {{Key::kRecompute, granularity}});
    for (const std::int64_t micro : {job_.batch.micro * 2, job_.batch.micro / 2})
      if (micro > 0) translation(cause, fmt::format("the micro-batch is {}", micro), {{Key::kMicroBatch, micro}});
    if (job_.precision == Precision::kFp8)
      translation(cause, "products are in bf16, not in fp8", {{Key::kPrecision, Precision::kBf16}});
    if (job_.parallelism.tensor > 1 && job_.parallelism.sequence_parallel)
      translation(cause, "sequence parallelism is off", {{Key::kSequenceParallel, false}});
    if (job_.optimizer.zero_stage > 0 && job_.optimizer.zero_stage < 3)
      translation(cause, "the optimizer is not sharded",
                  {{Key::kGradReduce, {}}, {Key::kParamGather, {}}, {Key::kZeroStage, std::int64_t{0}}});
    for (Strength& each : cause.strengths) each.part = 1 / static_cast<double>(cause.strengths.size());
    add(std::move(cause));
  }

  const Job& job_;
  const Signature& base_;
  double factor_;
  const Watch& watch_;
  std::vector<Cause> causes_;
};

}  // namespace

std::vector<Cause> causes_of(const job::Job& job, const Signature& base, double factor, const Watch& watch) {
  return Causes(job, base, factor, watch).all();
}

}  // namespace foretoken::study
