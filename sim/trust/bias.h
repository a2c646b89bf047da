// Computes the bias of a prediction: published runs like it took longer than simulated by this part.
#pragma once

#include <string>

#include "sim/trust/evidence.h"

namespace foretoken::trust {

/// The expected log(measured / simulated) of a run.
struct Bias {
  double log_ratio = 0;
  std::string words;  ///< "runs like it took 2.6 % longer: 28 cases on H100 with this runtime"

  [[nodiscard]] double factor() const;
};

/// Sums over the cases of one publication, weighted by their nearness to a place.
struct Testimony {
  double weight = 0, sum = 0;  ///< of w, and of w log_ratio

  void add(const Case& one, double nearness) {
    weight += one.weight * nearness;
    sum += one.weight * nearness * one.log_ratio;
  }
};

/// Returns the weight of a case seen from a place: e^(-2 d), with d the distance in what a question states.
[[nodiscard]] double nearness(const Place& place, const Place& of_case);

/// The bias that publications agree on: sum e m / (sum e + doubt), with m = sum / weight and e = weight / (weight + 1).
class Consensus {
 public:
  explicit Consensus(double doubt) : evidence_(doubt) {}
  void add(const Testimony& said);
  [[nodiscard]] double log_ratio() const { return sum_ / evidence_; }

 private:
  double sum_ = 0, evidence_;
};

/// Returns the bias of runs at a place. It depends only on what a question states: it is one number for every
/// configuration that a search compares, so that it changes no rank.
///
/// Source: ours, a mean of random effects. e^-2 a step and one case of unknown place are round numbers. The doubt is
/// chosen by leaving publications out; it is nothing when biases of other publications do not help (calibrate.h).
[[nodiscard]] Bias bias_at(const Place& place, const Evidence& evidence);

}  // namespace foretoken::trust
