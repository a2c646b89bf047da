// Compares predicted with measured time for each sample, and sorts the errors into classes.
#include "calibration/fit/profiles/check_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "calibration/fit/collectives/check_collectives.h"
#include "calibration/fit/laws/attention_tables.h"
#include "calibration/fit/laws/benchmark_clock.h"
#include "calibration/fit/laws/fit_expert_layer.h"
#include "calibration/fit/laws/fit_kernels.h"
#include "calibration/fit/laws/fit_quantisation.h"
#include "calibration/fit/profiles/layer_time.h"
#include "calibration/fit/profiles/own_samples.h"
#include "calibration/fit/profiles/typical_work.h"
#include "sim/cost/costs.h"
#include "sim/cost/exchanges/exchange.h"

namespace foretoken::fit {
namespace {

constexpr std::int64_t kLargeSide = 1024, kLongSequence = 2048;
constexpr double kLargeBytes = 1e6;
constexpr double kLongCache = 1024, kManyTokens = 1024;

/// Ratios of predicted to measured time, by kind and by size (large or not).
using RatiosByKind = std::map<std::pair<std::string, bool>, std::vector<double>>;

/// `foretoken-calibrate` measures without pauses. On an H200 its products in bf16 took 1.17 times as long as at full
/// clocks, and long runs take 1.16 to 1.21 times as long (docs/modeller/calibration.md, "An H200 beside its profile").
Seconds in_benchmark(Seconds brief, Seconds sustained, Seconds full, Precision precision,
                     const measured::Timing& timing) {
  return timing.runs > 0 ? sustained : in_table(brief, sustained, full, precision);
}

struct Checking {
  const cost::Profile& profile;      ///< of brief runs
  const cost::Profile& sustained;    ///< of long runs, as shipped
  const cost::ServingLaws* serving;  ///< null: none
  RatiosByKind ratios{};
  std::map<Precision, std::vector<double>> large_products{};
  std::map<std::string, std::string> large_means{};  ///< by kind: "m, n, k >= 1024"
  std::set<std::string> left_out{};

  void add(const std::string& kind, const char* means, bool large, Seconds predicted, Seconds measured) {
    large_means[kind] = means;
    ratios[{kind, large}].push_back(predicted / measured);
  }

  void product(const measured::GemmSample& sample) {
    const Precision precision = sample.shape.precision;
    const std::string kind = fmt::format("products {}", name_of(precision));
    if (!profile.gemm.contains(precision)) {
      left_out.insert(kind);
      return;
    }
    GemmShape shape = sample.shape;
    shape.adds_to_bytes = sample.adds_to_fp32 ? 4 : 0;
    const Seconds product = in_benchmark(cost::gemm_time(shape, profile), cost::gemm_time(shape, sustained),
                                         kFullClockProduct, precision, sample.time);
    const Seconds time = product + quantisation_of(sample, profile);
    const bool large = std::min({shape.m, shape.n, shape.k}) >= kLargeSide;
    add(kind, "m, n, k >= 1024", large, time, sample.time.median);
    if (large) large_products[precision].push_back(time / sample.time.median);
  }

  void attention(const measured::AttentionSample& sample) {
    const AttentionShape shape = shape_of_kernel(sample);
    if (sample.implementation == "composed") return;
    const std::string kind =
        fmt::format("attention{} {} {}{} {} d{}", shape.kernel == FlashKernel::kFlash2 ? " flash-2" : "",
                    shape.backward ? "backward" : "forward", shape.causal ? "causal" : "full",
                    shape.window > 0 ? " in a window" : "", name_of(shape.precision), shape.head_dim);
    add(kind, "seq >= 2048", shape.kv_length >= kLongSequence, attention_in_benchmark(sample), sample.time.median);
  }

