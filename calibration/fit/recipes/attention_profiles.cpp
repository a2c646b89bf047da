// Which series stand for which GPU, and what fills their gaps.
#include "calibration/fit/recipes/attention_profiles.h"

#include <algorithm>
#include <cmath>

#include "calibration/fit/numerics/residuals.h"
#include "sim/base/check.h"

namespace foretoken::fit {
namespace {

cost::AttentionLaws attention_frame(const Datasheet& gpu) {
  return {.multiprocessors = gpu.multiprocessors, .block_rows = 128, .launch = microseconds(2)};
}

const AttentionSeries& series_of(const Measurements& data, const std::string& name, bool causal, int head_dim) {
  const auto found = std::find_if(data.attention.begin(), data.attention.end(), [&](const AttentionSeries& s) {
    return s.name == name && s.causal == causal && s.head_dim == head_dim;
  });
  expects(found != data.attention.end(), "every attention series of the catalogue was given");
  return *found;
}

constexpr double kLeastHalfLength = 50;

/// `rate` changed as `from` is to `to`: the peak and the sharpness by their ratio, the half length by their difference
/// (both are overheads in tokens: of a tile, and of the diagonal).
cost::AttentionRate scaled(cost::AttentionRate rate, const cost::AttentionRate& to, const cost::AttentionRate& from) {
  rate.peak = FlopPerSecond(rounded(rate.peak.value() * (to.peak / from.peak)));
  rate.half_length = rounded(std::max(kLeastHalfLength, rate.half_length + to.half_length - from.half_length));
  rate.sharpness = sharpness_at(std::log(rate.sharpness * to.sharpness / from.sharpness));
  return rate;
}

}  // namespace

// ---- attention
// -------------------------------------------------------------------------------------------------------

Halves ampere_halves(const Measurements& data) {
  Halves halves;
  const double half_length = 484;  // of the A100 series, causal, head dimension 128; one length only in the operators
  const char* system = "a100_pcie";
  halves.forward = fit_direction(data.operators, system, false, 108, half_length, halves.forward_evidence);
  halves.backward = fit_direction(data.operators, system, true, 108, half_length, halves.backward_evidence);
  halves.givens = {.forward_over_backward = rounded(halves.forward.peak / halves.backward.peak),
                   .forward_tail = halves.forward.tail,
                   .backward_tail = halves.backward.tail,
                   .multiprocessors = 108};
  return halves;
}

cost::AttentionLaws a100_attention(const Measurements& data, const Halves& halves) {
  cost::AttentionLaws laws = attention_frame(kA100_80);
  for (const AttentionSeries& series : data.attention)
    if (series.name == "A100_FA2_fwd_bwd")
      laws.laws.push_back(
          fit_series(series, halves.givens,
                     "flash-attention repository 0251105, A100 FlashAttention-2 forward + backward; halves "
                     "and tails from SimuMax a100_pcie operators"));
  laws.flash2 = laws.laws;
  return laws;
}

/// Hopper: cuDNN, which Transformer Engine runs there. Series that cuDNN lacks are guessed point by point: causal to
/// full backward as FlashAttention-2's both halves, causal to full forward at 64 as at 128.
cost::AttentionLaws hopper_attention(const Measurements& data, const Halves& ampere) {
  AttentionGivens givens = ampere.givens;
  givens.multiprocessors = kH100.multiprocessors;
  const auto forward = [&](bool causal, int dim) { return series_of(data, "H100_cuDNN_fwd", causal, dim); };
  const auto backward = [&](int dim) { return series_of(data, "H100_cuDNN_bwd", false, dim); };
  const auto causal_backward = [&](int dim) {
    return in_proportion(backward(dim), series_of(data, "H100_FA2_fwd_bwd", true, dim),
                         series_of(data, "H100_FA2_fwd_bwd", false, dim));
  };
  const std::string paper = "arXiv:2407.08608 Figures 5 and 6, cuDNN on H100";
  cost::AttentionLaws laws = attention_frame(kH100);
  const auto add = [&](bool causal, int dim, const AttentionSeries& forwards, const AttentionSeries& backwards,
                       const char* more, bool measured = true) {
    cost::AttentionLaw law = fit_series(forwards, givens, paper + more);
    law.head_dim = dim;
    law.causal = causal;
    law.backward = fit_series(backwards, givens, paper).backward;
    if (!measured) law.evidence = assumed(law.evidence.source);
    laws.laws.push_back(std::move(law));
  };
  add(false, 64, forward(false, 64), backward(64), "");
  add(false, 128, forward(false, 128), backward(128), "");
  add(true, 64, in_proportion(forward(false, 64), forward(true, 128), forward(false, 128)), causal_backward(64),
      "; causal forward as at 128, causal backward as FlashAttention-2", /*measured=*/false);
  add(true, 128, forward(true, 128), causal_backward(128), "; causal backward as FlashAttention-2");
  add(true, 256, forward(true, 256), in_proportion(causal_backward(128), forward(true, 256), forward(true, 128)),
      "; backward as forward");
  for (const int dim : {64, 128})
    for (const bool causal : {true, false})
      laws.flash2.push_back(fit_series(series_of(data, "H100_FA2_fwd_bwd", causal, dim), givens,
                                       "flash-attention repository 0251105, H100 FlashAttention-2 forward + backward; "
                                       "halves and tails as on A100"));
  return laws;
}

/// Blackwell: causal, head dimension 128 from SimuMax's operators; the rest in Hopper's proportions.
cost::AttentionLaws blackwell_attention(const Measurements& data, const cost::AttentionLaws& hopper) {
  cost::AttentionLaws laws = attention_frame(kB200);
  cost::Evidence proof{.source = "SimuMax b200_bf16_ceperm operators, causal, head dimension 128 (forward)"};
  cost::Evidence back_proof{};
  const char* system = "b200_bf16_ceperm";
  const auto known =
      std::find_if(hopper.laws.begin(), hopper.laws.end(), [](const auto& l) { return l.head_dim == 128 && l.causal; });
  const auto forward = fit_direction(data.operators, system, false, kB200.multiprocessors, -1, proof);
  const auto backward = fit_direction(data.operators, system, true, kB200.multiprocessors, -1, back_proof);
  for (const cost::AttentionLaw& law : hopper.laws) {
    const bool measured = law.head_dim == 128 && law.causal;
    laws.laws.push_back({.head_dim = law.head_dim,
                         .causal = law.causal,
                         .forward = scaled(forward, law.forward, known->forward),
                         .backward = scaled(backward, law.backward, known->backward),
                         .evidence = measured ? proof
                                              : scaled_from(kH100.name,
                                                            "the proportions of its laws to that of causal, "
                                                            "head dimension 128")});
  }
  return laws;
}

cost::AttentionLaws rescaled(cost::AttentionLaws laws, double factor, const Datasheet& gpu,
                             const cost::Evidence& evidence) {
  laws.multiprocessors = gpu.multiprocessors;
  for (std::vector<cost::AttentionLaw>* kernel : {&laws.laws, &laws.flash2})
    for (cost::AttentionLaw& law : *kernel) {
      law.forward.peak = FlopPerSecond(rounded(factor * law.forward.peak.value()));
      law.backward.peak = FlopPerSecond(rounded(factor * law.backward.peak.value()));
      law.evidence = evidence;
    }
  return laws;
}

}  // namespace foretoken::fit
