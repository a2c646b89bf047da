// The command `foretoken calibrate fit`: makes a profile from samples.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "calibration/fit/profiles/fit_profile.h"
#include "calibration/import/import.h"
#include "sim/base/text.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/hardware/read_cluster.h"
#include "tools/commands/calibrate/calibrate_commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/output/progress_line.h"
#include "tools/text/describe.h"
#include "tools/text/profile_page.h"

namespace foretoken::tools {
namespace calibrate_fit_command {
namespace {

constexpr const char* kAsker = "foretoken calibrate fit";
constexpr double kMostGigabytes = 1e6;
constexpr int kMostNics = 1024;

struct Options {
  std::vector<std::string> samples;
  std::string gpu, out, base, colour;
  double link = 0, nic = 0;
  int nics = 8;
  bool pcie = false;
};

net::Gpu gpu_of(const std::string& name) {
  const io::Document document = open_data_file(io::kGpus, name, kAsker);
  io::Findings findings;
  net::Gpu gpu = io::read_gpu(document.root(findings));
  findings.throw_if_wrong();
  return gpu;
}

std::optional<net::Gpu> find_gpu(const std::string& name) {
  return io::find_data_file(io::kGpus, name) ? std::optional(gpu_of(name)) : std::nullopt;
}

fit::Candidate candidate_of(const std::string& name) {
  const io::Document document = open_data_file(io::kProfiles, name, kAsker);
  io::Findings findings;
  fit::Candidate candidate{.profile = io::read_profile(document.root(findings))};
  findings.throw_if_wrong();
  candidate.datasheet = find_gpu(candidate.profile.gpu);
  return candidate;
}

// Returns the profile that fills the gaps: the one of --base, else the nearest shipped one.
fit::Candidate base_of(const Options& options, const fit::FitRequest& request, const measured::Samples& samples) {
  if (!options.base.empty()) return candidate_of(options.base);
  std::vector<fit::Candidate> candidates;
  for (const std::string& name : io::list_names(io::kProfiles)) candidates.push_back(candidate_of(name));
  const auto best = fit::nearest(candidates, request.gpu, request.datasheet, samples);
  if (!best)
    throw ConfigError({{"--gpu " + printable(options.gpu, 60), "",
                        "no datasheet of this GPU and no products among the samples; expected --base with the profile "
                        "of the most similar GPU: foretoken profiles list"}});
  return candidates[*best];
}

// Returns the request as the options state it. The base is still missing: it may depend on the samples.
fit::FitRequest request_of(const Options& options) {
  fit::FitRequest request{.gpu = options.gpu, .base = {}};
  if (io::is_path(options.gpu)) {
    request.datasheet = gpu_of(options.gpu);
    request.gpu = request.datasheet->name;
  } else {
    request.datasheet = find_gpu(options.gpu);
  }
  request.over_pcie = options.pcie;
  request.link_gb_per_s = options.link;
  request.nic_gb_per_s = options.nic;
  request.nics = options.nics;
  return request;
}

int run(const Options& options) {
  fit::FitRequest request = request_of(options);
  std::vector<std::filesystem::path> inputs(options.samples.begin(), options.samples.end());
  for (const std::string& name : {options.gpu, options.base})
    if (io::is_path(name)) inputs.emplace_back(name);
  refuse_same_files(std::array{NamedFile{"-o", options.out}}, inputs);
  OutputFile file(options.out);
  const measured::Samples samples = samples_of(options.samples);
  for (const std::string& note : samples.notes) print_error("note: " + note);
  fit::Candidate base = base_of(options, request, samples);
  request.base = std::move(base.profile);
  request.base_datasheet = std::move(base.datasheet);
  ProgressLine line;
  const cost::Profile profile = fit::fit_profile(samples, request);
  line.clear();
  if (!fit::has_fitted_part(profile, request.base))
    throw ConfigError(
        {{kAsker, "",
          fmt::format("expected enough samples for at least one part, found {}; docs/modeller/calibration.md lists "
                      "the samples that each part needs",
                      counts_of(samples))}});
  file.write(io::to_json_text(profile));
  file.finish();
  file.commit();
  const report::Paint paint = page_paint(options.colour);
  std::string text = profile_page(profile, paint) + '\n';
  if (!request.datasheet)
    text += paint.paragraph(
        "  ", fmt::format("There is no datasheet topologies/gpus/{}.json. Peak and multiprocessors are guesses in the "
                          "proportions of {}: only their product with the efficiency was measured.",
                          request.gpu, request.base.gpu));
  const std::string written = printable(options.out);
  print(text + paint.paragraph("  ", fmt::format("Written to {}. Use it in a scenario with \"profile\": \"{}\".",
                                                 written, written)));
  return 0;
}

}  // namespace
}  // namespace calibrate_fit_command

measured::Samples samples_of(const std::vector<std::string>& files) {
  measured::Samples all;
  std::vector<Complaint> complaints;
  for (const std::string& file : files) {
    try {
      all.append(measured::import_any(file));
    } catch (const ConfigError& error) {
      complaints.insert(complaints.end(), error.complaints().begin(), error.complaints().end());
    }
  }
  if (!complaints.empty()) throw ConfigError(std::move(complaints));
  return all;
}

void add_calibrate_fit(CLI::App& calibrate, Action& chosen) {
  using namespace calibrate_fit_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = calibrate.add_subcommand("fit", "Make a profile from samples");
  command->footer(
      "A part without samples comes from the profile of the most similar GPU and is marked as scaled.\n\n"
      "Examples:\n"
      "  foretoken calibrate fit --gpu h200-sxm5-141gb samples/my-node -o h200-mine.json\n"
      "  foretoken calibrate fit --gpu my-gpu.json products.csv reduce.log --link 450 -o profile.json\n");
  command
      ->add_option(
          "SAMPLES", options->samples,
          "Folders or files of samples, *.csv tables of products, attention or quantisation, or nccl-tests' output")
      ->required();
  command
      ->add_option("--gpu", options->gpu, "Name of the GPU, or the file of its datasheet (like topologies/gpus/*.json)")
      ->required()
      ->type_name("NAME");
  command->add_option("-o,--out", options->out, "Write the profile here")->required()->type_name("FILE");
  command
      ->add_option("--base", options->base,
                   "Fill gaps from this profile (default: of the same GPU, else of the most similar)")
      ->type_name("PROFILE");
  command->add_flag("--pcie", options->pcie, "Say that collectives inside a node ran over PCIe, not NVLink");
  command->add_option("--link", options->link, "GB/s of a GPU's links, each way (default: of the --base profile)")
      ->check(number_between(1e-3, kMostGigabytes))
      ->type_name("GB/s");
  command->add_option("--nic", options->nic, "GB/s of all NICs of a node, each way; samples across nodes need it")
      ->check(number_between(1e-3, kMostGigabytes))
      ->type_name("GB/s");
  command->add_option("--nics", options->nics, "NICs of a node (8)")->check(whole_number(1, kMostNics))->type_name("N");
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools
