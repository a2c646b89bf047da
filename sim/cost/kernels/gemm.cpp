// Time of matrix products: tiles run on the multiprocessors in waves, never faster than memory allows.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "sim/base/check.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/gemm_correction.h"

namespace foretoken::cost {
namespace {

/// A tile of the output that one multiprocessor computes. It is `halvings` times halved from 256 x 128.
struct Tile {
  std::int64_t rows, columns;
  double halvings;
};

// The tile shapes that cuBLAS and CUTLASS list for 16-bit tensor-core kernels.
constexpr std::array<Tile, 8> kTiles{
    {{256, 128, 0}, {128, 256, 0}, {128, 128, 1}, {256, 64, 1}, {64, 256, 1}, {128, 64, 2}, {64, 128, 2}, {64, 64, 3}}};
// Libraries for Hopper and Blackwell choose one side in steps of 8. Seven more shapes, or none of the odd ones, change
// the held-out errors of the Blackwell tables by 0.2 % at most.
constexpr std::array<Tile, 10> kFineTiles{{{256, 128, 0},
                                           {128, 256, 0},
                                           {224, 128, 0.193},
                                           {128, 224, 0.193},
                                           {192, 128, 0.415},
                                           {128, 192, 0.415},
                                           {160, 128, 0.678},
                                           {128, 160, 0.678},
                                           {128, 128, 1},
                                           {128, 64, 2}}};
// The tiles of CUTLASS's grouped kernels for Hopper and Blackwell, halved from 256 x 256. A pair of multiprocessors
// shares the largest.
constexpr std::array<Tile, 6> kGroupedTiles{
    {{256, 256, 0}, {256, 128, 1}, {128, 256, 1}, {128, 128, 2}, {256, 64, 2}, {128, 64, 3}}};
constexpr int kMostSplits = 8;

template <TileSet kSet>
constexpr const auto& shapes_of() {
  if constexpr (kSet == TileSet::kFine)
    return kFineTiles;
  else if constexpr (kSet == TileSet::kGrouped)
    return kGroupedTiles;
  else
    return kTiles;
}

/// Bytes that must cross the memory bus at least once; outputs have 16 bits even when inputs have 8.
double least_bytes(const GemmShape& shape) {
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  const double in = bytes_per_element(shape.precision);
  const double out = std::max(in, 2.0);
  return (in * (m * k + k * n) + out * m * n) * static_cast<double>(shape.batch);
}

/// Returns the largest power of two, in bytes, that divides every row of the operands and the result. Rows run along n
/// and k in the layouts TN and NN, and along m and n in NT.
std::int64_t row_alignment(const GemmShape& shape) {
  const std::int64_t along = shape.pass == GemmPass::kWeightGradient ? shape.m : shape.k;
  const std::int64_t bits = (shape.n | along) * bits_per_element(shape.precision);
  return (bits & -bits) / 8;
}

double loop_slowdown(const GemmShape& shape, const MisalignedRows& rows) {
  const std::int64_t alignment = row_alignment(shape);
  if (alignment >= 32) return 1;
  return alignment >= 16 ? rows.rows_16_bytes : alignment >= 4 ? rows.rows_4_bytes : rows.rows_2_bytes;
}

/// Returns the multiprocessors that a product has beside collectives.
int processors_of(const GemmShape& shape, const TileWaveLaw& law) {
  return std::max(1, static_cast<int>(law.multiprocessors * shape.processor_share));
}

/// Rounds up. The build assumes no SSE4.1, and without it std::ceil is a call of the library.
double ceiling(double value) {
  const double whole = static_cast<double>(static_cast<std::int64_t>(value));
  return whole < value ? whole + 1 : whole;
}

/// Time of the best tile and split of k.
///
///   waves = (1 - f) ceil(x) + f x, at least 1, with x = batch ceil(m/Tm) ceil(n/Tn) s / SMs and f = `wave_softness`
///   t = waves 2 Tm Tn (a k/s + k0) / (peak/SMs e (1 - q log2(32768 / (Tm Tn))))
///       [+ 8 m n s batch / bandwidth if s > 1]
///
/// with a = `slowdown` of the inner loop.
///
/// Source: wave quantisation as in NVIDIA's matrix multiplication guide (DU-09799-001); e, k0, q fitted on GEMM tables.
/// Holds for: m, n, k >= 64; the library's own choice of tile may be worse than the best.
/// Error: the profile's gemm residuals.
/// `kSoft`: f is positive. Most laws have none, and searches time millions of products. So every shape of tile has code
/// of its own, in which a division by its sides is a multiplication.
template <TileSet kSet, bool kSoft>
double compute_seconds(const GemmShape& shape, const TileWaveLaw& law, double slowdown) {
  constexpr auto& kShapes = shapes_of<kSet>();
  const double k = static_cast<double>(shape.k);
  const double processors = processors_of(shape, law);
  const double rate = law.peak.value() / law.multiprocessors * law.efficiency;
  const double reduction = 8.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                           static_cast<double>(shape.batch) / law.memory_bandwidth.value();
  double best = std::numeric_limits<double>::infinity();
  const auto try_tile = [&]<std::size_t kIndex>(std::integral_constant<std::size_t, kIndex>) {
    constexpr Tile kTile = kShapes[kIndex];
    const double tiles = static_cast<double>(tiles_of(shape, kTile.rows, kTile.columns));
    const double unsplit = tiles / processors;  // splits are powers of two: products are exact
    constexpr double kFlop = 2.0 * static_cast<double>(kTile.rows * kTile.columns);  // a step of k
    const double per_k = kFlop / (rate * (1.0 - law.small_tile_loss * kTile.halvings));
    double part = 1;
    for (int split = 1; split <= kMostSplits; split *= 2, part /= 2) {
      const double full = unsplit * split, whole = ceiling(full);
      const double waves = kSoft ? std::max(1.0, whole - law.wave_softness * (whole - full)) : whole;
      double seconds = waves * per_k * (slowdown * k * part + law.prologue_k);
      if (split > 1) seconds += reduction * split;
      best = std::min(best, seconds);
      if (kSet == TileSet::kGrouped) break;            // grouped kernels do not split k
      if (kSet == TileSet::kFine && full >= 1) break;  // a soft wave gains nothing from further splits
    }
  };
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    (try_tile(std::integral_constant<std::size_t, kIndex>()), ...);
  }
  (std::make_index_sequence<kShapes.size()>());
  return best;
}

template <TileSet kSet>
double tiled_seconds(const GemmShape& shape, const TileWaveLaw& law, double slowdown) {
  return law.wave_softness > 0 ? compute_seconds<kSet, true>(shape, law, slowdown)
                               : compute_seconds<kSet, false>(shape, law, slowdown);
}

double compute_seconds(const GemmShape& shape, const TileWaveLaw& law, double slowdown) {
  if (law.tiles == TileSet::kFine) return tiled_seconds<TileSet::kFine>(shape, law, slowdown);
  if (law.tiles == TileSet::kGrouped) return tiled_seconds<TileSet::kGrouped>(shape, law, slowdown);
  return tiled_seconds<TileSet::kDoubling>(shape, law, slowdown);
}

Seconds time_of(const GemmShape& shape, const TileWaveLaw& law, const MisalignedRows& rows) {
  const double brief = compute_seconds(shape, law, loop_slowdown(shape, rows));
  const double compute = brief * law.sustained_factor;
  const double memory = least_bytes(shape) / law.memory_bandwidth.value();
  return law.launch + Seconds(std::max(compute, memory));
}

/// Source: the roofline fits published with ai-dynamo/aiconfigurator's fp8 tables.
Seconds time_of(const GemmShape& shape, const RooflineLaw& law, const MisalignedRows&) {
  const double compute = (shape.flop() / law.compute_rate).value() * law.sustained_factor / shape.processor_share;
  const double memory = least_bytes(shape) / law.memory_bandwidth.value();
  const double larger = std::max(compute, memory), ratio = std::min(compute, memory) / larger;
  return law.launch + Seconds(larger * std::pow(1.0 + std::pow(ratio, law.sharpness), 1.0 / law.sharpness));
}

/// Time of a batched product on CUDA cores.
Seconds without_tensor_cores(const GemmShape& shape, const TileWaveLaw& law, FlopPerSecond rate) {
  const double memory = least_bytes(shape) / law.memory_bandwidth.value();
  return law.launch + Seconds(std::max((shape.flop() / rate).value(), memory));
}

TileWaveLaw grouped_law(TileWaveLaw law, const GroupedLaw& grouped) {
  law.efficiency = grouped.efficiency;
  law.prologue_k = grouped.prologue_k;
  law.small_tile_loss = grouped.small_tile_loss;
  law.memory_bandwidth = grouped.memory_bandwidth;
  law.tiles = TileSet::kGrouped;
  law.wave_softness = grouped.wave_softness;
  return law;
}

/// Returns the time of the law and its correction, which is of single products.
Seconds law_time(const GemmShape& shape, const GemmLaw& gemm, const MisalignedRows& rows) {
  const auto* tiles = std::get_if<TileWaveLaw>(&gemm.law);
  if (shape.kind == BatchKind::kGrouped && gemm.grouped && tiles != nullptr)
    return time_of(shape, grouped_law(*tiles, *gemm.grouped), rows);
  const int processors = tiles != nullptr ? processors_of(shape, *tiles) : 1;  // a roofline has no lines of waves
  return correction_factor(gemm.correction(shape.pass), shape, processors) *
         std::visit([&](const auto& law) { return time_of(shape, law, rows); }, gemm.law);
}

Seconds with_accumulation(Seconds product, const GemmShape& shape, BytesPerSecond bandwidth) {
  constexpr double kOverlap = 1.5;
  const double bytes = 2.0 * shape.adds_to_bytes * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                       static_cast<double>(shape.batch);
  const double traffic = (Bytes(bytes) / bandwidth).value();
  return Seconds(std::pow(std::pow(product.value(), kOverlap) + std::pow(traffic, kOverlap), 1 / kOverlap));
}

}  // namespace

