// Makes profiles from recipes, part by part.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "calibration/fit/recipes/recipe.h"
#include "calibration/fit/shipped/tables.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Finds a profile that has no recipe here, by name. Returns nothing when there is none.
using KnownProfile = std::function<std::optional<cost::Profile>(const std::string& name)>;

/// Returns the shipped profile of that name.
[[nodiscard]] std::optional<cost::Profile> shipped_profile(const std::string& name);

/// Fits each part of a profile once, when it is first asked for. The recipe of another profile may ask for it. Parts of
/// profiles without a recipe come from `known`. Fits use times of single kernels and collectives, and no time of a
/// training step. Every function throws ConfigError where the recipe or its tables are wrong. `recipes` and `tables`
/// must outlive this.
class Fitting {
 public:
  Fitting(const RecipeBook& recipes, const Tables& tables, KnownProfile known = shipped_profile)
      : recipes_(&recipes), tables_(&tables), known_(std::move(known)) {}

  /// Returns the whole profile. Precondition: `name` has a recipe.
  [[nodiscard]] cost::Profile profile(const std::string& name);

  [[nodiscard]] const cost::GemmLaw& gemm(const FromProfile& from, Precision precision);
  [[nodiscard]] const cost::MisalignedRows& misaligned_rows(const FromProfile& from);
  [[nodiscard]] const cost::AttentionLaws& attention(const FromProfile& from);
  [[nodiscard]] const cost::MemoryBoundLaw& memory_bound(const FromProfile& from);
  [[nodiscard]] const cost::InsideNodeLaw& nvlink(const FromProfile& from);
  [[nodiscard]] const cost::InsideNodeLaw& pcie(const FromProfile& from);
  [[nodiscard]] const cost::AcrossNodesLaw& network(const FromProfile& from);
  [[nodiscard]] const cost::PointToPointLaw& point_to_point(const FromProfile& from);
  [[nodiscard]] const std::vector<cost::ExchangeLaw>& exchanges(const FromProfile& from);
  [[nodiscard]] net::Gpu datasheet(const FromProfile& from);  ///< of the profile's GPU

  [[nodiscard]] const Tables& tables() const { return *tables_; }

 private:
  using Name = std::pair<std::string, Precision>;  ///< the precision counts for products only

  /// Returns the part from `done`. The first time, `make` makes it from its recipe, or `take` takes it from the known
  /// profile.
  template <class Part, class Make, class Take>
  const Part& part(std::map<Name, Part>& done, const char* what, const FromProfile& from, Precision precision,
                   const Make& make, const Take& take);
  [[nodiscard]] const cost::Profile& known(const FromProfile& from);
  /// Makes the whole profile when its products and attention come from kernel tables.
  void fit_tables(const FromProfile& from);

  const RecipeBook* recipes_;
  const Tables* tables_;
  KnownProfile known_;
  std::map<std::string, cost::Profile> taken_{};
  std::set<std::string> open_{};   ///< parts that are being made
  std::set<std::string> begun_{};  ///< profiles that are being made, and those that are made
  std::map<std::string, cost::Profile> whole_{};
  std::map<Name, cost::GemmLaw> gemm_{};
  std::map<Name, cost::MisalignedRows> misaligned_rows_{};
  std::map<Name, cost::AttentionLaws> attention_{};
  std::map<Name, cost::MemoryBoundLaw> memory_bound_{};
  std::map<Name, cost::InsideNodeLaw> nvlink_{}, pcie_{};
  std::map<Name, cost::AcrossNodesLaw> network_{};
  std::map<Name, cost::PointToPointLaw> point_to_point_{};
  std::map<Name, std::vector<cost::ExchangeLaw>> exchanges_{};
};

/// Returns the sustained factor of a profile's products.
[[nodiscard]] double sustained_of(const FromProfile& from, Precision precision, Fitting& fitting);

// Each function makes one part from its recipe.
[[nodiscard]] cost::GemmLaw make_gemm(const Recipe& recipe, Precision precision, Fitting& fitting);
[[nodiscard]] cost::AttentionLaws make_attention(const Recipe& recipe, Fitting& fitting);
[[nodiscard]] cost::InsideNodeLaw make_nvlink(const Recipe& recipe, Fitting& fitting);
[[nodiscard]] cost::InsideNodeLaw make_pcie(const Recipe& recipe, Fitting& fitting);
[[nodiscard]] std::vector<cost::ExchangeLaw> make_exchanges(const Recipe& recipe, Fitting& fitting);
[[nodiscard]] cost::AcrossNodesLaw make_network(const Recipe& recipe, Fitting& fitting);

}  // namespace foretoken::fit
