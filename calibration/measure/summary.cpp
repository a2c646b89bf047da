// Summarises samples for people.
#include "calibration/measure/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibration/import/layer_work.h"
#include "calibration/import/sample_json.h"
#include "sim/base/noun.h"

namespace foretoken::measure {
namespace {

using measured::Samples;

/// Stores, for each name, the highest rate and the work that reached it.
class Best {
 public:
  void offer(const std::string& name, double rate, const std::string& what) {
    auto& [best, holder] = best_[name];
    if (rate > best) {
      best = rate;
      holder = what;
    }
  }
  [[nodiscard]] const std::map<std::string, std::pair<double, std::string>>& all() const { return best_; }

 private:
  std::map<std::string, std::pair<double, std::string>> best_;
};

std::string share(double value, double peak) {
  return peak > 0 ? fmt::format(" ({:.1f} % of the datasheet's {:.0f})", 100 * value / peak, peak) : std::string();
}

double peak_tflops(const std::optional<net::Gpu>& gpu, const std::string& precision) {
  const auto known = precision_named(precision);
  const auto peak = gpu && known ? gpu->peak_of(*known) : std::nullopt;
  return peak ? peak->value() * 1e-12 : 0;
}

void add_products(const Samples& samples, const std::optional<net::Gpu>& gpu, std::string& text) {
  Best best;
  for (const auto& s : samples.gemms)
    best.offer(std::string(name_of(s.shape.precision)), (s.shape.flop() / s.time.median).value() * 1e-12,
               fmt::format("{} x {} x {}", s.shape.m, s.shape.n, s.shape.k));
  for (const auto& [precision, found] : best.all())
    text += fmt::format("  products   {:<18} best {:.0f} TFLOP/s{} at {}\n", precision, found.first,
                        share(found.first, peak_tflops(gpu, precision)), found.second);
}

void add_clocks(const Samples& samples, std::string& text) {
  std::map<std::string, std::vector<const measured::ClockSample*>> runs;
  for (const auto& s : samples.clocks) runs[s.work].push_back(&s);
  for (const auto& [work, run] : runs) {
    const measured::ClockSample& first = *run.front();
    const measured::ClockSample& last = *run.back();
    text += fmt::format("  sustained  {:<18} {:.0f} TFLOP/s at first, {:.0f} after {:.1f} s", work,
                        first.rate.value() * 1e-12, last.rate.value() * 1e-12, last.at.value());
    if (last.sm_mhz) text += fmt::format(", {:.0f} MHz", *last.sm_mhz);
    if (last.watts) text += fmt::format(", {:.0f} W", *last.watts);
    text += '\n';
  }
}

void add_kernels(const Samples& samples, const std::optional<net::Gpu>& gpu, std::string& text) {
  Best best;
  for (const auto& s : samples.kernels)
    if (s.cold)
      best.offer(s.kernel, (s.bytes / s.time.median).value() * 1e-9, fmt::format("{:.0f} MB", s.bytes.value() * 1e-6));
  const double peak = gpu ? gpu->memory_bandwidth.value() * 1e-9 : 0;
  for (const auto& [kernel, found] : best.all())
    text += fmt::format("  memory     {:<18} best {:.0f} GB/s{} at {}\n", kernel, found.first, share(found.first, peak),
                        found.second);
}

void add_attention(const Samples& samples, std::string& text) {
  Best best;
  for (const auto& s : samples.attention)
    best.offer(fmt::format("{} {}", s.implementation, s.shape.backward ? "backward" : "forward"),
               (s.shape.flop() / s.time.median).value() * 1e-12,
               fmt::format("sequence {}, head dimension {}, {}", s.shape.q_length, s.shape.head_dim,
                           s.shape.causal ? "causal" : "full"));
  for (const auto& [name, found] : best.all())
    text += fmt::format("  attention  {:<18} best {:.0f} TFLOP/s at {}\n", name, found.first, found.second);
}

void add_layers(const Samples& samples, std::string& text) {
  Best best;
  for (const auto& s : samples.layers)
    best.offer(fmt::format("{} {}", measured::name_of(s.family), s.backward ? "backward" : "forward"),
               (measured::flop_of(measured::layer_work(s)) / s.time.median).value() * 1e-12,
               fmt::format("hidden {}, {} tokens, tensor degree {}", s.hidden, s.batch * s.sequence, s.tensor));
  for (const auto& [name, found] : best.all())
    text += fmt::format("  layer      {:<18} best {:.0f} TFLOP/s at {}\n", name, found.first, found.second);
}

void add_collectives(const Samples& samples, std::string& text) {
  Best best;
  for (const auto& s : samples.collectives) {
    const double bus = (s.bytes / s.time.median).value() * 1e-9 * measured::bus_factor(s.kind, s.group.ranks);
    best.offer(fmt::format("{} x{}", measured::name_of(s.kind), s.group.ranks), bus,
               fmt::format("{:.0f} MB", s.bytes.value() * 1e-6));
  }
  for (const auto& [name, found] : best.all())
    text += fmt::format("  collective {:<18} best bus bandwidth {:.0f} GB/s at {}\n", name, found.first, found.second);
}

void add_host(const Samples& samples, std::string& text) {
  Best rates;
  std::map<std::string, Seconds> calls;  // their time does not grow with their bytes
  for (const auto& s : samples.host) {
    if (s.what.ends_with("_call")) {
      Seconds& least = calls.try_emplace(s.what, s.time.median).first->second;
      least = std::min(least, s.time.median);
    } else if (s.bytes.value() > 0)
      rates.offer(s.what, (s.bytes / s.time.median).value() * 1e-9, fmt::format("{:.0f} MB", s.bytes.value() * 1e-6));
    else
      text += fmt::format("  host       {:<18} {:.2f} us\n", s.what, s.time.median.value() * 1e6);
  }
  for (const auto& [what, least] : calls)
    text += fmt::format("  host       {:<18} {:.2f} us\n", what, least.value() * 1e6);
  for (const auto& [what, found] : rates.all())
    text += fmt::format("  host       {:<18} best {:.1f} GB/s at {}\n", what, found.first, found.second);
}

}  // namespace

std::string summary_text(const Samples& samples, const std::optional<net::Gpu>& datasheet) {
  std::string text = fmt::format("{} of {}", with_noun(static_cast<std::int64_t>(samples.size()), "sample"),
                                 samples.origins.empty() ? "no GPU" : samples.origins.back().gpu);
  text += datasheet ? fmt::format(", datasheet {}\n", datasheet->name) : ", no datasheet known\n";
  add_products(samples, datasheet, text);
  add_clocks(samples, text);
  add_kernels(samples, datasheet, text);
  add_attention(samples, text);
  add_layers(samples, text);
  add_collectives(samples, text);
  add_host(samples, text);
  for (const std::string& note : samples.notes) text += "  note: " + note + '\n';
  return text;
}

}  // namespace foretoken::measure
