// foretoken-fit collectives: fits the curves of measured systems, and prints the errors of all curves on the tables
// (docs/modeller/collectives.md).
#include "sim/io/hardware/collectives.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

#include "calibration/fit/collectives/check_collectives.h"
#include "calibration/fit/collectives/check_flows.h"
#include "calibration/fit/programs/programs.h"
#include "sim/base/error.h"

namespace foretoken::fit::collectives_program {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path temporary = path.string() + ".part";
  std::ofstream out(temporary);
  out << text;
  if (!out.flush()) throw ConfigError({{path.string(), "", "cannot be written"}});
  out.close();
  std::filesystem::rename(temporary, path);
}

std::string fitted_numbers(const std::vector<CollectiveTable>& tables) {
  using enum cost::NcclArchitecture;
  std::string text = "| on all tables | own copy | fill inside, ns | fill across, ns |\n|---|---|---|---|\n";
  for (const auto& [name, architecture] : {std::pair{"A100", kAmpere}, {"H100, H200", kHopper}, {"B200", kBlackwell}}) {
    const cost::NcclFitted fitted = fit_flows(tables, architecture);
    text += fmt::format("| {} | {:.1f} | {:.0f} | {:.0f} |\n", name, fitted.own_copy, 1e9 * fitted.fill_inside,
                        1e9 * fitted.fill_between);
  }
  return text + "\n";
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app{"Fits a curve to every measured table of collectives, and prints how well curves meet tables."};
  std::string collectives = "calibration/measurements/collectives.json", out;
  bool check = false, flows = false, flows_left_out = false;
  app.add_option("--collectives", collectives, "nccl-tests tables, JSON");
  app.add_option("--out", out, "write NAME.json of every measured system to this folder");
  app.add_flag("--check", check,
               "print the errors on every table as Markdown; takes minutes, because it fits once without each table");
  app.add_flag("--flows", flows,
               "print the errors of collectives simulated as flows, for rows of 16 MiB and more, as Markdown");
  app.add_flag("--flows-left-out", flows_left_out,
               "the same, with each table's numbers fitted on the other tables only");
  CLI11_PARSE(app, argc, argv);

  const auto tables = read_collective_tables(collectives);
  if (!out.empty())
    for (const auto& system : measured_systems(tables, fit_general_laws(tables)))
      write(std::filesystem::path(out) / (system.name + ".json"), io::to_json_text(system));
  if (check) fmt::print("{}", to_markdown(check_tables(tables)));
  if (flows) fmt::print("{}", to_markdown(check_flows(tables)));
  if (flows_left_out) fmt::print("{}{}", fitted_numbers(tables), to_markdown(check_flows_left_out(tables)));
  return 0;
}

}  // namespace foretoken::fit::collectives_program
