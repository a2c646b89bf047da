// foretoken-fit profiles: fits profiles as their recipes say (docs/modeller/calibration.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "calibration/fit/programs/programs.h"
#include "calibration/fit/recipes/read_recipe.h"
#include "calibration/fit/shipped/fitting.h"
#include "sim/base/error.h"
#include "sim/io/hardware/profile.h"

namespace foretoken::fit::profiles_program {
namespace {

struct Asked {
  std::vector<std::string> recipes{};
  std::string inputs = ".", out = "calibration/profiles";
  bool list = false;
};

void write_profile(const cost::Profile& profile, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / (profile.name + ".json");
  std::ofstream out(path);
  out << io::to_json_text(profile);
  if (!out.flush())
    throw ConfigError({{path.string(), "", fmt::format("cannot be written: {}", std::strerror(errno))}});
  fmt::print("{}\n", path.string());
  for (const std::string& note : profile.notes) fmt::print("  {}\n", note);
}

/// Prints the state of every input. Returns exit status 1 when an input is missing or changed.
int list_inputs(const std::vector<InputState>& states) {
  int status = 0;
  for (const InputState& state : states) {
    fmt::print("{}\n", line_of(state));
    if (state.kind != InputState::kFound) status = 1;
  }
  return status;
}

/// Refuses missing or changed inputs, before minutes of fitting.
void want_inputs(const std::vector<InputState>& states) {
  std::vector<Complaint> complaints;
  for (const InputState& state : states)
    if (state.kind != InputState::kFound)
      complaints.push_back({state.input->place.file, state.input->place.pointer, line_of(state)});
  if (!complaints.empty()) throw ConfigError(std::move(complaints));
}

}  // namespace

int run(int argc, char** argv) {
  Asked asked;
  CLI::App app{"Fits hardware profiles on published measurements, as their recipes say, and writes them as JSON."};
  app.add_option("recipes", asked.recipes, "names or files of recipes; all of calibration/recipes when there are none");
  app.add_option("--inputs", asked.inputs, "folder of the tables that are not in the repository");
  app.add_option("--out", asked.out, "folder of the profiles");
  app.add_flag("--list", asked.list, "list every input: its file, or where it is public");
  CLI11_PARSE(app, argc, argv);

  const RecipeBook recipes = read_recipes(asked.recipes);
  const std::vector<InputState> states = input_states(recipes, asked.inputs);
  if (asked.list) return list_inputs(states);
  want_inputs(states);
  const Tables tables(asked.inputs);
  Fitting fitting(recipes, tables);
  for (const auto& [name, recipe] : recipes) write_profile(fitting.profile(name), asked.out);
  return 0;
}

}  // namespace foretoken::fit::profiles_program
