// Which series stand for which GPU, and what fills their gaps.
#include "calibration/fit/attention_profiles.h"

#include <algorithm>

#include "calibration/fit/residuals.h"
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

/// `rate` changed as `from` is to `to`: the peak by their ratio, the half length by their difference (both are
/// overheads in tokens: of a tile, and of the diagonal).
cost::AttentionRate scaled(cost::AttentionRate rate, const cost::AttentionRate& to, const cost::AttentionRate& from) {
  rate.peak = FlopPerSecond(rounded(rate.peak.value() * (to.peak / from.peak)));
  rate.half_length = rounded(std::max(kLeastHalfLength, rate.half_length + to.half_length - from.half_length));
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

/// Hopper: cuDNN, which Transformer Engine runs there. What cuDNN's series lack comes from ratios: causal to full
/// backward as FlashAttention-2's both halves, causal to full forward at 64 as at 128.
cost::AttentionLaws hopper_attention(const Measurements& data, const Halves& ampere) {
  AttentionGivens givens = ampere.givens;
  givens.multiprocessors = kH100.multiprocessors;
  const auto fitted = [&](const char* name, bool causal, int dim, const char* source) {
    return fit_series(series_of(data, name, causal, dim), givens, source);
  };
  const char* paper = "arXiv:2407.08608 Figures 5 and 6, cuDNN on H100";
  const auto full64 = fitted("H100_cuDNN_fwd", false, 64, paper), full128 = fitted("H100_cuDNN_fwd", false, 128, paper);
  const auto causal128 = fitted("H100_cuDNN_fwd", true, 128, paper),
             causal256 = fitted("H100_cuDNN_fwd", true, 256, paper);
  const auto back64 = fitted("H100_cuDNN_bwd", false, 64, paper), back128 = fitted("H100_cuDNN_bwd", false, 128, paper);
  const auto fa2 = [&](bool causal, int dim) { return fitted("H100_FA2_fwd_bwd", causal, dim, paper).backward; };

  cost::AttentionLaws laws = attention_frame(kH100);
  const auto add = [&](int dim, bool causal, cost::AttentionRate forward, cost::AttentionRate backward,
                       cost::Evidence proof, const char* more) {
    proof.source += more;
    laws.laws.push_back({dim, causal, forward, backward, std::move(proof)});
  };
  add(64, false, full64.forward, back64.backward, full64.evidence, "");
  add(128, false, full128.forward, back128.backward, full128.evidence, "");
  add(64, true, scaled(full64.forward, causal128.forward, full128.forward),
      scaled(back64.backward, fa2(true, 64), fa2(false, 64)), assumed(paper),
      "; causal forward scaled as at 128, causal backward as FlashAttention-2");
  add(128, true, causal128.forward, scaled(back128.backward, fa2(true, 128), fa2(false, 128)), causal128.evidence,
      "; causal backward scaled as FlashAttention-2");
  const cost::AttentionRate causal_back128 = laws.laws.back().backward;
  add(256, true, causal256.forward, scaled(causal_back128, causal256.forward, causal128.forward), causal256.evidence,
      "; backward scaled as forward");
  for (const int dim : {64, 128})
    for (const bool causal : {true, false})
      laws.flash2.push_back(fitted("H100_FA2_fwd_bwd", causal, dim,
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
