// The command `foretoken calibrate import`: turns measurements of other tools into samples for `calibrate fit`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "calibration/import/import.h"
#include "calibration/import/sample_lines.h"
#include "sim/base/text.h"
#include "tools/commands/calibrate/calibrate_commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace calibrate_import_command {
namespace {

constexpr int kMostRanks = 1 << 20;

struct Options {
  std::vector<std::string> files;
  std::string out, gpu, collective, precision = "bf16", layout = "TN";
  int ranks = 0, ranks_per_node = 0;
};

std::vector<std::filesystem::path> paths_of(const std::vector<std::string>& files) {
  return {files.begin(), files.end()};
}

void refuse_overwriting(const Options& options) {
  if (options.out != "-") refuse_same_files(std::array{NamedFile{"-o", options.out}}, paths_of(options.files));
}

int write(const measured::Samples& samples, const Options& options) {
  for (const std::string& note : samples.notes) print_error("note: " + note);
  const std::string lines = measured::write_lines(samples);
  const std::string name = options.out.empty() ? "-" : printable(options.out);
  if (samples.size() == 0)
    throw ConfigError({{fmt::format("{}", fmt::join(options.files, ", ")), "", "no samples; nothing is written"}});
  (void)measured::read_lines(lines, name);  // what is written can be read: it throws where it cannot
  if (options.out.empty() || options.out == "-") {
    print(lines);
    return 0;
  }
  write_file(options.out, lines);
  print(fmt::format("{}: {}\n", name, counts_of(samples)));
  return 0;
}

int import_nccl_tests(const Options& options) {
  measured::NcclTestsHints hints{.collective = {}, .ranks = {}, .ranks_per_node = {}, .gpu = options.gpu};
  if (!options.collective.empty()) hints.collective = measured::collective_named(options.collective);
  if (options.ranks > 0) hints.ranks = options.ranks;
  if (options.ranks_per_node > 0) hints.ranks_per_node = options.ranks_per_node;
  return write(measured::import_nccl_tests(paths_of(options.files), hints), options);
}

int import_gemm(const Options& options) {
  measured::GemmCsvHints hints{.gpu = options.gpu, .precision = *precision_named(options.precision)};
  hints.pass = options.layout == "NN"   ? GemmPass::kInputGradient
               : options.layout == "NT" ? GemmPass::kWeightGradient
                                        : GemmPass::kForward;
  return write(measured::import_gemm_csv(options.files.front(), hints), options);
}

int import_samples(const Options& options) { return write(measured::import_samples(options.files.front()), options); }

struct Importer {
  CLI::App* command;
  std::shared_ptr<Options> options;
};

Importer add_importer(CLI::App& import, const char* name, const char* about, Action& chosen,
                      int (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = import.add_subcommand(name, about);
  command->add_option("-o,--out", options->out, "Write the samples here (default: standard output)")->type_name("FILE");
  command->callback([&chosen, options, run] {
    chosen = [options, run] {
      refuse_overwriting(*options);
      return run(*options);
    };
  });
  return {command, options};
}

void add_gpu_option(const Importer& importer) {
  importer.command
      ->add_option("--gpu", importer.options->gpu, "Name of the measured GPU, where the files do not say it")
      ->type_name("NAME");
}

void add_nccl_tests(CLI::App& import, Action& chosen) {
  const Importer importer = add_importer(
      import, "nccl-tests", "Read the output of nccl-tests, printed or written with -J", chosen, import_nccl_tests);
  Options& options = *importer.options;
  importer.command->add_option("FILE", options.files, "Files; one file may hold several runs")->required();
  importer.command
      ->add_option("--collective", options.collective, "Name of the collective, where text and file name lack it")
      ->check(one_of({"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "gather",
                      "scatter", "sendrecv", "hypercube"}))
      ->type_name("NAME");
  importer.command->add_option("--ranks", options.ranks, "Number of GPUs, where a table lists no devices")
      ->check(whole_number(1, kMostRanks))
      ->type_name("N");
  importer.command
      ->add_option("--ranks-per-node", options.ranks_per_node, "Number of GPUs on one node, likewise (default: all)")
      ->check(whole_number(1, kMostRanks))
      ->type_name("N");
  add_gpu_option(importer);
}

void add_gemm(CLI::App& import, Action& chosen) {
  const Importer importer =
      add_importer(import, "gemm", "Read a table of matrix products: m, n, k and a time", chosen, import_gemm);
  Options& options = *importer.options;
  importer.command
      ->add_option("CSV", options.files,
                   "Columns m, n, k, and time_us, time_ms, time_s, latency (ms) or tflops; optional b, dtype, layout, "
                   "accumulate")
      ->required()
      ->expected(1);
  importer.command
      ->add_option("--precision", options.precision, "Precision without a column dtype: fp32, fp16, bf16 or fp8")
      ->check(one_of({"fp32", "fp16", "bf16", "fp8"}))
      ->type_name("NAME");
  importer.command
      ->add_option("--layout", options.layout, "Layout without a column layout: TN forward, NN and NT gradients")
      ->check(one_of({"TN", "NN", "NT"}))
      ->type_name("TN|NN|NT");
  add_gpu_option(importer);
}

void add_samples(CLI::App& import, Action& chosen) {
  const Importer importer =
      add_importer(import, "samples", "Check the samples of foretoken-calibrate and join them", chosen, import_samples);
  importer.command->add_option("DIR", importer.options->files, "A folder of *.jsonl, or one such file")
      ->required()
      ->expected(1);
}

}  // namespace
}  // namespace calibrate_import_command

std::string counts_of(const measured::Samples& samples) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(samples.gemms.size(), "matrix products");
  add(samples.kernels.size(), "memory-bound kernels");
  add(samples.attention.size(), "attention kernels");
  add(samples.layers.size(), "layers");
  add(samples.collectives.size(), "collectives");
  add(samples.host.size(), "host costs");
  add(samples.clocks.size(), "instants of long runs");
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

void add_calibrate_import(CLI::App& calibrate, Action& chosen) {
  using namespace calibrate_import_command;
  CLI::App* command = calibrate.add_subcommand("import", "Turn measurements of other tools into samples: JSON lines");
  command->footer(
      "Examples:\n"
      "  foretoken calibrate import nccl-tests all_reduce.log all_gather.log -o collectives.jsonl\n"
      "  foretoken calibrate import gemm products.csv --precision fp16 -o products.jsonl\n"
      "  foretoken calibrate import samples samples/my-node -o my-node.jsonl\n");
  add_nccl_tests(*command, chosen);
  add_gemm(*command, chosen);
  add_samples(*command, chosen);
}

}  // namespace foretoken::tools
