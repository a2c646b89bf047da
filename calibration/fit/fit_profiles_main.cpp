// foretoken-fit-profiles: fits the shipped profiles on published tables (docs/modeller/calibration.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "calibration/fit/recipes/build_profiles.h"
#include "sim/io/hardware/profile.h"

namespace foretoken::fit {
namespace {

void write_profile(const cost::Profile& profile, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / (profile.name + ".json");
  std::ofstream out(path);
  out << io::to_json_text(profile);
  if (!out.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", path.string()));
  fmt::print("{}\n", path.string());
  for (const std::string& note : profile.notes) fmt::print("  {}\n", note);
}

int run(int argc, char** argv) {
  CLI::App app{"Fits hardware profiles on published measurements and writes them as JSON."};
  std::vector<std::string> gemm, attention;
  std::string operators, collectives = "calibration/measurements/collectives.json", out = "calibration/profiles";
  app.add_option("--gemm", gemm, "GPU=TABLE.csv with columns m,n,k,time_us; once for each GPU")->required();
  app.add_option("--attention", attention, "series of TFLOP/s over sequence length, JSON")->required();
  app.add_option("--operators", operators, "operator efficiencies, CSV")->required();
  app.add_option("--collectives", collectives, "nccl-tests tables, JSON");
  app.add_option("--out", out, "folder of the profiles");
  CLI11_PARSE(app, argc, argv);

  Measurements measurements{.gemm = {},
                            .operators = read_operator_table(operators),
                            .attention = {},
                            .collectives = read_collective_tables(collectives)};
  for (const std::string& item : gemm) {
    const auto at = item.find('=');
    if (at == std::string::npos) throw std::runtime_error(fmt::format("--gemm {}: expected GPU=TABLE.csv", item));
    measurements.gemm[item.substr(0, at)] = read_gemm_table(item.substr(at + 1));
  }
  for (const std::string& path : attention)
    for (AttentionSeries& series : read_attention_series(path)) measurements.attention.push_back(std::move(series));
  for (const cost::Profile& profile : build_profiles(measurements)) write_profile(profile, out);
  return 0;
}

}  // namespace
}  // namespace foretoken::fit

int main(int argc, char** argv) {
  try {
    return foretoken::fit::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
