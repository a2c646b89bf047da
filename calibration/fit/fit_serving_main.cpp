// foretoken-fit-serving: fits a GPU's laws of decode attention, and copies its small all-reduces, from tables of
// kernels (docs/modeller/costs.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "calibration/fit/laws/fit_decode.h"
#include "calibration/fit/run_main.h"
#include "calibration/import/import.h"

namespace foretoken::fit {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

Json json_of(const cost::DecodeLaw& law, const std::string& source) {
  return {{"launch_us", rounded(law.launch.value() * 1e6, 2)},
          {"gb_per_s", rounded(law.bandwidth.value() * 1e-9, 1)},
          {"step_us", rounded(law.step.value() * 1e6, 3)},
          {"sharpness", rounded(law.sharpness, 3)},
          {"provenance", "fitted"},
          {"source", source},
          {"samples", law.evidence.samples},
          {"held_out", law.evidence.held_out},
          {"median_error", rounded(law.evidence.median_error, 4)},
          {"p90_error", rounded(law.evidence.p90_error, 4)}};
}

// Every second size of each number of ranks; the shipped files have these.
Json all_reduces(const measured::Samples& samples, cost::AllReduceKernels kernels) {
  std::map<int, std::map<double, double>> times;
  for (const measured::SmallAllReduceSample& sample : samples.small_all_reduces)
    if (measured::kernels_of(sample.implementation) == kernels)
      times[sample.ranks][sample.bytes.value()] = sample.time.median.value();
  Json tables = Json::array();
  for (const auto& [ranks, rows] : times) {
    Json bytes = Json::array(), us = Json::array();
    bool takes = true;
    for (const auto& [size, time] : rows) {
      if (takes) bytes.push_back(std::llround(size)), us.push_back(rounded(time * 1e6, 2));
      takes = !takes;
    }
    tables.push_back({{"ranks", ranks}, {"bytes", std::move(bytes)}, {"us", std::move(us)}});
  }
  return tables;
}

int run(int argc, char** argv) {
  CLI::App app{"Fits calibration/serving/GPU.json on tables of decode attention and of small all-reduces."};
  std::string gpu, source;
  double bandwidth = 0;
  std::vector<std::string> files;
  app.add_option("--gpu", gpu, "name of the GPU")->required();
  app.add_option("--gb-per-s", bandwidth, "memory bandwidth of the datasheet")->required();
  app.add_option("--source", source, "address and revision of the tables")->required();
  app.add_option("TABLES", files, "CSV, or CSV in gzip")->required();
  CLI11_PARSE(app, argc, argv);

  measured::Samples samples;
  for (const std::string& file : files) {
    measured::Samples table = measured::import_any(file);
    measured::require_known_kernels(table, file);
    samples.append(std::move(table));
  }
  Json laws = Json::object();
  for (const auto& [key, kind] : {std::pair{"cache_16_bit", CacheKind::kWide},
                                  {"cache_8_bit", CacheKind::kNarrow},
                                  {"latent", CacheKind::kLatent}})
    if (const auto law = fit_decode(samples, kind, BytesPerSecond(bandwidth * 1e9))) laws[key] = json_of(*law, source);
  Json json{{"gpu", gpu}, {"decode_attention", std::move(laws)}};
  for (const cost::AllReduceKernels kernels : cost::kEngineKernels)
    if (Json tables = all_reduces(samples, kernels); !tables.empty())
      json["small_all_reduce"][name_of(kernels)] = {{"source", source}, {"tables", std::move(tables)}};
  fmt::print("{}\n", json.dump(2));
  return 0;
}

}  // namespace
}  // namespace foretoken::fit

int main(int argc, char** argv) { return foretoken::fit::run_main(foretoken::fit::run, argc, argv); }
