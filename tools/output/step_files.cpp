// Writes the files of one simulated step.
#include "tools/output/step_files.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/draw/gantt_svg.h"
#include "sim/report/chakra.h"
#include "sim/report/gantt.h"
#include "sim/report/kineto.h"
#include "sim/report/trace.h"
#include "sim/study/diagnose/write_log.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/output/gzip.h"

namespace foretoken::tools {
namespace {

using Sink = std::function<void(std::string_view)>;

report::TraceInput trace_input(const study::Prediction& prediction, const std::string& fidelity) {
  return {.step = prediction.step,
          .run = prediction.run,
          .memory = prediction.memory,
          .metrics = prediction.metrics,
          .version = std::string(version()),
          .fidelity = fidelity};
}

void write_step_trace(const study::Prediction& prediction, const std::string& fidelity, const Sink& sink) {
  report::write_trace(trace_input(prediction, fidelity), sink);
}

void make_folder(const std::string& option, const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path))
    throw ConfigError({{printable(path), "", fmt::format("{} names a folder, and none can be made there", option)}});
}

void write_step_chart(const study::Prediction& prediction, const Sink& sink) {
  sink(draw::gantt_svg({report::gantt_of(prediction.step.workload, prediction.run, prediction.job.name)}));
}

void write_step_log(const study::Prediction& prediction, std::uint64_t seed, const Sink& sink) {
  const report::Metrics& metrics = prediction.metrics;
  const study::Signature signature = study::signature_of(prediction.job, metrics.bias_factor());
  sink(study::training_log_text(prediction.job, signature, metrics.megatron_log_tflops_per_gpu, {.seed = seed}));
}

}  // namespace

void add_step_file_options(CLI::App& command, StepFiles& files) {
  command.add_option("--trace", files.trace, "Write a timeline for Perfetto; NAME.gz is compressed")->type_name("FILE");
  command.add_option("--svg", files.svg, "Write a Gantt chart")->type_name("FILE");
  CLI::Option* log =
      command.add_option("--log", files.log, "Write the log of a run of 100 such steps, with noise of 1 %")
          ->type_name("FILE");
  command.add_option("--log-seed", files.log_seed, "Draw the noise of --log from this seed")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->needs(log)
      ->type_name("N");
  command
      .add_option("--kineto", files.kineto,
                  "Write traces as the PyTorch profiler does: rank-N.json, for one rank of each stage")
      ->type_name("FOLDER");
  command
      .add_option("--chakra", files.chakra,
                  "Write Chakra execution traces: step.N.et for every rank, and step.groups.json")
      ->type_name("FOLDER");
}

std::vector<NamedFile> named_files(const StepFiles& files) {
  return {{"--trace", files.trace},
          {"--svg", files.svg},
          {"--log", files.log},
          {"--kineto", files.kineto},
          {"--chakra", files.chakra}};
}

StepFileWriter::StepFileWriter(const StepFiles& files, std::string fidelity)
    : kineto_(files.kineto), chakra_(files.chakra), fidelity_(std::move(fidelity)) {
  const auto open = [&](const std::string& path, auto content) {
    if (path.empty()) return;
    opened_.push_back({std::make_unique<OutputFile>(path), is_gzip_name(path), std::move(content)});
  };
  open(files.trace, [words = fidelity_](const study::Prediction& prediction, const Sink& sink) {
    write_step_trace(prediction, words, sink);
  });
  open(files.svg, write_step_chart);
  open(files.log, [seed = files.log_seed](const study::Prediction& prediction, const Sink& sink) {
    write_step_log(prediction, seed, sink);
  });
}

void StepFileWriter::write(const study::Prediction& prediction) {
  for (const Opened& each : opened_) {
    if (!each.gzip) {
      each.content(prediction, [&](std::string_view text) { each.file->write(text); });
      continue;
    }
    Gzip gzip;
    each.content(prediction, [&](std::string_view text) { each.file->write(gzip.add(text)); });
    each.file->write(gzip.finish());
  }
  if (!kineto_.empty()) write_kineto_folder(prediction);
  if (!chakra_.empty()) write_chakra_folder(prediction);
  for (const Opened& each : opened_) each.file->finish();
  for (const Opened& each : opened_) each.file->commit();
}

void StepFileWriter::write_kineto_folder(const study::Prediction& prediction) const {
  make_folder("--kineto", kineto_);
  const net::RankGrid grid = prediction.job.grid();
  for (const Stage stage : ids<Stage>(prediction.job.parallelism.pipeline)) {
    OutputFile file(fmt::format("{}/rank-{}.json", kineto_, grid.rank_of(stage, StageRank{0}).number()));
    report::write_kineto(trace_input(prediction, fidelity_), prediction.job, stage,
                         [&](std::string_view text) { file.write(text); });
    file.finish();
    file.commit();
  }
}

void StepFileWriter::write_chakra_folder(const study::Prediction& prediction) const {
  constexpr double kMostTraceNodes = 20e6;  // some two gigabytes
  report::ChakraTraces traces(prediction.job, prediction.step, std::string(version()));
  if (traces.nodes() > kMostTraceNodes)
    throw ConfigError({{"--chakra", "",
                        fmt::format("the traces of {} ranks would have {:.0f} million nodes; expected at most {:.0f} "
                                    "million, try fewer GPUs or --fidelity stage",
                                    prediction.job.gpus, traces.nodes() / 1e6, kMostTraceNodes / 1e6)}});
  make_folder("--chakra", chakra_);
  for (const Rank rank : ids<Rank>(prediction.job.gpus))
    write_file(fmt::format("{}/step.{}.et", chakra_, rank.number()), traces.trace_of(rank));
  write_file(chakra_ + "/step.groups.json", traces.groups_json());
}

}  // namespace foretoken::tools
