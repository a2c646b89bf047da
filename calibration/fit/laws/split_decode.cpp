// Splits the decode kernels of one engine into ranges of heads.
//
// An engine chooses another kernel, or other tiles, by head dimension and by the query heads of a group. Each range
// begins whole. Of all possible cuts in two, that with the smallest misfit of both parts counts where it is clearly
// smaller than that of the whole. The parts are then cut in the same way.
#include "calibration/fit/laws/split_decode.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/check.h"

namespace foretoken::fit {
namespace {

/// A cut of rows with a misfit of kGoodMisfit and more, about 4 % of median error, must take away this part of it.
constexpr double kGoodMisfit = 0.06, kClearGain = 0.05;
/// A few rows among many hardly change the misfit of all. A cut also counts where it takes away this part of the misfit
/// of one side that the whole's law meets poorly, with a median error of about 8 %.
constexpr double kPoorMisfit = 0.11, kGainOfSide = 0.25;
/// A number more must take away this part of the misfit.
constexpr double kPriceOfForm = 0.05;
constexpr std::size_t kFewestOfPart = 50;
/// Query heads of a group after which a cut is tried, in the tables of every engine. The tables of TensorRT-LLM step
/// there: one head runs its masked attention, and groups above 32 read for each head. A cut must earn its place.
constexpr std::int64_t kLastOfTile[] = {1, 8, 16, 32};
constexpr std::int64_t kMostOfTile = 32;
/// Cuts are compared by brief fits.
const DecodeSearch kBriefSearch{.most_rows = 250, .launches = {8e-6}, .evaluations = 800};

struct FittedForm {
  cost::DecodeLaw law{};
  double misfit = 0;
};

FittedForm fitted_in_form(const DecodeRows& rows, DecodeForm form, BytesPerSecond bandwidth,
                          const DecodeSearch& search) {
  const cost::DecodeLaw law = fit_decode_rows(rows, form, bandwidth, search);
  return {law, decode_misfit(rows, law)};
}

/// Returns the law with the smallest misfit. A form with more numbers must earn them.
FittedForm best_form(const DecodeRows& rows, BytesPerSecond bandwidth, const DecodeSearch& search) {
  const bool may_be_alone =
      std::all_of(rows.begin(), rows.end(), [](const DecodeRow& row) { return row.shared > kMostOfTile; });
  FittedForm best = fitted_in_form(rows, {}, bandwidth, search);
  for (const bool each_head : {false, true})
    for (const bool fills : {false, true}) {
      if ((!each_head && !fills) || (each_head && !may_be_alone)) continue;
      FittedForm other = fitted_in_form(rows, {.fills = fills, .each_head = each_head}, bandwidth, search);
      if (other.misfit < (1 - kPriceOfForm) * best.misfit) best = std::move(other);
    }
  return best;
}

using Parts = std::pair<DecodeRows, DecodeRows>;

bool is_large(const DecodeRows& rows) {
  const auto fits = std::count_if(rows.begin(), rows.end(), [](const DecodeRow& row) { return !row.held_out; });
  return rows.size() >= kFewestOfPart && fits > 0;
}

template <typename IsFirst>
void add_cut(const DecodeRows& rows, const IsFirst& is_first, std::vector<Parts>& cuts) {
  Parts parts;
  for (const DecodeRow& row : rows) (is_first(row) ? parts.first : parts.second).push_back(row);
  if (is_large(parts.first) && is_large(parts.second)) cuts.push_back(std::move(parts));
}

std::vector<Parts> cuts_of(const DecodeRows& rows) {
  std::vector<Parts> cuts;
  for (const std::int64_t last : kLastOfTile)
    add_cut(
        rows, [&](const DecodeRow& row) { return row.shared <= last; }, cuts);
  std::set<std::int64_t> dims;
  for (const DecodeRow& row : rows) dims.insert(row.shape.key_dim);
  for (const std::int64_t last : dims)
    add_cut(
        rows, [&](const DecodeRow& row) { return row.shape.key_dim <= last; }, cuts);
  return cuts;
}

/// Returns the best cut that is clear, or nothing.
std::optional<Parts> clear_cut(const DecodeRows& rows, BytesPerSecond bandwidth) {
  const FittedForm whole = best_form(rows, bandwidth, kBriefSearch);
  std::optional<Parts> best;
  double least = std::numeric_limits<double>::infinity();
  for (Parts& parts : cuts_of(rows)) {
    double misfit = 0;
    bool helps_side = false;
    for (const DecodeRows* part : {&parts.first, &parts.second}) {
      const double own = best_form(*part, bandwidth, kBriefSearch).misfit, by_whole = decode_misfit(*part, whole.law);
      helps_side = helps_side || (by_whole >= kPoorMisfit && own <= (1 - kGainOfSide) * by_whole);
      misfit += own * static_cast<double>(part->size()) / static_cast<double>(rows.size());
    }
    const bool helps_all = whole.misfit >= kGoodMisfit && misfit <= (1 - kClearGain) * whole.misfit;
    if ((!helps_all && !helps_side) || misfit >= least) continue;
    least = misfit;
    best = std::move(parts);
  }
  return best;
}

cost::EngineDecodeLaw law_of_range(const DecodeRows& rows, BytesPerSecond bandwidth) {
  cost::EngineDecodeLaw law;
  const auto range = [&](const auto& value) {
    cost::FittedRange all{value(rows.front()), value(rows.front())};
    for (const DecodeRow& row : rows) all = {std::min(all.low, value(row)), std::max(all.high, value(row))};
    return all;
  };
  law.shared = range([](const DecodeRow& row) { return row.shared; });
  law.head_dims = range([](const DecodeRow& row) { return row.shape.key_dim; });
  law.law = best_form(rows, bandwidth, {}).law;
  return law;
}

}  // namespace

std::vector<cost::EngineDecodeLaw> split_decode(const DecodeRows& rows, BytesPerSecond bandwidth) {
  expects(!rows.empty(), "laws are fitted on rows");
  const std::optional<Parts> parts = clear_cut(rows, bandwidth);
  if (!parts) return {law_of_range(rows, bandwidth)};
  std::vector<cost::EngineDecodeLaw> laws = split_decode(parts->first, bandwidth);
  for (cost::EngineDecodeLaw& law : split_decode(parts->second, bandwidth)) laws.push_back(std::move(law));
  return laws;
}

}  // namespace foretoken::fit
