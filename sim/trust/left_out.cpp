// Computes the sums over pairs of rows, by publication.
#include "sim/trust/left_out.h"

#include <algorithm>
#include <map>

namespace foretoken::trust {
namespace {

constexpr double kMostRows = 20;  // a publication counts as at most so many rows beside the others

double distance_of_all() { return static_cast<double>(place_keys().size()); }

}  // namespace

const std::vector<Weights>& weights_to_try() {
  static const std::vector<Weights> kAll = [] {
    std::vector<Weights> all;
    for (const double one_switch : {0.25, 0.5, 1.0})
      for (const double doubling : {0.0625, 0.125, 0.25}) all.push_back({one_switch, doubling});
    return all;
  }();
  return kAll;
}

LeftOut::LeftOut(const std::vector<Validated>& rows) {
  std::map<std::string, std::size_t> numbers;
  for (const Validated& each : rows) {
    const auto [found, is_new] = numbers.emplace(each.row.publication, numbers.size());
    if (is_new) size_.push_back(0);
    ++size_[found->second];
    publication_.push_back(found->second);
    log_ratio_.push_back(each.row.log_ratio);
  }
  testimony_.assign(rows.size(), std::vector<Testimony>(size_.size()));
  nearest_.assign(weights_to_try().size(), {});
  for (auto& of_weights : nearest_)
    of_weights.assign(rows.size(), std::vector<double>(size_.size(), distance_of_all()));
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t other = 0; other < rows.size(); ++other) see(row, other, rows);
}

void LeftOut::see(std::size_t row, std::size_t other, const std::vector<Validated>& rows) {
  if (rows[row].configuration == rows[other].configuration) return;
  const Place &here = rows[row].row.place, &there = rows[other].row.place;
  const std::size_t publication = publication_[other];
  testimony_[row][publication].add(rows[other].row, nearness(here, there));
  const Steps steps = steps_between(here, there);
  for (std::size_t weights = 0; weights < nearest_.size(); ++weights) {
    double& nearest = nearest_[weights][row][publication];
    nearest = std::min(nearest, weights_to_try()[weights].distance(steps));
  }
}

double LeftOut::weight_of(std::size_t row) const {
  return std::min(1.0, kMostRows / static_cast<double>(size_[publication_[row]]));
}

double LeftOut::bias_of(std::size_t row, std::optional<double> doubt, std::size_t without,
                        std::size_t without_too) const {
  if (!doubt) return 0;
  Consensus consensus(*doubt);
  for (std::size_t publication = 0; publication < publications(); ++publication)
    if (publication != without && publication != without_too) consensus.add(testimony_[row][publication]);
  return consensus.log_ratio();
}

double LeftOut::distance_of(std::size_t row, std::size_t weights, std::size_t without, std::size_t without_too) const {
  double nearest = distance_of_all();
  for (std::size_t publication = 0; publication < publications(); ++publication)
    if (publication != without && publication != without_too)
      nearest = std::min(nearest, nearest_[weights][row][publication]);
  return nearest;
}

}  // namespace foretoken::trust
