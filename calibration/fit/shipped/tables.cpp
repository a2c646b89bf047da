// Finds inputs, and chooses rows of them.
#include "calibration/fit/shipped/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "calibration/import/attention_csv.h"
#include "calibration/import/gemm_csv.h"
#include "calibration/import/import.h"
#include "calibration/import/sha256.h"
#include "sim/base/check.h"

namespace foretoken::fit {
namespace {

InputState state_of(const std::string& name, const Input& input, const std::filesystem::path& gathered) {
  InputState state{.name = name, .path = input.path.empty() ? gathered / name : input.path, .input = &input};
  std::error_code none;
  if (!std::filesystem::is_regular_file(state.path, none))
    state.kind = InputState::kMissing;
  else if (!input.sha256.empty() && measured::sha256(measured::text_of(state.path)) != input.sha256)
    state.kind = InputState::kChanged;
  return state;
}

}  // namespace

std::string line_of(const InputState& state) {
  if (state.kind == InputState::kFound) return fmt::format("found: {}", state.path.string());
  if (state.kind == InputState::kChanged)
    return fmt::format("changed: {} is not the file that the recipe was fitted on (sha256 {})", state.path.string(),
                       state.input->sha256);
  return fmt::format("missing: {}; take it from {}; expected {}", state.path.string(), state.input->source,
                     state.input->form);
}

std::vector<InputState> input_states(const RecipeBook& recipes, const std::filesystem::path& gathered) {
  std::vector<InputState> states;
  std::set<std::filesystem::path> known;
  for (const auto& [profile, recipe] : recipes)
    for (const auto& [name, input] : recipe.inputs) {
      const std::filesystem::path path = input.path.empty() ? gathered / name : input.path.lexically_normal();
      if (known.insert(path).second) states.push_back(state_of(name, input, gathered));
    }
  return states;
}

std::filesystem::path Tables::path_of(const Recipe& recipe, const std::string& table) const {
  const auto input = recipe.inputs.find(table);
  expects(input != recipe.inputs.end(), "a recipe's reader checks the names of its tables");
  const InputState state = state_of(table, input->second, gathered_);
  if (state.kind != InputState::kFound) refuse(input->second.place, line_of(state));
  return state.path;
}

std::vector<measured::GemmSample> Tables::products(const Recipe& recipe, const Rows& rows, Precision precision) const {
  const measured::GemmCsvHints hints{.gpu = "",
                                     .precision = precision,
                                     .pass = rows.layout.value_or(GemmPass::kForward),
                                     .choice = rows.choice,
                                     .less = rows.less,
                                     .states_precision = true,
                                     .states_pass = rows.layout.has_value()};
  const measured::Samples samples = measured::import_gemm_csv(path_of(recipe, rows.table), hints);
  return {samples.gemms.begin(), samples.gemms.end()};
}

std::vector<measured::AttentionSample> Tables::attention(const Recipe& recipe, const Rows& rows) const {
  if (!rows.less.empty() || rows.layout)
    refuse(rows.place, "expected no \"less\" and no \"layout\": attention has none");
  const std::filesystem::path path = path_of(recipe, rows.table);
  auto samples = measured::parse_attention_operators(measured::text_of(path), path.string(), rows.choice);
  if (samples.empty()) refuse(rows.place, fmt::format("no such row of attention in {}", path.string()));
  return samples;
}

measured::Samples Tables::kernels(const Recipe& recipe, const Rows& rows) const {
  if (!rows.less.empty() || rows.layout) refuse(rows.place, "expected \"table\" and perhaps \"where\" alone");
  const std::filesystem::path path = path_of(recipe, rows.table);
  const std::string text = measured::text_of(path);
  measured::Samples samples = measured::import_csv(text, path.string(), rows.choice);
  const Input& input = recipe.inputs.at(rows.table);
  for (measured::Provenance& origin : samples.origins) origin.source = input.source + ", " + input.form;
  return samples;
}

std::vector<measured::ExpertSample> Tables::experts(const Recipe& recipe, const Rows& rows) const {
  if (!rows.less.empty() || rows.layout) refuse(rows.place, "expected \"table\" and perhaps \"where\" alone");
  const std::filesystem::path path = path_of(recipe, rows.table);
  auto samples = measured::parse_experts_csv(measured::text_of(path), path.string(), rows.choice);
  if (samples.empty()) refuse(rows.place, fmt::format("no such row of experts in {}", path.string()));
  return samples;
}

AttentionSeries Tables::series(const Recipe& recipe, const ChartSeries& chart, const Place& place) const {
  const std::filesystem::path path = path_of(recipe, chart.table);
  const std::vector<AttentionSeries> all = read_attention_series(path);
  const auto found = std::find_if(all.begin(), all.end(), [&](const AttentionSeries& s) {
    return s.name == chart.name && s.causal == chart.causal && s.head_dim == chart.head_dim;
  });
  if (found == all.end()) refuse(place, fmt::format("no such series in {}", path.string()));
  return *found;
}

std::vector<CollectiveTable> Tables::collectives(const Recipe& recipe, const TableChoice& choice) const {
  return collectives_ ? *collectives_ : read_collective_tables(path_of(recipe, choice.table));
}

}  // namespace foretoken::fit
