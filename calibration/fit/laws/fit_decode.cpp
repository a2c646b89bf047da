// Fits four numbers of decode attention: launch, bandwidth, step and sharpness.
#include "calibration/fit/laws/fit_decode.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kFewestDecodes = 100, kMostDecodes = 700;  // of a fit
constexpr double kSharpest = 8;
constexpr std::int64_t kShortestCache = 1024, kWidestHead = 256;

struct DecodeRow {
  cost::DecodeShape shape;
  double time = 0;
};

/// FNV-1a, 32 bits.
std::uint32_t fnv(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 16777619U;
  return hash;
}

bool is_left_out(const cost::DecodeShape& shape, bool latent) {
  const double cached = shape.cached_tokens / real(shape.sequences);
  std::string text =
      std::to_string(shape.sequences) + "," + std::to_string(std::llround(cached)) + "," + std::to_string(shape.heads);
  if (!latent) text += "," + std::to_string(shape.kv_heads) + "," + std::to_string(shape.key_dim);
  return fnv(text) % 5 == 0;
}

bool counts(const measured::DecodeSample& sample, const DecodeChoice& choice) {
  const bool plain = sample.latent || sample.shape.key_dim <= kWidestHead;
  const std::int64_t shared = sample.shared();
  const bool shares = sample.latent || (choice.fewest_shared <= shared && shared <= choice.most_shared);
  const bool of_engine = choice.engine.empty() || sample.engine == choice.engine;
  return sample.kind() == choice.kind && of_engine && plain && shares && !sample.windowed &&
         sample.shape.cached_tokens >= real(kShortestCache) * real(sample.shape.sequences);
}

cost::DecodeLaw decode_law(const Arguments& logs) {
  return {.launch = Seconds(std::exp(logs[0])),
          .bandwidth = BytesPerSecond(std::exp(logs[1])),
          .step = Seconds(std::exp(logs[2])),
          .sharpness = std::min(kSharpest, 1 + std::exp(logs[3]))};
}

double decode_error(const DecodeRow& row, const cost::DecodeLaw& law) {
  return cost::decode_attention_time(row.shape, law).value() / row.time;
}

/// Returns the value that `share` of the values do not exceed.
double decode_quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto place = std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return values[place];
}

double decode_misfit(const std::vector<DecodeRow>& rows, const cost::DecodeLaw& law) {
  std::vector<double> errors;
  for (const DecodeRow& row : rows) errors.push_back(std::abs(std::log(decode_error(row, law))));
  return median_misfit(std::move(errors));
}

/// A law of the median has several valleys. The search starts from three launches, and takes the deepest.
template <typename Misfit>
Arguments best_of_starts(const Misfit& misfit, BytesPerSecond bandwidth) {
  Arguments best;
  for (const double launch : {4e-6, 8e-6, 16e-6}) {
    Arguments found = minimise(misfit, {std::log(launch), std::log(0.8 * bandwidth.value()), std::log(0.5e-6), 0}, 0.3);
    if (best.empty() || misfit(found) < misfit(best)) best = std::move(found);
  }
  return best;
}

}  // namespace

std::optional<cost::DecodeLaw> fit_decode(const measured::Samples& samples, const DecodeChoice& choice,
                                          BytesPerSecond bandwidth) {
  std::vector<DecodeRow> fitted, left_out;
  for (const measured::DecodeSample& sample : samples.decodes) {
    if (!counts(sample, choice)) continue;
    std::vector<DecodeRow>& rows = is_left_out(sample.shape, sample.latent) ? left_out : fitted;
    rows.push_back({sample.shape, sample.time.median.value()});
  }
  if (fitted.size() + left_out.size() < kFewestDecodes) return std::nullopt;
  const std::vector<DecodeRow> few = thinned(fitted, kMostDecodes);
  const auto misfit = [&](const Arguments& logs) { return decode_misfit(few, decode_law(logs)); };
  cost::DecodeLaw law = decode_law(best_of_starts(misfit, bandwidth));
  std::vector<double> errors;
  for (const DecodeRow& row : left_out) errors.push_back(std::abs(decode_error(row, law) - 1));
  law.evidence = {.provenance = cost::Provenance::kFitted,
                  .samples = static_cast<int>(fitted.size()),
                  .held_out = static_cast<int>(left_out.size()),
                  .median_error = decode_quantile(errors, 0.5),
                  .p90_error = decode_quantile(errors, 0.9)};
  return law;
}

}  // namespace foretoken::fit
