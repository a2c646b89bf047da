// Ranks outcomes. Ties go to the shorter step, then to less memory, then to the first candidate of the space.
#include "sim/study/search/ranking.h"

#include <algorithm>

namespace foretoken::search {
namespace {

bool smaller(const Outcome& a, const Outcome& b) {
  return std::tuple(a.peak.value(), a.candidate) < std::tuple(b.peak.value(), b.candidate);
}

}  // namespace

std::string_view name_of(Objective objective) {
  switch (objective) {
    case Objective::kStepTime:
      return "step-time";
    case Objective::kCost:
      return "cost";
    case Objective::kGpus:
      return "gpus";
    case Objective::kMemory:
      return "memory";
  }
  return "";
}

Ranking::Ranking(const Space& space, Objective objective, std::size_t top, std::array<Objective, 2> axes)
    : space_(&space), objective_(objective), most_(top), axes_(axes) {}

double Ranking::value(Objective objective, const Outcome& outcome) const {
  const double gpus = space_->candidates()[outcome.candidate].gpus;
  switch (objective) {
    case Objective::kStepTime:
      return des::to_seconds(outcome.step_time).value();
    case Objective::kCost:
      return gpus * des::to_seconds(outcome.step_time).value();
    case Objective::kGpus:
      return gpus;
    case Objective::kMemory:
      return outcome.peak.value();
  }
  return 0;
}

Ranking::Key Ranking::key(const Outcome& outcome) const {
  return {value(objective_, outcome), outcome.step_time.ps, outcome.peak.value(), outcome.candidate};
}

void Ranking::insert(std::vector<Outcome>& best, std::size_t most, const Outcome& outcome) const {
  const auto place = std::upper_bound(best.begin(), best.end(), outcome,
                                      [&](const Outcome& a, const Outcome& b) { return key(a) < key(b); });
  best.insert(place, outcome);
  if (best.size() > most) best.pop_back();
}

void Ranking::add_to_front(const Outcome& outcome) {
  const auto point = [&](const Outcome& o) { return std::array{value(axes_[0], o), value(axes_[1], o)}; };
  const std::array mine = point(outcome);
  const auto beats = [&](const Outcome& a, const Outcome& b) {  // equal points: the first candidate stands for both
    const std::array x = point(a), y = point(b);
    return x[0] <= y[0] && x[1] <= y[1] && (x != y || a.candidate < b.candidate);
  };
  if (std::any_of(front_.begin(), front_.end(), [&](const Outcome& other) { return beats(other, outcome); })) return;
  std::erase_if(front_, [&](const Outcome& other) { return beats(outcome, other); });
  const auto place = std::find_if(front_.begin(), front_.end(), [&](const Outcome& o) { return point(o) > mine; });
  front_.insert(place, outcome);
}

void Ranking::count_size(const Outcome& outcome) {
  if (outcome.verdict == Verdict::kInvalid) return;
  OfSize& size = sizes_[space_->candidates()[outcome.candidate].gpus];
  if (outcome.verdict != Verdict::kTooLarge) {
    ++size.possible;
    return;
  }
  ++size.too_large;
  if (!size.smallest || smaller(outcome, *size.smallest)) size.smallest = outcome;
}

Ranking::OfSize Ranking::of_size(int gpus) const {
  const auto place = sizes_.find(gpus);
  return place == sizes_.end() ? OfSize{} : place->second;
}

void Ranking::add(const Outcome& outcome) {
  constexpr std::size_t kNearMisses = 3;
  ++counts_[static_cast<std::size_t>(outcome.verdict)];
  count_size(outcome);
  if (is_too_large(outcome)) ++too_large_;
  if (outcome.verdict == Verdict::kReplayed) {
    insert(top_, most_, outcome);
    add_to_front(outcome);
  } else if (outcome.verdict == Verdict::kTooLarge) {
    smallest_.insert(std::upper_bound(smallest_.begin(), smallest_.end(), outcome, smaller), outcome);
    if (smallest_.size() > kNearMisses) smallest_.pop_back();
  }
}

bool Ranking::is_hopeless(const Outcome& at_best) const {
  if (top_.size() < most_ || key(at_best) < key(top_.back())) return false;
  const double x = value(axes_[0], at_best), y = value(axes_[1], at_best);
  return std::any_of(front_.begin(), front_.end(), [&](const Outcome& o) {
    const double ox = value(axes_[0], o), oy = value(axes_[1], o);
    return ox <= x && oy <= y && (ox < x || oy < y);
  });
}

}  // namespace foretoken::search
