// Computes a bias as the mean over publications. Each publication counts once, however many rows it has.
#include "sim/trust/bias.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "sim/base/noun.h"

namespace foretoken::trust {
namespace {

constexpr double kLogPerStep = 2;
constexpr Weights kStated{.one_switch = 0.5, .doubling = 0.125};

// Names the cases that a bias rests on most.
std::string basis(const Place& place, const std::vector<Case>& cases) {
  int here = 0, on_gpu = 0;
  for (const Case& one : cases) {
    if (place.gpu == one.place.gpu && place.runtime == one.place.runtime) ++here;
    if (place.gpu == one.place.gpu) ++on_gpu;
  }
  const std::string kind = shown_kind(place);
  if (here > 0) return fmt::format("{} on {} with this runtime", with_noun(here, "case"), kind);
  if (on_gpu > 0) return fmt::format("{} on {} (none with this runtime)", with_noun(on_gpu, "case"), kind);
  return fmt::format("{} on other GPUs", with_noun(static_cast<std::int64_t>(cases.size()), "case"));
}

std::string words_of_bias(double log_ratio, const Place& place, const Evidence& evidence) {
  if (!evidence.doubt) return "errors of other publications do not help, so no correction";
  const double percent = 100 * std::expm1(log_ratio);
  const std::string cases = basis(place, evidence.cases);
  if (std::abs(percent) < 0.05) return "runs like it took as long as simulated: " + cases;
  return fmt::format("runs like it took {:.1f} % {}: {}", std::abs(percent), percent > 0 ? "longer" : "less", cases);
}

}  // namespace

double Bias::factor() const { return std::exp(log_ratio); }

double nearness(const Place& place, const Place& of_case) {
  return std::exp(-kLogPerStep * kStated.distance(steps_between(place, of_case, true)));
}

void Consensus::add(const Testimony& said) {
  sum_ += said.sum / (said.weight + 1);
  evidence_ += said.weight / (said.weight + 1);
}

Bias bias_at(const Place& place, const Evidence& evidence) {
  Bias bias;
  if (evidence.doubt) {
    std::map<std::string, Testimony> publications;
    for (const Case& one : evidence.cases) publications[one.publication].add(one, nearness(place, one.place));
    Consensus consensus(*evidence.doubt);
    for (const auto& [publication, said] : publications) consensus.add(said);
    bias.log_ratio = consensus.log_ratio();
  }
  bias.words = words_of_bias(bias.log_ratio, place, evidence);
  return bias;
}

}  // namespace foretoken::trust
