// Fits the numbers of decode attention: launch, bandwidth, step and sharpness, and in some laws the two of the fill.
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

constexpr double kSharpest = 8;
constexpr double kFirstFill = 10e-6, kFirstFillBytes = 50e6;  // seconds and bytes where the fit begins
/// The fit may take at most these multiples of the datasheet's bandwidth. Small caches stay in the L2 cache, so a
/// little more than memory gives is allowed. Heads that read by themselves share the L2 cache, which gives about twice
/// as much on Hopper (l2_cache in calibration/serving); no fit reached three times.
constexpr double kMostOfMemory = 1.1, kMostOfL2 = 3;
constexpr std::int64_t kShortestCache = 1024, kWidestHead = 256;

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
  const bool of_engine = choice.engine.empty() || sample.engine == choice.engine;
  return sample.kind() == choice.kind && of_engine && !sample.windowed &&
         sample.shape.cached_tokens >= real(kShortestCache) * real(sample.shape.sequences);
}

cost::DecodeLaw decode_law(const Arguments& logs, DecodeForm form, BytesPerSecond bandwidth) {
  const BytesPerSecond most = (form.each_head ? kMostOfL2 : kMostOfMemory) * bandwidth;
  cost::DecodeLaw law{.launch = Seconds(std::exp(logs[0])),
                      .bandwidth = std::min(BytesPerSecond(std::exp(logs[1])), most),
                      .step = Seconds(std::exp(logs[2])),
                      .sharpness = std::min(kSharpest, 1 + std::exp(logs[3])),
                      .each_head = form.each_head};
  if (form.fills) {
    law.fill = Seconds(std::exp(logs[4]));
    law.fill_bytes = Bytes(std::exp(logs[5]));
  }
  return law;
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

/// The rows that a law is fitted on.
DecodeRows of_the_fit(const DecodeRows& rows) {
  DecodeRows fitted;
  for (const DecodeRow& row : rows)
    if (!row.held_out) fitted.push_back(row);
  return fitted;
}

}  // namespace

DecodeRows decode_rows(const measured::Samples& samples, const DecodeChoice& choice) {
  DecodeRows rows;
  for (const measured::From<measured::DecodeSample>& sample : samples.decodes)
    if (counts(sample, choice))
      rows.push_back({.shape = sample.shape,
                      .time = sample.time.median.value(),
                      .shared = sample.shared(),
                      .held_out = is_left_out(sample.shape, sample.latent),
                      .origin = sample.origin});
  return rows;
}

double decode_misfit(const DecodeRows& rows, const cost::DecodeLaw& law) {
  std::vector<double> errors;
  for (const DecodeRow& row : rows)
    if (!row.held_out) errors.push_back(std::abs(std::log(decode_error(row, law))));
  return median_misfit(std::move(errors));
}

// A law of the median has several valleys. The search begins at several launches, and takes the deepest.
cost::DecodeLaw fit_decode_rows(const DecodeRows& rows, DecodeForm form, BytesPerSecond bandwidth,
                                const DecodeSearch& search) {
  const DecodeRows few = thinned(of_the_fit(rows), search.most_rows);
  const auto misfit = [&](const Arguments& logs) { return decode_misfit(few, decode_law(logs, form, bandwidth)); };
  Arguments best;
  for (const double launch : search.launches) {
    Arguments start{std::log(launch), std::log(0.8 * bandwidth.value()), std::log(0.5e-6), 0};
    if (form.fills) start.insert(start.end(), {std::log(kFirstFill), std::log(kFirstFillBytes)});
    Arguments found = minimise(misfit, std::move(start), 0.3, search.evaluations);
    if (best.empty() || misfit(found) < misfit(best)) best = std::move(found);
  }
  cost::DecodeLaw law = decode_law(best, form, bandwidth);
  std::vector<double> errors;
  for (const DecodeRow& row : rows)
    if (row.held_out) errors.push_back(std::abs(decode_error(row, law) - 1));
  law.evidence = {.provenance = cost::Provenance::kFitted,
                  .samples = static_cast<int>(rows.size() - errors.size()),
                  .held_out = static_cast<int>(errors.size()),
                  .median_error = decode_quantile(errors, 0.5),
                  .p90_error = decode_quantile(errors, 0.9)};
  return law;
}

std::optional<cost::DecodeLaw> fit_decode(const measured::Samples& samples, const DecodeChoice& choice,
                                          BytesPerSecond bandwidth) {
  DecodeRows rows = decode_rows(samples, choice);
  std::erase_if(rows, [](const DecodeRow& row) { return row.shape.value_dim > kWidestHead; });
  if (rows.size() < kFewestDecodes) return std::nullopt;
  return fit_decode_rows(rows, {}, bandwidth, {});
}

}  // namespace foretoken::fit
