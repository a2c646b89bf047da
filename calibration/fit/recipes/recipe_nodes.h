// Reads the forms that several parts of a recipe share: inputs, rows, factors and evidence.
#pragma once

#include "calibration/fit/recipes/gemm_recipe.h"
#include "calibration/fit/recipes/recipe_inputs.h"
#include "sim/io/json/node.h"

namespace foretoken::fit {

[[nodiscard]] Place place_of(const io::Node& node);

/// Reads {"h100.csv": {"source": ..., "form": ...}, "collectives.json": {"file": "../measurements/collectives.json"}}.
[[nodiscard]] Inputs read_inputs(const io::Node& node);

/// Reads {"table": "operators.csv", "where": {"system": "a100_pcie", "m": {"least": 128}}, "less": "quant_us"}, with
/// an optional "layout": "TN".
[[nodiscard]] Rows read_rows(const io::Node& node, const Inputs& inputs);

/// Complains unless `table` names one of the inputs.
void want_input(const io::Node& node, const Inputs& inputs, const std::string& table);

/// Reads {"profile": "a100-sxm4-80gb"}.
[[nodiscard]] FromProfile read_from(const io::Node& node);

/// Reads {"rows": ..., "shortest_us": 100, "least_dimension": 1024, "corrected": true}.
[[nodiscard]] FactorOfRows read_factor_of_rows(const io::Node& node, const Inputs& inputs);

/// Reads a number, {"profile": NAME}, or what read_factor_of_rows() reads. Sustained factors may also have
/// {"products": "bf16"}.
[[nodiscard]] std::optional<FactorRecipe> read_factor(const io::Node& node, std::string_view key, const Inputs& inputs);

/// Reads an "evidence" object, which has the form that it has in profiles.
[[nodiscard]] cost::Evidence read_evidence(const io::Node& node);

/// Reads a precision that products may have.
[[nodiscard]] Precision read_precision(const io::Node& node, std::string_view key);

}  // namespace foretoken::fit