  /// An engine that the law knows has its own constants.
  [[nodiscard]] Seconds attention_in_benchmark(const measured::AttentionSample& sample) const {
    if (const auto known = engine_law(sustained.attention, sample); known && sample.time.runs == 0)
      return EnginePrediction(*known->law, *known->engine, sustained.attention)(sample);
    const AttentionShape shape = shape_of_kernel(sample);
    return in_benchmark(cost::attention_time(shape, profile), cost::attention_time(shape, sustained),
                        kFullClockAttention, shape.precision, sample.time) +
           beside_time(sample, profile);
  }

  void kernel(const measured::KernelSample& sample) {
    const double elements = static_cast<double>(sample.rows) * static_cast<double>(sample.columns);
    QuantisationShape shape{.elements = elements};
    Seconds time = cost::memory_bound_time({sample.bytes}, profile);
    if (sample.kernel == "cast" || sample.kernel == "scan") {
      const Seconds cast = cost::quantisation_time(shape, profile);
      shape.finds_scale = true;
      time = sample.kernel == "cast" ? cast : cost::quantisation_time(shape, profile) - cast;
    }
    add(sample.kernel, ">= 1 MB", sample.bytes.value() >= kLargeBytes, time, sample.time.median);
  }

  /// A layer runs back to back for long, so its kernels have the clocks of a long run.
  void layer(const measured::LayerSample& sample) {
    if (!profile.gemm.contains(Precision::kBf16)) {
      left_out.insert("layers");
      return;
    }
    add(fmt::format("layers {} {}", measured::name_of(sample.family), sample.backward ? "backward" : "forward"),
        ">= 1 ms", sample.time.median >= kLongLayer, layer_time(sample, sustained).all(), sample.time.median);
  }

  void exchange(const measured::ExchangeSample& sample) {
    const ExchangeShape& shape = sample.shape;
    const bool across = shape.nodes > 1;
    const std::string kind = fmt::format("{} {}{}", foretoken::name_of(shape.library), foretoken::name_of(shape.phase),
                                         across ? " across nodes" : "");
    const cost::ExchangeLaw* law = cost::find_exchange(profile.exchanges, shape.library, shape.phase);
    if (law == nullptr || (across && !law->across)) {
      left_out.insert(kind);
      return;
    }
    add(kind, ">= 1 MB", shape.payload().value() >= kLargeBytes, cost::exchange_time(shape, *law), sample.time.median);
  }

  void decode(const measured::DecodeSample& sample) {
    const cost::DecodeShape& shape = sample.shape;
    const std::string dim = sample.latent ? "" : fmt::format(" d{}", shape.key_dim);
    const std::string kind = fmt::format("{}decode attention{} {}{}", sample.latent ? "latent " : "",
                                         sample.windowed ? " in a window" : "", name_of(sample.cache), dim);
    const cost::DecodeLaw* const law = serving == nullptr
                                           ? nullptr
                                           : cost::decode_law(*serving, {.engine = sample.engine,
                                                                         .kind = sample.kind(),
                                                                         .shared = sample.shared(),
                                                                         .head_dim = sample.shape.key_dim});
    if (law == nullptr) {
      left_out.insert(kind);
      return;
    }
    const double each = shape.cached_tokens / static_cast<double>(shape.sequences);
    add(kind, ">= 1024 tokens", each >= kLongCache, cost::decode_attention_time(shape, *law), sample.time.median);
  }

  /// A law holds for the kernel that its evidence names, and for experts that get as many rows each.
  void expert_layer(const measured::ExpertSample& sample) {
    const std::string kind = fmt::format("experts {} by {}", name_of(sample.precision), sample.kernel);
    const cost::ExpertLayerLaw* law = nullptr;
    if (serving != nullptr)
      for (const auto& [engine, laws] : serving->experts)
        if (const auto own = laws.find(sample.precision); own != laws.end()) {
          const cost::ExpertLayerLaw* const each = own->second.of(static_cast<int>(sample.ranks));
          if (each->evidence.source.ends_with(sample.kernel)) law = each;
        }
    if (law == nullptr || !sample.balanced) {
      left_out.insert(law == nullptr ? kind : kind + ", experts of unequal popularity");
      return;
    }
    add(kind, ">= 1024 tokens", real(sample.tokens) >= kManyTokens,
        cost::expert_layer_time(expert_layer_of(sample), *law), sample.time);
  }

