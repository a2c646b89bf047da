// The command `foretoken clusters import`: makes a cluster file from the link table that a machine prints.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/hardware/read_cluster.h"
#include "sim/io/import/machine_cluster.h"
#include "sim/io/json/parse_json.h"
#include "tools/commands.h"
#include "tools/options/lines.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/text/describe.h"

namespace foretoken::tools {
namespace import_cluster_command {
namespace {

constexpr const char* kAsker = "foretoken clusters import";

struct Options {
  std::string file, gpu, fabric, name, out;
  std::vector<std::string> nics;
  double nic_gb_per_s = 0, pcie_gb_per_s = 0;  // 0: not given
  int domain_gpus = 0;
};

std::string text_of(const Options& options, const std::string& shown, io::Findings& findings) {
  if (options.file == "-") return read_standard_input();
  return io::read_text_file(options.file, shown, findings).value_or("");
}

// Returns a name as it is, and a path as an absolute one: the cluster file must work from every folder.
std::string reference_of(const std::string& name) {
  return io::is_path(name) ? std::filesystem::absolute(name).lexically_normal().string() : name;
}

io::MachineChoices choices_of(const Options& options, const nlohmann::json* fabric) {
  io::MachineChoices choices;
  choices.name = !options.name.empty() ? options.name
                 : options.file == "-" ? "imported"
                                       : printable(std::filesystem::path(options.file).stem().string());
  choices.gpu = reference_of(options.gpu);
  choices.fabric = fabric;
  choices.nics = options.nics;
  if (options.nic_gb_per_s > 0) choices.nic_rate = gigabytes_per_second(options.nic_gb_per_s);
  if (options.pcie_gb_per_s > 0) choices.pcie = gigabytes_per_second(options.pcie_gb_per_s);
  if (options.domain_gpus > 0) choices.domain_gpus = options.domain_gpus;
  return choices;
}

nlohmann::ordered_json imported(const Options& options) {
  io::Findings findings;
  const std::string shown = options.file == "-" ? "-" : printable(options.file);
  const std::string text = text_of(options, shown, findings);
  findings.throw_if_wrong();
  const io::Document gpu_file = open_data_file(io::kGpus, options.gpu, kAsker);
  const net::Gpu gpu = io::read_gpu(gpu_file.root(findings));
  nlohmann::json fabric;
  if (!options.fabric.empty()) {
    const io::Document like = open_data_file(io::kClusters, options.fabric, kAsker);
    const io::Node found = like.root(findings).object("fabric");
    io::check_fabric(found);
    findings.throw_if_wrong();
    fabric = found.value();
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool xml = first != std::string::npos && text[first] == '<';
  const std::optional<int> links = gpu.nvlink ? std::optional(gpu.nvlink->count) : std::nullopt;
  const auto machine =
      xml ? io::read_topology_xml(text, shown, findings) : io::read_topology_matrix(text, shown, links, findings);
  findings.throw_if_wrong();
  nlohmann::ordered_json cluster =
      io::cluster_of(*machine, gpu, choices_of(options, fabric.is_object() ? &fabric : nullptr), shown, findings);
  findings.throw_if_wrong();
  return cluster;
}

// A reference as a path: of a name, the file that it stands for.
std::filesystem::path file_of(const io::DataKind& kind, const std::string& name) {
  if (io::is_path(name)) return name;
  return io::find_data_file(kind, name).value_or(std::filesystem::path());
}

int run(const Options& options) {
  refuse_same_files(std::array{NamedFile{"-o", options.out}},
                    std::array{std::filesystem::path(options.file), file_of(io::kGpus, options.gpu),
                               file_of(io::kClusters, options.fabric)});
  const std::string text = io::compact_text(imported(options));
  // The new file is read back at once, so that no later command refuses it.
  io::Findings findings;
  auto document = io::document_from_text(text, kAsker, findings);
  findings.throw_if_wrong();
  const report::Paint paint = page_paint("never");
  const std::string page = described_clusters().page(*document, findings, paint);
  findings.throw_if_wrong();
  if (options.out.empty()) {
    print(text);
    return 0;
  }
  write_file(options.out, text);
  print(page + entry(paint, "notes", document->value.value("notes", "")) +
        entry(paint, "file", printable(options.out)));
  return 0;
}

constexpr const char* kExamples =
    "Examples:\n"
    "  nvidia-smi topo -m | foretoken clusters import - --gpu a100-sxm4-80gb --nic-gb-per-s 25 \\\n"
    "      --fabric dgx-a100-80gb-hdr --name mine -o mine.json\n"
    "  NCCL_TOPO_DUMP_FILE=topo.xml ./all_reduce_perf -g 8\n"
    "  foretoken clusters import topo.xml --gpu h100-sxm5-80gb \\\n"
    "      --fabric dgx-h100-ndr -o mine.json\n"
    "  foretoken simulate gpt3-175b-1024-a100 --set cluster=mine.json\n";

}  // namespace
}  // namespace import_cluster_command

void add_cluster_import(CLI::App& clusters, Action& chosen) {
  using namespace import_cluster_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = clusters.add_subcommand(
      "import", "Make a cluster file from one node's `nvidia-smi topo -m` or NCCL topology dump");
  command->footer(kExamples);
  constexpr double kLeast = 1e-3, kMost = 1e6;  // GB/s, as in cluster files
  constexpr int kMostGpus = 65536;
  command->add_option("FILE", options->file, "The matrix or the XML; - reads standard input")->required();
  command->add_option("--gpu", options->gpu, "GPU of the node: a name of topologies/gpus or a file")
      ->required()
      ->type_name("NAME");
  command
      ->add_option("--nic-gb-per-s", options->nic_gb_per_s,
                   "Rate of a NIC in one direction, where FILE has none or a wrong one")
      ->check(number_between(kLeast, kMost))
      ->type_name("GB/S");
  command
      ->add_option("--pcie-gb-per-s", options->pcie_gb_per_s,
                   "Rate of a GPU's slot, instead of the rate of FILE or of the GPU")
      ->check(number_between(kLeast, kMost))
      ->type_name("GB/S");
  command->add_option("--nics", options->nics, "NICs that carry training (default: those nearest to a GPU)")
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_option("--fabric", options->fabric, "Take the network above the nodes from this cluster")
      ->type_name("CLUSTER");
  command->add_option("--domain-gpus", options->domain_gpus, "GPUs of an NVLink domain across nodes (NVL72: 72)")
      ->check(whole_number(1, kMostGpus))
      ->type_name("N");
  command->add_option("--name", options->name, "Name of the cluster (default: the name of FILE)")->type_name("NAME");
  command->add_option("-o,--out", options->out, "Write the cluster here and print a summary")->type_name("FILE");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools
