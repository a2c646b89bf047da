// Writes lines as training_log() of Megatron-LM prints them (megatron/training/training.py), and the table of timers as
// megatron/core/timers.py does.
#include "sim/study/diagnose/write_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/hash.h"

namespace foretoken::study {
namespace {

// Draws of a normal distribution, the same on every machine.
class Noise {
 public:
  Noise(std::uint64_t seed, double deviation) : state_(seed), deviation_(deviation) {}
  // Returns a factor around 1 with `part` of the deviation.
  double factor(double part = 1) {
    const double draw = std::sqrt(-2 * std::log(next())) * std::cos(2 * std::numbers::pi * next());
    return std::max(0.5, 1 + part * deviation_ * draw);
  }

 private:
  double next() {
    state_ = hash(state_);
    return (static_cast<double>(state_ >> 11U) + 0.5) * 0x1p-53;
  }
  std::uint64_t state_;
  double deviation_;
};

// Writes seconds after midnight as the clock of a log that starts at 2026-01-01.
std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  const std::int64_t day = whole / 86400;
  return fmt::format("2026-01-{:02} {:02}:{:02}:{:02}.{:06}", 1 + day % 31, whole / 3600 % 24, whole / 60 % 60,
                     whole % 60, static_cast<std::int64_t>((seconds - static_cast<double>(whole)) * 1e6));
}

void add_table(std::string& text, const Signature& signature, double factor, Noise& noise) {
  constexpr std::size_t kColumns = 48;
  constexpr double kOwn = 0.25, kMs = 1e3, kBatch = 0.001;  // handing over a batch takes a thousandth of a step
  text += "(min, max) time across ranks (ms):\n";
  const auto row = [&](std::string_view name, double least, double most) {
    std::string line = "    " + std::string(name) + " ";
    line.append(line.size() < kColumns ? kColumns - line.size() : 1, '.');
    text += fmt::format("{}: ({:.2f}, {:.2f})\n", line, kMs * least, kMs * most);
  };
  for (std::size_t kind = 0; kind < kTimerKinds; ++kind) {
    const Spread& spread = (*signature.timers)[kind];
    const double own = factor * noise.factor(kOwn);
    if (spread.most > Seconds(0))
      row(name_of(static_cast<TimerKind>(kind)), own * spread.least.value(), own * spread.most.value());
  }
  const double batch = kBatch * signature.step.value() * factor * noise.factor();
  row("batch-generator", batch / 2, batch);
}

}  // namespace

std::string training_log_text(const job::Job& job, const Signature& signature, double tflops_per_gpu,
                              const LogStyle& style) {
  constexpr double kFirst = 2;
  Noise noise(style.seed, style.noise);
  std::string text;
  double clock = 0;
  for (int step = 1; step <= style.steps; ++step) {
    const double factor = noise.factor() * (step == 1 ? kFirst : 1);
    const double seconds = factor * signature.step.value();
    clock += seconds;
    text += fmt::format(
        " [{}] iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): {:.1f} | throughput "
        "per "
        "GPU (TFLOP/s/GPU): {:.1f} | global batch size: {:5} |\n",
        clock_text(clock), step, style.steps, step * job.batch.global, 1e3 * seconds, tflops_per_gpu / factor,
        job.batch.global);
    if (style.timers && signature.timers) add_table(text, signature, factor, noise);
  }
  return text;
}

}  // namespace foretoken::study
