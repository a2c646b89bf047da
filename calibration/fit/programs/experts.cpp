// foretoken-fit experts: fits the laws of layers of experts of a GPU, the member `experts` of
// calibration/serving/GPU.json (docs/modeller/calibration.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "calibration/fit/laws/fit_expert_layer.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/programs/programs.h"
#include "calibration/fit/shipped_file.h"
#include "calibration/import/import.h"
#include "sim/io/hardware/read_cluster.h"

namespace foretoken::fit::experts_program {
namespace {

using Json = nlohmann::ordered_json;

/// The kernels of an engine's tables in one precision. The first that a table has counts.
struct EngineKernels {
  std::string_view engine, type;
  Precision precision;
  std::vector<std::string> kernels;
};

/// Each engine's kernels of most rows. Those of vLLM are FlashInfer's with TensorRT-LLM's kernels on Blackwell, and
/// Triton's on Hopper. Its kernels of fp8 with a scale a tensor are untuned on Hopper, a quarter of the speed, and stay
/// out. TensorRT-LLM calls its own kernels for nvfp4 min_latency in these tables.
const std::array<EngineKernels, 9>& engine_kernels() {
  using enum Precision;
  static const std::array<EngineKernels, 9> all{
      {{"trt-llm", "bfloat16", kBf16, {"moe_torch_flow_cutlass"}},
       {"trt-llm", "fp8", kFp8, {"moe_torch_flow_cutlass"}},
       {"trt-llm", "fp8_block", kFp8Block, {"deepgemm", "moe_torch_flow_cutlass"}},
       {"trt-llm", "nvfp4", kNvfp4, {"moe_torch_flow_min_latency"}},
       {"vllm",
        "bfloat16",
        kBf16,
        {"vllm_unquantizedfusedmoe_flashinfer_trtllm_trtllmbf16experts",
         "vllm_unquantizedfusedmoe_triton_tritonexperts"}},
       {"vllm", "fp8", kFp8, {"vllm_modeloptfp8moe_flashinfer_trtllm_trtllmfp8expertsmonolithic"}},
       {"vllm",
        "fp8_block",
        kFp8Block,
        {"vllm_fp8moe_flashinfer_trtllm_trtllmfp8expertsmonolithic", "vllm_fp8moe_triton_tritonexperts"}},
       {"vllm", "nvfp4", kNvfp4, {"vllm_compressedtensorsw4a4nvfp4moe_flashinfer_trtllm_trtllmnvfp4expertsmonolithic"}},
       {"sglang", "bfloat16", kBf16, {"sglang_fused_moe_triton"}}}};
  return all;
}

Json json_of(const cost::ExpertLayerLaw& law, const std::string& source) {
  return {{"launch_us", rounded(law.launch.value() * 1e6)},
          {"expert_us", rounded(law.expert.value() * 1e6)},
          {"row_ps", rounded(law.row.value() * 1e12)},
          {"token_ps", rounded(law.token.value() * 1e12)},
          {"gb_per_s", rounded(law.bandwidth.value() * 1e-9)},
          {"tflops", rounded(law.rate.value() * 1e-12)},
          {"sharpness", law.sharpness},
          {"provenance", "fitted"},
          {"source", source},
          {"samples", law.evidence.samples},
          {"held_out", law.evidence.held_out},
          {"median_error", rounded(law.evidence.median_error, 3)},
          {"p90_error", rounded(law.evidence.p90_error, 3)}};
}

std::vector<measured::ExpertSample> rows_of(const std::string& file, const EngineKernels& wanted,
                                            const std::string& kernel, double fewest_ranks, double most_ranks) {
  const measured::RowChoice choice{{{.column = "dtype", .one_of = {std::string(wanted.type)}},
                                    {.column = "kernel", .one_of = {kernel}},
                                    {.column = "distribution", .one_of = {"balanced"}},
                                    {.column = "ep", .least = fewest_ranks, .most = most_ranks}}};
  return measured::parse_experts_csv(measured::text_of(file), file, choice, measured::ExpertRanks::kAny);
}

/// Laws of one rank, and of 2 to 8 ranks.
Json laws_of(const std::string& file, const EngineKernels& wanted, const net::Gpu& gpu, const std::string& source) {
  const auto peak = gpu.peak_of(wanted.precision == Precision::kFp8Block ? Precision::kFp8 : wanted.precision);
  if (!peak) return {};
  constexpr double kMostRanks = 8;
  for (const std::string& kernel : wanted.kernels) {
    Json laws;
    const std::string from = fmt::format("{}, {}", source, kernel);
    if (const auto law = fit_expert_layer(rows_of(file, wanted, kernel, 1, 1), gpu.memory_bandwidth, *peak))
      laws["one_rank"] = json_of(*law, from);
    if (wanted.engine == "sglang") return laws;  // its rows of several ranks compute the experts of others, too
    if (const auto law = fit_expert_layer(rows_of(file, wanted, kernel, 2, kMostRanks), gpu.memory_bandwidth, *peak))
      laws["spread"] = json_of(*law, from);
    if (!laws.empty()) return laws;
  }
  return {};
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app{"Fits the laws of layers of experts in calibration/serving/GPU.json."};
  std::string name, source;
  std::vector<std::pair<std::string, std::string>> tables;
  app.add_option("--gpu", name, "name of the GPU in topologies/gpus")->required();
  app.add_option("--source", source, "address and revision of the tables")->required();
  app.add_option("TABLES", tables, "engine (trt-llm, vllm, sglang) and its table, CSV or CSV in gzip")->required();
  CLI11_PARSE(app, argc, argv);

  const net::Gpu gpu = read_shipped(io::kGpus, name, io::read_gpu);
  Json json;
  for (const auto& [engine, file] : tables)
    for (const EngineKernels& wanted : engine_kernels())
      if (wanted.engine == engine)
        if (Json laws = laws_of(file, wanted, gpu, source); !laws.empty())
          json[engine][name_of(wanted.precision)] = std::move(laws);
  fmt::print("{}\n", json.dump(2));
  return 0;
}

}  // namespace foretoken::fit::experts_program
