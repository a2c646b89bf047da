// Scales the law of 16-bit products to 32-bit ones.
#include "sim/cost/wide_products.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

// A tile that computes slower has more time to load its operands, which are twice as long.
void scale(TileWaveLaw& law, double rate) {
  const double load = loading_share(rate);
  law.peak = rate * law.peak;
  law.efficiency = 1 - load * (1 - law.efficiency);
  law.small_tile_loss *= load;
  law.prologue_k *= load;
}

void scale(RooflineLaw& law, double rate) { law.compute_rate = rate * law.compute_rate; }

}  // namespace

void lend_wide_products(Profile& profile, Precision precision, double rate) {
  expects(is_wide(precision) && rate > 0, "products of 32-bit elements have a rate");
  if (profile.gemm.contains(precision)) return;
  for (const Precision narrow : {Precision::kFp16, Precision::kBf16}) {
    const auto known = profile.gemm.find(narrow);
    if (known == profile.gemm.end()) continue;
    GemmLaw law = known->second;
    std::visit([&](auto& constants) { scale(constants, rate); }, law.law);
    law.grouped.reset();
    if (precision == Precision::kFp32) law.corrections = {};  // they are of tensor-core kernels
    law.evidence = {
        .provenance = Provenance::kScaled,
        .scaled_from = fmt::format("{} {}", profile.name, name_of(narrow)),
        .source = fmt::format("the dense rate, {:.3g} times that in 16 bits, and elements of 4 bytes", rate)};
    profile.gemm.emplace(precision, std::move(law));
    return;
  }
}

}  // namespace foretoken::cost
