// foretoken-fit products: fits the products of an engine's own kernels, the member `products` of
// calibration/serving/GPU.json (docs/modeller/calibration.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/fit/laws/fit_engine_products.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/programs/programs.h"
#include "calibration/fit/shipped_file.h"
#include "calibration/import/gemm_csv.h"
#include "calibration/import/import.h"
#include "sim/base/error.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/hardware/serving_laws.h"

namespace foretoken::fit::products_program {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kPrecisions{Precision::kFp8, Precision::kFp8Block, Precision::kNvfp4};

Json knot_of(std::int64_t rows, double launch_us, double factor) {
  return {{"rows", rows}, {"launch_us", launch_us}, {"factor", factor}};
}

Json json_of(const cost::EngineProductsLaw& law, const std::string& source) {
  Json knots = Json::array();
  for (const cost::ProductsOfRows& knot : law.knots)
    knots.push_back(knot_of(knot.rows, rounded(knot.launch.value() * 1e6, 3), rounded(knot.factor, 3)));
  return {{"knots", std::move(knots)},
          {"provenance", "fitted"},
          {"source", source},
          {"samples", law.evidence.samples},
          {"held_out", law.evidence.held_out},
          {"median_error", law.evidence.median_error},
          {"p90_error", law.evidence.p90_error}};
}

Json fitted(const std::string& name, const std::string& source,
            const std::vector<std::pair<std::string, std::string>>& tables) {
  const cost::Profile profile = read_shipped(io::kProfiles, name, io::read_profile);
  Json json = Json::object();
  for (const auto& [engine, file] : tables) {
    const measured::Samples samples = measured::parse_gemm_csv(measured::text_of(file), file, {.gpu = profile.gpu});
    for (const Precision precision : kPrecisions) {
      if (!profile.gemm.contains(precision)) continue;
      if (const auto law = fit_engine_products(samples, precision, profile))
        json[engine][name_of(precision)] = json_of(*law, source);
    }
  }
  return json;
}

/// Returns the laws of a GPU with the same chip. They are relative to each GPU's own profile.
Json scaled(const std::string& name) {
  const cost::ServingLaws chip = read_shipped(io::kServingLaws, name, io::read_serving_laws);
  Json json = Json::object();
  for (const auto& [engine, laws] : chip.products)
    for (const auto& [precision, law] : laws) {
      Json copy = json_of(law, "the same chip; relative to the profile");
      for (const char* const key : {"samples", "held_out", "median_error", "p90_error"}) copy.erase(key);
      copy["provenance"] = "scaled";
      copy["scaled_from"] = name;
      json[engine][name_of(precision)] = std::move(copy);
    }
  return json;
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app{"Fits the products of engines' own kernels in calibration/serving/GPU.json."};
  std::string name, source, scale;
  std::vector<std::pair<std::string, std::string>> tables;
  auto* const gpu = app.add_option("--gpu", name, "name of the GPU, and of its profile");
  auto* const address = app.add_option("--source", source, "address and revision of the tables");
  auto* const rows =
      app.add_option("TABLES", tables, "engine (trt-llm, vllm, sglang) and its table, CSV or CSV in gzip");
  auto* const other = app.add_option("--scale", scale, "name of a GPU with the same chip, whose laws are taken");
  gpu->needs(address)->needs(rows)->excludes(other);
  CLI11_PARSE(app, argc, argv);
  if (name.empty() == scale.empty()) throw ConfigError({{"--gpu", "", "expected it or --scale"}});
  fmt::print("{}\n", (scale.empty() ? fitted(name, source, tables) : scaled(scale)).dump(2));
  return 0;
}

}  // namespace foretoken::fit::products_program