  void small_all_reduce(const measured::SmallAllReduceSample& sample) {
    const std::string kind = fmt::format("small all-reduce {} of {} ranks", sample.implementation, sample.ranks);
    const auto kernels = measured::kernels_of(sample.implementation);
    const auto time = serving == nullptr || !kernels
                          ? std::nullopt
                          : cost::small_all_reduce_time(sample.bytes, sample.ranks, *kernels, serving->all_reduces);
    if (!time) {
      left_out.insert(kind);
      return;
    }
    add(kind, ">= 1 MB", sample.bytes.value() >= kLargeBytes, *time, sample.time.median);
  }

  void collective(const CollectiveTable& table) {
    if (table.message || table.nodes > 1) {
      left_out.insert(table.message ? "messages" : "collectives across nodes");
      return;
    }
    const CollectiveShape shape{.kind = table.kind,
                                .group = {.ranks = table.ranks, .nodes = 1, .ranks_per_node = table.ranks}};
    for (const CollectiveTable::Row& row : table.rows) {
      CollectiveShape sized = shape;
      sized.payload = Bytes(row.bytes);
      add(fmt::format("{} of {} ranks", name_of_collective(table), table.ranks), ">= 1 MB", row.bytes >= kLargeBytes,
          cost::collective_time(sized, eight_gpu_node(profile), profile), Seconds(row.seconds));
    }
  }
};

}  // namespace

cost::Profile of_brief_runs(cost::Profile profile) {
  for (auto& [precision, gemm] : profile.gemm) std::visit([](auto& law) { law.sustained_factor = 1; }, gemm.law);
  profile.attention.sustained_factor = 1;
  return profile;
}

ErrorSummary summarised(const std::vector<double>& predicted_over_measured) {
  if (predicted_over_measured.empty()) return {};
  std::vector<double> signed_errors, sizes;
  for (const double ratio : predicted_over_measured) {
    signed_errors.push_back(ratio - 1);
    sizes.push_back(std::abs(ratio - 1));
  }
  std::sort(signed_errors.begin(), signed_errors.end());
  std::sort(sizes.begin(), sizes.end());
  const std::size_t count = sizes.size();
  return {.rows = count,
          .median = sizes[count / 2],
          .p90 = sizes[std::min(count - 1, count * 9 / 10)],
          .bias = signed_errors[count / 2]};
}

ProfileCheck check_profile(const cost::Profile& profile, const measured::Samples& samples,
                           const cost::ServingLaws* serving) {
  const cost::Profile brief = of_brief_runs(profile);
  Checking checking{.profile = brief, .sustained = profile, .serving = serving};
  for (const auto& sample : samples.gemms) checking.product(sample);
  for (const auto& sample : samples.attention) checking.attention(sample);
  for (const auto& sample : samples.kernels) checking.kernel(sample);
  for (const auto& sample : samples.layers) checking.layer(sample);
  for (const auto& sample : samples.exchanges) checking.exchange(sample);
  for (const auto& sample : samples.decodes) checking.decode(sample);
  for (const auto& sample : samples.experts) checking.expert_layer(sample);
  for (const auto& sample : samples.small_all_reduces) checking.small_all_reduce(sample);
  for (const CollectiveTable& table : collective_tables(samples)) checking.collective(table);
  ProfileCheck check;
  for (const auto& [precision, ratios] : checking.large_products) check.precisions[precision] = summarised(ratios);
  for (const bool large : {true, false})
    for (const auto& [key, ratios] : checking.ratios)
      if (key.second == large)
        check.classes.push_back(
            {key.first, large ? checking.large_means.at(key.first) : "smaller", summarised(ratios)});
  check.left_out.assign(checking.left_out.begin(), checking.left_out.end());
  return check;
}

}  // namespace foretoken::fit
