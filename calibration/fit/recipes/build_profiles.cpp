// The catalogue of shipped profiles.
//
// Only kernels and collectives measured alone enter; no time of a training step does.
#include "calibration/fit/recipes/build_profiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/fit/collectives/collective_profiles.h"
#include "calibration/fit/laws/fit_gemm.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/recipes/attention_profiles.h"
#include "calibration/fit/recipes/datasheets.h"
#include "calibration/fit/recipes/profile_notes.h"
#include "sim/base/check.h"

namespace foretoken::fit {
namespace {

using cost::Profile;

const char* const kAiconfigurator = "ai-dynamo/aiconfigurator 095f58a51";

Profile named(const Datasheet& gpu) { return {.name = gpu.name, .gpu = gpu.name}; }

void set_16bit(Profile& profile, const cost::GemmLaw& law, bool bf16 = true) {
  profile.gemm[Precision::kFp16] = law;  // one BLOOM pair, fp16 against bf16, differs by 1 %; same tensor-core rate
  if (bf16) profile.gemm[Precision::kBf16] = law;
}

cost::GemmLaw table_gemm(const Measurements& data, const Datasheet& gpu, const std::string& table, double nt_factor) {
  const auto found = data.gemm.find(gpu.name);
  expects(found != data.gemm.end(), "every fitted GPU has a GEMM table on the command line");
  const cost::TileWaveLaw start{.peak = teraflops(gpu.tflops_16bit),
                                .multiprocessors = gpu.multiprocessors,
                                .efficiency = 0.8,
                                .prologue_k = 200,
                                .small_tile_loss = 0.08,
                                .memory_bandwidth = gigabytes_per_second(0.7 * gpu.memory_gb_per_s),
                                .launch = microseconds(3.5)};
  cost::GemmLaw law = fit_gemm(found->second, {.start = start}, fmt::format("{} {}", kAiconfigurator, table));
  law.weight_gradient_factor = nt_factor;
  return law;
}

/// NT with fp32 accumulation relative to TN and NN, from an operator table; of the law alone, since what corrects
/// forward products says nothing of NT.
double weight_gradient_factor(const Measurements& data, const std::string& system, cost::GemmLaw law) {
  law.corrections = {};
  law.weight_gradient_factor = 1;
  const double nt = median_ratio(data.operators, system, true, 0, law);
  return rounded(nt / median_ratio(data.operators, system, false, 0, law), 3);
}

cost::TileWaveLaw& tile_law(cost::GemmLaw& law) { return std::get<cost::TileWaveLaw>(law.law); }

/// fp8: ten rows of each table are public beside the files (m 128 to 8192, n and k 4096 to 16384). Its linear layer
/// also quantises its input, an amax pass and a cast of 5 bytes an element and 11 to 14 us of launches, which layers
/// count as kernels of their own. What is left gives two constants; the others are those of 16-bit products.
struct Fp8Fit {
  double efficiency, prologue_k, peak_tflops;
  const char* error;
};
constexpr Fp8Fit kH100Fp8{.83, 800, 1978, "1.4 %"}, kH200Fp8{.83, 1000, 1978, "2.2 %"},
    kB200Fp8{.76, 1100, 4500, "2.8 %"}, kGb200Fp8{.645, 500, 5000, "2.8 %"};

cost::GemmLaw fp8_gemm(const Fp8Fit& fit, const cost::GemmLaw& bf16) {
  cost::TileWaveLaw law = std::get<cost::TileWaveLaw>(bf16.law);
  law.peak = teraflops(fit.peak_tflops);
  law.efficiency = fit.efficiency;
  law.prologue_k = fit.prologue_k;
  return {.law = law,
          .weight_gradient_factor = bf16.weight_gradient_factor,
          .evidence = {.provenance = cost::Provenance::kFitted,
                       .source = fmt::format("ten rows of {} TensorRT-LLM 1.3.0rc10 fp8 table, quantisation counted "
                                             "apart, mean error {}; tiles, memory, launch and sustained_factor as bf16",
                                             kAiconfigurator, fit.error),
                       .samples = 10}};
}

// No kernel table of memory-bound work is public. 0.80 was set beforehand on A100; the GEMM tables' memory-bound shapes
// reach 0.74 (A100), 0.81 (H100), 0.78 (H200) and 0.71 (B200) of the datasheet, SimuMax states 0.67 for B200.
cost::MemoryBoundLaw memory(const Datasheet& gpu, double efficiency) {
  return {.bandwidth = gigabytes_per_second(gpu.memory_gb_per_s),
          .efficiency = efficiency,
          .launch = microseconds(2),
          .evidence = assumed("part of the datasheet bandwidth; memory-bound GEMMs of the same GPU agree")};
}

/// nccl-tests sendrecv: A100 NVLink reaches 150 of 300 GB/s at the sizes of activations (195 above 128 MiB), two RTX
/// PRO 6000 cards 38.6 of 64 GB/s, two nodes of 8 B200 with NDR 35.9 of 50 GB/s a NIC. Latencies are assumed.
cost::PointToPointLaw messages(cost::Evidence nvlink, double network_efficiency, cost::Evidence network) {
  cost::PointToPointLaw law = published_messages(network_efficiency);
  law.nvlink.evidence = std::move(nvlink);
  law.pcie.evidence =
      scaled_from("rtx-pro-6000", "nccl-tests sendrecv between two cards, in the same part of the PCIe rate");
  law.network.evidence = std::move(network);
  return law;
}

cost::PointToPointLaw ampere_messages() {
  return messages({.provenance = cost::Provenance::kFitted, .source = "nccl-tests sendrecv on A100 NVLink"}, 0.8,
                  assumed("20 of 25 GB/s on HDR"));
}

/// Hopper and Blackwell.
cost::PointToPointLaw later_messages(const Datasheet& gpu) {
  cost::Evidence network{.provenance = cost::Provenance::kFitted,
                         .source = "nccl-tests sendrecv on 2 nodes of 8 B200, NDR"};
  if (&gpu != &kB200) network = scaled_from(kB200.name, network.source);
  return messages(scaled_from(kA100_80.name, "in the same part of the NVLink rate"), 0.72, std::move(network));
}

/// Paths that `gpu` measured, now in the hands of another.
void lend_messages(cost::PointToPointLaw& law, const std::string& gpu) {
  for (cost::PointToPointLaw::Path* path : {&law.nvlink, &law.pcie, &law.network})
    if (path->evidence.provenance == cost::Provenance::kFitted)
      path->evidence = scaled_from(gpu, "in the same part of the link's rate");
}

// Inner loops of products whose rows are 8, 2 or 4, and an odd number of 16-bit elements; from products of 8192 tokens,
// 14336 wide, with 51136 to 51221 columns. Batched products of cuBLAS 11.6 without tensor cores: bf16, rows of 140.
constexpr double kRows16 = 1.11, kRows4 = 1.85, kRows2 = 3.45, kOldBatchedTflops = 12.2;

cost::MisalignedRows ampere_rows() {
  return {.rows_16_bytes = kRows16,
          .rows_4_bytes = kRows4,
          .rows_2_bytes = kRows2,
          .batched_before_cuda_11_7 = teraflops(kOldBatchedTflops),
          .evidence = {.provenance = cost::Provenance::kFitted,
                       .source = "EleutherAI/cookbook 27dff48, sizing/results (arXiv:2401.14489), fp16 on A100; "
                                 "before CUDA 11.7: pytorch/pytorch issue 83272, A100",
                       .samples = 86,
                       .held_out = 34,
                       .median_error = 0.116,
                       .p90_error = 0.246,
                       .worst_error = 0.325}};
}

/// By analogy: rows are loaded in the same pieces of 2 to 16 bytes.
cost::MisalignedRows rows_like_ampere(std::optional<double> old_batched_tflops) {
  cost::MisalignedRows rows = ampere_rows();
  rows.batched_before_cuda_11_7.reset();
  if (old_batched_tflops) rows.batched_before_cuda_11_7 = teraflops(rounded(*old_batched_tflops, 3));
  rows.evidence = assumed("the slowdown of an A100");
  return rows;
}

// ---- profiles
// --------------------------------------------------------------------------------------------------------

Profile a100_80(const Measurements& data, const Collectives& c, const Halves& halves) {
  Profile profile = named(kA100_80);
  cost::GemmLaw gemm = table_gemm(data, kA100_80, "SGLang 0.5.10 bf16 table", 1);
  gemm.weight_gradient_factor = weight_gradient_factor(data, "a100_pcie", gemm);
  set_16bit(profile, gemm);
  profile.misaligned_rows = ampere_rows();
  profile.attention = a100_attention(data, halves);
  profile.memory_bound = memory(kA100_80, 0.80);
  profile.nvlink = c.ampere;
  profile.pcie = c.pcie;
  profile.network = c.ampere_network;
  profile.point_to_point = ampere_messages();
  return profile;
}

Profile a100_40(const Profile& like) {
  Profile profile = like;
  profile.name = profile.gpu = kA100_40.name;
  const std::string source = "memory bandwidth 1555 / 2039";
  cost::GemmLaw gemm = like.gemm.at(Precision::kBf16);
  auto& bandwidth = tile_law(gemm).memory_bandwidth;
  bandwidth = BytesPerSecond(rounded(bandwidth.value() * kA100_40.memory_gb_per_s / kA100_80.memory_gb_per_s));
  gemm.evidence = scaled_from(like.name, source);
  set_16bit(profile, gemm);
  profile.attention = rescaled(like.attention, 1, kA100_40, scaled_from(like.name, "the same multiprocessors"));
  profile.memory_bound = memory(kA100_40, 0.80);
  return profile;
}

Profile a100_pcie(const Measurements& data, const Profile& like, const Halves& halves) {
  Profile profile = like;
  profile.name = profile.gpu = kA100Pcie.name;
  cost::GemmLaw base = like.gemm.at(Precision::kBf16);
  cost::TileWaveLaw start = tile_law(base);
  start.memory_bandwidth =
      BytesPerSecond(rounded(start.memory_bandwidth.value() * kA100Pcie.memory_gb_per_s / kA100_80.memory_gb_per_s));
  cost::GemmLaw gemm = fit_gemm(forward_products(data.operators, "a100_pcie"),
                                {.start = start, .memory_and_launch = false, .correct = false},
                                "SimuMax a100_pcie operators; memory bandwidth and launch scaled from a100-sxm4-80gb");
  gemm.weight_gradient_factor = base.weight_gradient_factor;
  set_16bit(profile, gemm);
  const auto known = std::find_if(like.attention.laws.begin(), like.attention.laws.end(),
                                  [](const auto& l) { return l.head_dim == 128 && l.causal; });
  const double slower = halves.backward.peak / known->backward.peak;
  profile.attention =
      rescaled(like.attention, slower, kA100Pcie, scaled_from(like.name, "SimuMax a100_pcie operators"));
  profile.memory_bound = memory(kA100Pcie, 0.80);
  profile.nvlink = relabelled(like.nvlink, kA100Pcie.nvlink_gb_per_s, scaled_from(like.name, "the same NVLink rate"));
  for (cost::AcrossNodesCurve& curve : profile.network.curves) {
    curve.evidence = scaled_from(like.name, "the same NICs");
    curve.measured.clear();
  }
  return profile;
}

/// The table's protocol is 3 runs to warm up and 6 to measure (aiconfigurator, collector/helper.py), too short for the
/// power limit but for its longest products; cuDNN's bars were measured with pauses against it (flash-attention,
/// hopper/benchmark_attn.py). A limited clock slows products and attention alike.
Profile hopper(const Measurements& data, const Datasheet& gpu, const Fp8Fit& fp8, const Collectives& c,
               const cost::AttentionLaws& attention, double nt_factor) {
  Profile profile = named(gpu);
  cost::GemmLaw gemm = table_gemm(data, gpu, "TensorRT-LLM 1.3.0rc10 bf16 table", nt_factor);
  const double sustained = rounded(long_run_factor(data.gemm.at(gpu.name), gemm), 3);
  tile_law(gemm).sustained_factor = sustained;
  gemm.evidence.source += "; sustained_factor: median of its products of 16 ms and more (residuals without it)";
  set_16bit(profile, gemm);
  profile.gemm[Precision::kFp8] = fp8_gemm(fp8, gemm);
  profile.misaligned_rows = rows_like_ampere(std::nullopt);  // newer than CUDA 11.7
  profile.attention = attention;
  if (&gpu != &kH100)
    profile.attention = rescaled(attention, 1, gpu, scaled_from(kH100.name, "the same multiprocessors; cuDNN on H100"));
  profile.attention.sustained_factor = sustained;
  profile.memory_bound = memory(gpu, 0.80);
  profile.nvlink = c.hopper;
  profile.pcie = c.pcie;
  profile.network = c.hopper_network;
  profile.point_to_point = later_messages(gpu);
  return profile;
}

/// The table is a short benchmark; SimuMax's operators ran long enough to reach the power limit.
Profile b200(const Measurements& data, const Collectives& c, const cost::AttentionLaws& attention) {
  Profile profile = named(kB200);
  const char* system = "b200_bf16_ceperm";
  cost::GemmLaw gemm = table_gemm(data, kB200, "TensorRT-LLM 1.3.0rc10 bf16 table", 1);
  tile_law(gemm).sustained_factor = rounded(median_ratio(data.operators, system, false, 100e-6, gemm), 3);
  gemm.weight_gradient_factor = weight_gradient_factor(data, system, gemm);
  gemm.evidence.source +=
      "; sustained_factor: median over SimuMax b200 operators of 0.1 ms or more (residuals without it)";
  set_16bit(profile, gemm);
  profile.gemm[Precision::kFp8] = fp8_gemm(kB200Fp8, gemm);
  profile.misaligned_rows = rows_like_ampere(std::nullopt);
  profile.attention = attention;
  profile.attention.sustained_factor = rounded(long_attention_factor(data.operators, system, attention), 3);
  profile.memory_bound = memory(kB200, 0.70);
  profile.nvlink = c.blackwell;
  profile.pcie = c.pcie;
  profile.network = c.blackwell_network;
  profile.point_to_point = later_messages(kB200);
  return profile;
}

Profile gb200(const Measurements& data, const Profile& like) {
  Profile profile = like;
  profile.name = profile.gpu = kGb200.name;
  const cost::GemmLaw& b200_gemm = like.gemm.at(Precision::kBf16);
  cost::GemmLaw gemm = table_gemm(data, kGb200, "TensorRT-LLM 1.3.0rc10 bf16 table", b200_gemm.weight_gradient_factor);
  tile_law(gemm).sustained_factor = std::get<cost::TileWaveLaw>(b200_gemm.law).sustained_factor;
  gemm.evidence.source += "; sustained_factor assumed as b200-sxm-180gb";
  set_16bit(profile, gemm);
  profile.gemm[Precision::kFp8] = fp8_gemm(kGb200Fp8, gemm);
  profile.attention = rescaled(like.attention, kGb200.tflops_16bit / kB200.tflops_16bit, kGb200,
                               scaled_from(kB200.name, "dense peak 2500 / 2250"));
  for (cost::AcrossNodesCurve& curve : profile.network.curves)
    curve.evidence = scaled_from(kB200.name, "the same NICs");
  profile.point_to_point = later_messages(kGb200);
  return profile;
}

Profile v100(const Datasheet& gpu, const Profile& like, const Collectives& c) {
  Profile profile = like;
  profile.name = profile.gpu = gpu.name;
  const std::string source = fmt::format("dense peak {} / 312, {} multiprocessors and memory bandwidth 900 / 2039",
                                         gpu.tflops_16bit, gpu.multiprocessors);
  cost::GemmLaw gemm = like.gemm.at(Precision::kFp16);
  cost::TileWaveLaw& law = tile_law(gemm);
  law.peak = teraflops(gpu.tflops_16bit);
  law.multiprocessors = gpu.multiprocessors;
  law.memory_bandwidth =
      BytesPerSecond(rounded(law.memory_bandwidth.value() * gpu.memory_gb_per_s / kA100_80.memory_gb_per_s));
  gemm.corrections = {};  // what A100's library chooses says nothing of Volta's
  gemm.evidence = scaled_from(like.name, source);
  profile.gemm.clear();
  set_16bit(profile, gemm, /*bf16=*/false);
  constexpr double kFp32OfA100 = 19.5, kFp32OfV100 = 15.7;  // datasheets, TFLOP/s
  profile.misaligned_rows = rows_like_ampere(kOldBatchedTflops * kFp32OfV100 / kFp32OfA100);
  profile.attention = rescaled(like.attention, gpu.tflops_16bit / kA100_80.tflops_16bit, gpu,
                               scaled_from(like.name, source + "; FlashAttention-2 does not support Volta, so this is "
                                                               "an optimistic guess"));
  profile.attention.flash2.clear();
  profile.memory_bound = memory(gpu, 0.80);
  lend_messages(profile.point_to_point, like.name);
  const bool cube_mesh = &gpu == &kV100Sxm2;
  profile.nvlink = cube_mesh ? c.volta
                             : relabelled(c.ampere, gpu.nvlink_gb_per_s,
                                          scaled_from(like.name, "NVLink rate 150 / 300 (both NVSwitch)"));
  profile.network = c.volta_network;
  return profile;
}

}  // namespace

std::vector<Profile> build_profiles(const Measurements& data) {
  const Collectives c = fit_collectives(data.collectives);
  const Halves halves = ampere_halves(data);
  const Profile a100 = a100_80(data, c, halves);
  const double nt_factor = a100.gemm.at(Precision::kBf16).weight_gradient_factor;
  const cost::AttentionLaws hopper_laws = hopper_attention(data, halves);
  std::vector<Profile> profiles{a100, a100_40(a100), a100_pcie(data, a100, halves)};
  profiles.push_back(hopper(data, kH100, kH100Fp8, c, hopper_laws, nt_factor));
  profiles.push_back(hopper(data, kH200, kH200Fp8, c, hopper_laws, nt_factor));
  profiles.push_back(b200(data, c, blackwell_attention(data, hopper_laws)));
  profiles.push_back(gb200(data, profiles.back()));
  profiles.push_back(v100(kV100Sxm2, a100, c));
  profiles.push_back(v100(kV100Sxm3, a100, c));
  for (Profile& profile : profiles) profile.notes = notes_of(profile);
  std::sort(profiles.begin(), profiles.end(), [](const Profile& a, const Profile& b) { return a.name < b.name; });
  return profiles;
}

}  // namespace foretoken::fit
