// Minimises by Nelder-Mead with the usual coefficients: reflect 1, expand 2, contract 1/2, shrink 1/2.
#include "calibration/fit/numerics/minimise.h"

#include <algorithm>
#include <cmath>

namespace foretoken::fit {
namespace {

struct Vertex {
  Arguments at;
  double value;
};

/// Returns centre + factor (centre - from).
Arguments beyond(const Arguments& centre, const Arguments& from, double factor) {
  Arguments point(centre.size());
  for (std::size_t i = 0; i < centre.size(); ++i) point[i] = centre[i] + factor * (centre[i] - from[i]);
  return point;
}

Arguments centre_of_all_but_worst(const std::vector<Vertex>& simplex) {
  Arguments centre(simplex.front().at.size(), 0.0);
  for (std::size_t v = 0; v + 1 < simplex.size(); ++v)
    for (std::size_t i = 0; i < centre.size(); ++i)
      centre[i] += simplex[v].at[i] / static_cast<double>(simplex.size() - 1);
  return centre;
}

/// Descends once until the simplex has collapsed, and subtracts the evaluations from `budget`.
Vertex descend(const Objective& objective, const Arguments& start, double step, int& budget) {
  const auto measured = [&](Arguments at) {
    --budget;
    const double value = objective(at);
    return Vertex{std::move(at), value};
  };
  std::vector<Vertex> simplex{measured(start)};
  for (std::size_t i = 0; i < start.size(); ++i) {
    Arguments corner = start;
    corner[i] += step;
    simplex.push_back(measured(corner));
  }
  const auto better = [](const Vertex& a, const Vertex& b) { return a.value < b.value; };
  while (budget > 0) {
    std::stable_sort(simplex.begin(), simplex.end(), better);
    Vertex& worst = simplex.back();
    if (worst.value - simplex.front().value < 1e-9 * (1e-9 + std::abs(worst.value))) break;
    const Arguments centre = centre_of_all_but_worst(simplex);
    Vertex tried = measured(beyond(centre, worst.at, 1.0));
    if (tried.value < simplex.front().value) {
      Vertex further = measured(beyond(centre, worst.at, 2.0));
      worst = std::min(further, tried, better);
    } else if (tried.value < simplex[simplex.size() - 2].value) {
      worst = tried;
    } else {
      Vertex nearer = measured(beyond(centre, worst.at, tried.value < worst.value ? 0.5 : -0.5));
      if (nearer.value < std::min(worst.value, tried.value)) {
        worst = nearer;
      } else {
        const Arguments best = simplex.front().at;
        for (std::size_t v = 1; v < simplex.size(); ++v) simplex[v] = measured(beyond(best, simplex[v].at, -0.5));
      }
    }
  }
  return *std::min_element(simplex.begin(), simplex.end(), better);
}

}  // namespace

Arguments minimise(const Objective& objective, Arguments start, double step, int evaluations) {
  int budget = evaluations;
  Vertex best = descend(objective, start, step, budget);
  while (budget > 0) {
    Vertex again = descend(objective, best.at, step / 2, budget);
    if (again.value > best.value * (1 - 1e-6)) break;
    best = again;
  }
  return best.at;
}

}  // namespace foretoken::fit