/// Time of `batch` equal products.
///
///   t = (launch + max(tiles and waves, bytes / bandwidth)) x correction(layout, m, n, k)
///       x (weight gradient ? its factor : 1)
///
/// A product that adds to an fp32 output reads and writes it partly beside the product, with A = 8 m n batch /
/// bandwidth:
///
///   t = (t^1.5 + A^1.5)^(2/3), without the factor of weight gradients
///
/// Grouped products have constants of their own and no correction, where the profile has them. Each expert's rows fill
/// whole tiles: batch ceil(m/Tm) ceil(n/Tn) of them.
///
/// Source, holds for, error: as compute_seconds above; weight gradients (NT layout) from the profile's factor.
/// The exponent is fitted on SimuMax's weight gradients with fp32 accumulation: 56 of A100 PCIe, mean error 2.6 %, A
/// 0.02 to 0.3 of the product; 109 of B200, 5.6 %. The factor that remains is 0.985 and 1.03. Precondition: every
/// dimension >= 1; 0 < processor_share <= 1; the profile has the precision.
Seconds gemm_time(const GemmShape& shape, const Profile& profile, GemmLibrary library) {
  expects(shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && shape.batch >= 1, "a GEMM has positive dimensions");
  const auto found = profile.gemm.find(shape.precision);
  expects(found != profile.gemm.end(), "the profile has a GEMM law for the precision");
  const GemmLaw& gemm = found->second;
  const MisalignedRows& rows = profile.misaligned_rows;
  const auto* tiles = std::get_if<TileWaveLaw>(&gemm.law);
  if (library == GemmLibrary::kBeforeCuda11_7 && tiles != nullptr && shape.batch > 1 && row_alignment(shape) < 16 &&
      rows.batched_before_cuda_11_7)
    return without_tensor_cores(shape, *tiles, *rows.batched_before_cuda_11_7);
  const Seconds time = law_time(shape, gemm, rows);
  if (shape.adds_to_bytes > 0)
    return std::visit([&](const auto& law) { return with_accumulation(time, shape, law.memory_bandwidth); }, gemm.law);
  return shape.pass == GemmPass::kWeightGradient ? gemm.weight_gradient_factor * time : time;
}

}  // namespace foretoken::cost
