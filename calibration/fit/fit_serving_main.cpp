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

/// TensorRT-LLM's XQA kernels read keys and values once for a group of query heads. On Hopper its tables follow one law
/// for groups of 2 to 16. Groups of 24 and 32 take longer, and from 48 on each head reads by itself.
constexpr std::int64_t kFewestXqa = 2, kMostXqa = 16;

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const cost::AllReduceKernels kernels : cost::kEngineKernels) names.emplace_back(name_of(kernels));
  return names;
}

struct DecodeTables {
  const measured::Samples& samples;
  BytesPerSecond bandwidth;
  std::string source;
};

Json fitted_kinds(const DecodeTables& tables, DecodeChoice choice) {
  Json laws = Json::object();
  for (const auto& [key, kind] : {std::pair{"cache_16_bit", cost::CacheKind::kWide},
                                  {"cache_8_bit", cost::CacheKind::kNarrow},
                                  {"latent", cost::CacheKind::kLatent},
                                  {"latent_8_bit", cost::CacheKind::kLatentNarrow}}) {
    choice.kind = kind;
    if (const auto law = fit_decode(tables.samples, choice, tables.bandwidth)) laws[key] = json_of(*law, tables.source);
  }
  return laws;
}

/// The laws of the GPU are those of one engine's kernels, of others where it has no table of that kind of cache.
Json decode_laws(const DecodeTables& tables, const std::string& gpu_law) {
  Json laws{{"kernels", gpu_law}}, engines = Json::object();
  laws.update(fitted_kinds(tables, {.engine = gpu_law}));
  for (const std::string& engine : engine_names()) {
    if (engine == gpu_law) continue;
    const bool xqa = engine == "trt-llm";
    DecodeChoice choice{.engine = engine};
    if (xqa) {
      choice.fewest_shared = kFewestXqa;
      choice.most_shared = kMostXqa;
    }
    Json of_all = fitted_kinds(tables, {.engine = engine});
    Json own = fitted_kinds(tables, choice);
    for (auto& [key, law] : own.items()) {
      if (!laws.contains(key)) {
        laws[key] = std::move(of_all[key]);
        continue;
      }
      if (xqa) engines[engine].update({{"fewest_shared", kFewestXqa}, {"most_shared", kMostXqa}});
      engines[engine][key] = std::move(law);
    }
  }
  if (!engines.empty()) laws["engines"] = std::move(engines);
  return laws;
}

int run(int argc, char** argv) {
  CLI::App app{"Fits calibration/serving/GPU.json on tables of decode attention and of small all-reduces."};
  std::string gpu, source, gpu_law = "trt-llm";
  double bandwidth = 0;
  std::vector<std::string> files;
  app.add_option("--gpu", gpu, "name of the GPU")->required();
  app.add_option("--gb-per-s", bandwidth, "memory bandwidth of the datasheet")->required();
  app.add_option("--source", source, "address and revision of the tables")->required();
  app.add_option("--gpu-law", gpu_law, "engine whose decode kernels give the laws of the GPU: trt-llm, vllm or sglang")
      ->check(CLI::IsMember(engine_names()));
  app.add_option("TABLES", files, "CSV, or CSV in gzip")->required();
  CLI11_PARSE(app, argc, argv);

  measured::Samples samples;
  for (const std::string& file : files) {
    measured::Samples table = measured::import_any(file);
    measured::require_known_kernels(table, file);
    samples.append(std::move(table));
  }
  for (auto& sample : samples.decodes)
    if (sample.engine.empty()) sample.engine = gpu_law;
  Json laws = decode_laws({samples, BytesPerSecond(bandwidth * 1e9), source}, gpu_law);
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
