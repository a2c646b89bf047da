// The measured tables that recipes name, found and read.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/recipes/recipe.h"
#include "calibration/fit/shipped/published.h"
#include "calibration/import/experts_csv.h"
#include "calibration/import/samples.h"

namespace foretoken::fit {

/// Reads inputs. Every function throws ConfigError, at the recipe or at the table's line.
class Tables {
 public:
  /// Tables that are not in the repository stand in the folder `gathered`.
  explicit Tables(std::filesystem::path gathered) : gathered_(std::move(gathered)) {}

  /// Uses `tables` in place of every input of collectives.
  void use_collectives(std::vector<CollectiveTable> tables) { collectives_ = std::move(tables); }

  [[nodiscard]] std::vector<measured::GemmSample> products(const Recipe& recipe, const Rows& rows,
                                                           Precision precision) const;
  [[nodiscard]] std::vector<measured::AttentionSample> attention(const Recipe& recipe, const Rows& rows) const;
  /// Rows of a table of products, quantisation or attention, under its public source.
  [[nodiscard]] measured::Samples kernels(const Recipe& recipe, const Rows& rows) const;
  [[nodiscard]] std::vector<measured::ExpertSample> experts(const Recipe& recipe, const Rows& rows) const;
  [[nodiscard]] AttentionSeries series(const Recipe& recipe, const ChartSeries& chart, const Place& place) const;
  [[nodiscard]] std::vector<CollectiveTable> collectives(const Recipe& recipe, const TableChoice& choice) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(const Recipe& recipe, const std::string& table) const;

  std::filesystem::path gathered_;
  std::optional<std::vector<CollectiveTable>> collectives_{};
};

/// An input, and the state of its file.
struct InputState {
  enum Kind { kFound, kMissing, kChanged } kind = kFound;
  std::string name{};
  std::filesystem::path path{};
  const Input* input = nullptr;
};

/// Returns every input of the recipes, each file once.
[[nodiscard]] std::vector<InputState> input_states(const RecipeBook& recipes, const std::filesystem::path& gathered);

/// Returns one line: the file, and for a missing file its source and form.
[[nodiscard]] std::string line_of(const InputState& state);

}  // namespace foretoken::fit
