// foretoken-calibrate: measures this machine's GPU, its links and its host, into files of samples.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "calibration/import/import.h"
#include "calibration/measure/datasheet.h"
#include "calibration/measure/gpu/attention/fused_attention.h"
#include "calibration/measure/gpu/benches.h"
#include "calibration/measure/gpu/collectives.h"
#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/sensors.h"
#include "calibration/measure/launcher.h"
#include "calibration/measure/plan.h"
#include "calibration/measure/session.h"
#include "calibration/measure/summary.h"
#include "sim/base/error.h"

namespace foretoken::gpu {
namespace {

namespace fs = std::filesystem;
using measure::Outcome;

constexpr int kInterrupted = 130;  // the status that a shell reports for SIGINT
const std::vector<std::string> kParts{"gemm", "kernels", "attention", "layers", "host", "collectives"};

struct Options {
  std::string part;
  fs::path out;
  bool quick = false;
  std::optional<double> minutes;
  int gpu_index = 0;
};

/// The state of one invocation.
struct Run {
  const Options& options;
  Device device;
  measured::Provenance origin;
  measure::PlanSize size;
  measure::StopSignals& signals;

  [[nodiscard]] measure::Session session(std::optional<double> minutes) const {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    measure::Session session;
    session.stopped = [this] { return signals.asked(); };
    session.elapsed = [begin] { return std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin); };
    if (minutes) session.longest = std::chrono::seconds(static_cast<std::int64_t>(*minutes * 60));
    session.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    return session;
  }
  [[nodiscard]] measure::SampleFile file(const std::string& part) const {
    return {options.out / (part + ".jsonl"), origin};
  }
};

/// Measures the long runs that show the clocks under load. They come first: the shares of time must not cut them.
Outcome measure_sustained(const Run& run, Workbench& bench, const CublasLt& library, measure::SampleFile& file,
                          const measure::Session& session) {
  if (!Sensors(run.device.bus_id).available())
    session.say("clocks: libnvidia-ml.so.1 is not available: rates without clock, power and temperature");
  for (const Precision precision : {Precision::kBf16, Precision::kFp8}) {
    if (precision == Precision::kFp8 && !run.size.fp8) continue;
    if (file.has_clocks_of(sustained_work(precision))) continue;
    const Seconds length(run.options.quick ? 1 : 5);
    for (const auto& sample : sustained_run(bench, library, precision, length, [&run] { return run.signals.asked(); }))
      file.write(measured::Sample(sample));
    if (run.signals.asked()) return Outcome::kStopped;
  }
  return Outcome::kFinished;
}

Outcome measure_products(const Run& run, const measure::Session& session) {
  Workbench bench(run.device);
  const CublasLt library;
  warm_up(bench, library);
  measure::SampleFile clocks = run.file("clocks");
  if (measure_sustained(run, bench, library, clocks, session) == Outcome::kStopped) return Outcome::kStopped;
  measure::SampleFile file = run.file("gemm");
  const auto plan = measure::gemm_plan(measure::known_models(), run.size);
  return measure::run_plan<measured::GemmSample>(
      "gemm", plan, [&](const measured::GemmSample& s) { return time_gemm(bench, library, s); }, file, session);
}

Outcome measure_kernels(const Run& run, const measure::Session& session) {
  Workbench bench(run.device);
  warm_up(bench, CublasLt());
  measure::SampleFile file = run.file("kernels");
  const auto plan = measure::kernel_plan(Bytes(static_cast<double>(run.device.cache_bytes)), run.size);
  return measure::run_plan<measured::KernelSample>(
      "kernels", plan, [&](const measured::KernelSample& s) { return time_kernel(bench, s); }, file, session);
}

/// Returns the plan for one implementation.
std::vector<measured::AttentionSample> attention_by(const char* implementation, measure::PlanSize size) {
  auto plan = measure::attention_plan(size);
  for (measured::AttentionSample& sample : plan) sample.implementation = implementation;
  return plan;
}

Outcome measure_attention(const Run& run, const measure::Session& session) {
  using measured::AttentionSample;
  Workbench bench(run.device);
  const CublasLt library;
  warm_up(bench, library);
  measure::SampleFile file = run.file("attention");
  if (const std::string why = FusedAttention::missing(); !why.empty()) {
    session.say("attention: not fused, but composed of batched products and a softmax kernel: " + why);
  } else {
    const FusedAttention fused;
    const Outcome outcome = measure::run_plan<AttentionSample>(
        "attention (cuDNN, fused)", attention_by("cudnn", run.size),
        [&](const AttentionSample& s) { return fused.time(bench, s); }, file, session);
    if (outcome != Outcome::kFinished) return outcome;
  }
  return measure::run_plan<AttentionSample>(
      "attention (composed)", attention_by("composed", run.size),
      [&](const AttentionSample& s) { return time_composed_attention(bench, library, s); }, file, session);
}

Outcome measure_layers(const Run& run, const measure::Session& session) {
  Workbench bench(run.device);
  const CublasLt library;
  warm_up(bench, library);
  measure::SampleFile file = run.file("layers");
  return measure::run_plan<measured::LayerSample>(
      "layers", measure::layer_plan(run.size),
      [&](const measured::LayerSample& s) { return time_layer(bench, library, s); }, file, session);
}

Outcome measure_host(const Run& run, const measure::Session& session) {
  Workbench bench(run.device);
  warm_up(bench, CublasLt());
  measure::SampleFile file = run.file("host");
  return measure::run_plan<measured::HostSample>(
      "host", host_plan(run.options.quick), [&](const measured::HostSample& s) { return time_host(bench, s); }, file,
      session);
}

Outcome measure_links(const Run& run, const measure::Session& session) {
  measure::SampleFile file = run.file("collectives");
  const int devices = usable_devices();
  const Outcome outcome = measure_collectives(devices, run.size, file, session);
  check(cudaSetDevice(run.device.index), "cudaSetDevice");
  return outcome;
}

Outcome measure_part(const std::string& part, const Run& run, std::optional<double> minutes) {
  const measure::Session session = run.session(minutes);
  if (part == "gemm") return measure_products(run, session);
  if (part == "kernels") return measure_kernels(run, session);
  if (part == "attention") return measure_attention(run, session);
  if (part == "layers") return measure_layers(run, session);
  if (part == "host") return measure_host(run, session);
  return measure_links(run, session);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw ConfigError({{folder.string(), "", fmt::format("cannot be created: {}", error.message())}});
}

int report(const Run& run, bool stopped, bool time_up) {
  if (fs::exists(run.options.out) && !fs::is_empty(run.options.out)) {
    const auto datasheet = measure::datasheet_of(run.device.name, Bytes(static_cast<double>(run.device.memory_bytes)),
                                                 measure::known_gpus());
    fmt::print("{}", measure::summary_text(measured::import_samples(run.options.out), datasheet));
  }
  if (time_up) fmt::print("The time was up before the plan ended. Run the same command again to continue.\n");
  if (stopped) fmt::print("Stopped. Run the same command again to continue.\n");
  return stopped ? kInterrupted : 0;
}

int measure_here(const Options& options, measure::StopSignals& signals) {
  const int devices = usable_devices();
  if (options.gpu_index >= devices)
    throw ConfigError({{"--gpu-index", "", fmt::format("expected 0 to {}, found {}", devices - 1, options.gpu_index)}});
  const Device device = open_device(options.gpu_index);
  const Run run{options, device, provenance_of(device), {.quick = options.quick, .fp8 = device.has_fp8()}, signals};
  make_folder(options.out);
  const std::vector<std::string> parts = options.part == "all" ? kParts : std::vector<std::string>{options.part};
  const auto shares = measure::share_minutes(parts, options.minutes.value_or(0));
  bool time_up = false;
  for (const auto& [part, minutes] : shares) {
    const Outcome outcome = measure_part(part, run, options.minutes ? std::optional(minutes) : std::nullopt);
    time_up = time_up || outcome == Outcome::kTimeUp;
    if (outcome == Outcome::kStopped) return report(run, true, time_up);
  }
  return report(run, false, time_up);
}

int measure_job(const Options& options, const measure::JobPlace& place, measure::StopSignals& signals) {
  if (options.part != "collectives")
    throw ConfigError(
        {{options.part, "", "one process per GPU measures collectives only; run this part with one process"}});
  const int devices = usable_devices();
  const Device device = open_device(place.local_rank % devices);
  make_folder(options.out);
  const Job job(place, options.out);
  const Run run{options, device, provenance_of(device), {.quick = options.quick, .fp8 = device.has_fp8()}, signals};
  const measure::Session session = run.session(options.minutes);
  if (place.rank != 0) {
    (void)measure_job_collectives(job, run.size, nullptr, session);
    return 0;
  }
  measure::SampleFile file = run.file("collectives");
  const Outcome outcome = measure_job_collectives(job, run.size, &file, session);
  return report(run, outcome == Outcome::kStopped, outcome == Outcome::kTimeUp);
}

int run_program(int argc, char** argv) {
  Options options;
  CLI::App app("Measures this machine's GPU, its links and its host, into files of samples for a profile.");
  std::vector<std::string> parts = kParts;
  parts.emplace_back("all");
  app.add_option("part", options.part, "Measure this part")->required()->check(CLI::IsMember(parts));
  app.add_option("--out", options.out, "Write samples to this folder; continue an earlier run there")->required();
  app.add_flag("--quick", options.quick, "Measure a twentieth of the shapes: minutes, not an hour");
  app.add_option("--minutes", options.minutes, "Stop after this many minutes")->check(CLI::PositiveNumber);
  app.add_option("--gpu-index", options.gpu_index, "Measure this one of the visible GPUs")
      ->check(CLI::NonNegativeNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  measure::StopSignals signals;  // before CUDA starts its threads
  const auto place = measure::job_place(measure::process_environment);
  return place ? measure_job(options, *place, signals) : measure_here(options, signals);
}

}  // namespace
}  // namespace foretoken::gpu

int main(int argc, char** argv) {
  try {
    return foretoken::gpu::run_program(argc, argv);
  } catch (const foretoken::ConfigError& error) {
    fmt::print(stderr, "{}\n", error.what());
  } catch (const std::exception& error) {  // GpuError and the standard library's
    fmt::print(stderr, "foretoken-calibrate: {}\n", error.what());
  }
  return 2;
}
