// The part of a recipe that says how the laws of fused attention are made.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "calibration/fit/recipes/gemm_recipe.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// A published series of a chart.
struct ChartSeries {
  std::string table{}, name{};
  bool causal = true;
  int head_dim = 128;
};
/// The series `base`, each point times the ratio of the series `times` and `over`.
struct ScaledSeries {
  std::string base{}, times{}, over{};
};
struct SeriesRecipe {
  std::variant<ChartSeries, ScaledSeries> from{};
  Place place{};
};

/// Forward and backward rates of causal attention, from kernels of one length. A series that times both passes together
/// cannot separate them.
struct Halves {
  Rows rows{};
  double half_length = 0;
  int multiprocessors = 1;  ///< of the GPU that the rows are of
};

struct SeriesLaw {
  int head_dim = 128;
  bool causal = true;
  std::string forward{}, backward{};  ///< names of series; equal when one series times both passes
  std::string source{};
  bool guessed = false;  ///< assumed rather than fitted
  Place place{};
};

/// Laws fitted on series.
struct AttentionOfSeries {
  Halves halves{};
  std::map<std::string, SeriesRecipe> series{};
  std::vector<SeriesLaw> laws{}, flash2{};
  bool flash2_is_laws = false;
};

/// Another profile's laws, scaled by the ratio of the dense peaks or by the ratio of measured rates.
struct AttentionOfProfile {
  FromProfile from{};
  std::optional<Halves> backward_rate{};
  bool with_flash2 = true;
  cost::Evidence evidence{};
};

/// One law fitted on kernels. The other laws keep the proportions that they have to it in another profile.
struct AttentionInProportion {
  Rows rows{};
  int head_dim = 128;
  bool causal = true;
  std::string source{};
  FromProfile others{};
  cost::Evidence others_evidence{};
};

struct AttentionRecipe {
  std::variant<AttentionOfSeries, AttentionOfProfile, AttentionInProportion> from{};
  std::optional<int> multiprocessors{};
  std::optional<int> block_rows{};
  std::optional<Seconds> launch{};
  std::optional<FactorRecipe> sustained{};
};

}  // namespace foretoken::fit
