// Turns rows into evidence, checks their coverage, and writes the file of residuals.
#include "validate/intervals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <variant>

#include "sim/base/check.h"

namespace foretoken::validate {
namespace {

// A set weighs at most as much as this number of cases, because rows of one sweep on one machine say much the same.
constexpr double kMostCasesOfASet = 20;

// Returns the group of a row: a set's rows on one kind of GPU with one runtime weigh together.
using Group = std::tuple<std::string, std::string, double>;

Group group_of(const CaseResult& one) { return {one.place.gpu, one.place.runtime, one.place.bits}; }

std::map<Group, std::vector<const CaseResult*>> groups_of(const SetResult& result) {
  std::map<Group, std::vector<const CaseResult*>> groups;
  for (const CaseResult& one : result.cases)
    if (one.find(Quantity::kStepTime) != nullptr) groups[group_of(one)].push_back(&one);
  return groups;
}

double weight_of(std::size_t rows) { return std::min(1.0, kMostCasesOfASet / static_cast<double>(rows)); }

double log_ratio(const CaseResult& one) {
  const Comparison* step = one.find(Quantity::kStepTime);
  return std::log(step->measured / step->predicted);
}

using Keys = std::vector<const trust::PlaceKey*>;

// A value of a row, ~ for an empty text. Numbers have six digits.
std::string text_of(const trust::PlaceKey& key, const trust::Place& place) {
  const std::string value = trust::value_of(key, place);
  expects(value.find_first_of("|;*~\"\\") == std::string::npos, "a value of a row has no separator");
  return value.empty() ? "~" : value;
}

// The keys in which cases of a group differ.
Keys keys_that_differ(const std::vector<const CaseResult*>& cases) {
  Keys keys;
  for (const trust::PlaceKey& key : trust::place_keys()) {
    const auto differs = [&](const CaseResult* one) {
      return text_of(key, one->place) != text_of(key, cases.front()->place);
    };
    if (std::any_of(cases.begin(), cases.end(), differs)) keys.push_back(&key);
  }
  return keys;
}

// "a100|ampere|*|..." of all keys: * for those in which cases differ.
std::string shared_text(const trust::Place& place, const Keys& differ) {
  std::vector<std::string> values;
  for (const trust::PlaceKey& key : trust::place_keys())
    values.push_back(std::find(differ.begin(), differ.end(), &key) == differ.end() ? text_of(key, place) : "*");
  return fmt::format("{}", fmt::join(values, "|"));
}

// "2.2e+10|full||-23": the values of a case where the row before has others, then its error in ten-thousandths.
std::string row_text(const CaseResult& one, const CaseResult* before, const Keys& differ) {
  std::string row;
  for (const trust::PlaceKey* key : differ) {
    const std::string value = text_of(*key, one.place);
    if (before == nullptr || value != text_of(*key, before->place)) row += value;
    row += '|';
  }
  return row + fmt::format("{}", std::lround(1e4 * log_ratio(one)));
}

std::string group_json(const CaseSet& set, const std::vector<const CaseResult*>& cases) {
  const Keys differ = keys_that_differ(cases);
  std::vector<std::string> rows;
  const CaseResult* before = nullptr;
  for (const CaseResult* one : cases) {
    rows.push_back(row_text(*one, before, differ));
    before = one;
  }
  return fmt::format(
      "{{\"set\": \"{}\", \"publication\": \"{}\", \"weight\": {:.6g}, \"all\": \"{}\", \"rows\": \"{}\"}}", set.name,
      set.publication(), weight_of(cases.size()), shared_text(cases.front()->place, differ), fmt::join(rows, ";"));
}

// Counts rows inside their intervals, for all sets, each set and each publication.
void count_coverage(Intervals& intervals, const std::vector<SetResult*>& owner, const trust::Calibration& calibration,
                    const std::vector<trust::Validated>& rows) {
  const double width = trust::width_at(calibration.evidence, trust::kUsualLevel);
  const std::vector<trust::Held> fresh = trust::as_new_publications(rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!owner[r]->coverage) owner[r]->coverage.emplace();
    const trust::Held& without = calibration.without_publication[r];
    Coverage& publication = intervals.publications[rows[r].row.publication];
    for (Coverage* coverage : {&intervals.all, &*owner[r]->coverage, &publication}) {
      ++coverage->rows;
      if (without.score <= width) ++coverage->without_publication;
      if (calibration.without_copies[r].score <= width) ++coverage->without_copies;
      if (fresh[r].score <= 1) ++coverage->as_new_publication;
      coverage->simulated_error += std::expm1(-rows[r].row.log_ratio);
      coverage->headline_error += std::expm1(-without.error);
    }
  }
}

}  // namespace

Intervals check_intervals(std::vector<SetResult>& sets) {
  std::vector<trust::Validated> rows;
  std::vector<SetResult*> owner;
  for (SetResult& result : sets)
    for (const auto& [group, cases] : groups_of(result))
      for (const CaseResult* one : cases) {
        rows.push_back(
            {{one->place, result.set.publication(), log_ratio(*one), weight_of(cases.size())}, one->configuration});
        owner.push_back(&result);
      }
  const trust::Calibration calibration = trust::calibrate(rows);
  Intervals intervals{.evidence = calibration.evidence, .all = {}, .publications = {}};
  count_coverage(intervals, owner, calibration, rows);
  return intervals;
}

std::string residuals_json(const std::vector<SetResult>& sets, const trust::Evidence& evidence) {
  std::vector<std::string> widths, quantiles, names, groups;
  for (const trust::PlaceKey& key : trust::place_keys()) names.push_back(fmt::format("\"{}\"", key.name));
  for (const trust::Width& width : evidence.widths)
    widths.push_back(fmt::format("{{\"level\": {}, \"half\": {:.4f}}}", width.level, width.half));
  for (const trust::Quantile& quantile : evidence.quantiles)
    quantiles.push_back(fmt::format("{{\"part\": {}, \"error\": {:.4f}}}", quantile.part, quantile.error));
  for (const SetResult& result : sets)
    for (const auto& [group, cases] : groups_of(result)) groups.push_back(group_json(result.set, cases));
  return fmt::format(
      "{{\n\"about\": \"Generated by foretoken validate --write-docs; do not edit. all: the values of keys that all "
      "cases share. rows: the other values of each case, then log(measured / simulated step time) in ten-thousandths. "
      "A "
      "value that is left out is that of the row before; ~ is an empty text.\",\n\"switch\": "
      "{},\n\"doubling\": {},\n\"growth\": {},\n\"doubt\": "
      "{},\n\"widths\": [{}],\n\"quantiles\": [{}],\n\"keys\": [{}],\n\"groups\": [\n{}\n]\n}}\n",
      evidence.weights.one_switch, evidence.weights.doubling, evidence.growth,
      evidence.doubt ? fmt::format("{}", *evidence.doubt) : "null", fmt::join(widths, ", "), fmt::join(quantiles, ", "),
      fmt::join(names, ", "), fmt::join(groups, ",\n"));
}

}  // namespace foretoken::validate
