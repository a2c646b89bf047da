// foretoken calibrate fit: samples in, a profile out.
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
#include "tools/commands/calibrate_commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/text/describe.h"
#include "tools/text/profile_page.h"

namespace foretoken::tools {
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

// The profile that lends: the one that was asked for, else the nearest of those that ship.
fit::Candidate lender(const Options& options, const fit::FitRequest& request, const measured::Samples& samples) {
  if (!options.base.empty()) return candidate_of(options.base);
  std::vector<fit::Candidate> candidates;
  for (const std::string& name : io::list_names(io::kProfiles)) candidates.push_back(candidate_of(name));
  const auto best = fit::nearest(candidates, request.gpu, request.datasheet, samples);
  if (!best)
    throw ConfigError({{"--gpu " + printable(options.gpu, 60), "",
                        fmt::format("no datasheet of this GPU and no products among the samples: expected --base with "
                                    "the profile of the GPU most like it; there are {}",
                                    fmt::join(io::list_names(io::kProfiles), ", "))}});
  return candidates[*best];
}

int run(const Options& options) {
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
  OutputFile file(options.out);
  const measured::Samples samples = samples_of(options.samples);
  for (const std::string& note : samples.notes) print_error("note: " + note);
  fit::Candidate base = lender(options, request, samples);
  request.base = std::move(base.profile);
  request.base_datasheet = std::move(base.datasheet);
  const cost::Profile profile = fit::fit_profile(samples, request);
  if (!fit::has_fitted_part(profile, request.base))
    throw ConfigError(
        {{kAsker, "",
          fmt::format("expected samples enough for at least one part, found {}; docs/modeller/calibration.md says "
                      "what each part wants",
                      counts_of(samples))}});
  file.write(io::to_json_text(profile));
  file.finish();
  file.commit();
  std::string text = profile_page(profile, report::Paint(wants_colour(options.colour))) + '\n';
  if (!request.datasheet)
    text += report::paragraph(
        "  ",
        fmt::format("No file topologies/gpus/{}.json says the GPU's datasheet: peak and multiprocessors are guesses "
                    "in the proportions of {}, of which only their product with the efficiency was measured.",
                    request.gpu, request.base.gpu));
  print(text + report::paragraph("  ", fmt::format("Written to {}. A scenario takes it with \"profile\": \"{}\".",
                                                   options.out, options.out)));
  return 0;
}

}  // namespace

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
  const auto options = std::make_shared<Options>();
  CLI::App* command = calibrate.add_subcommand("fit", "A profile from samples");
  command->footer(
      "What the samples do not cover is lent by the profile of the most similar GPU and marked as scaled.\n\n"
      "Examples:\n"
      "  foretoken calibrate fit --gpu h200-sxm5-141gb samples/my-node -o h200-mine.json\n"
      "  foretoken calibrate fit --gpu my-gpu.json products.csv reduce.log --link 450 -o profile.json\n");
  command
      ->add_option(
          "SAMPLES", options->samples,
          "Folders or files of samples, *.csv tables of products, attention or quantisation, or nccl-tests' output")
      ->required();
  command
      ->add_option("--gpu", options->gpu, "The GPU: a name, or the file of its datasheet (as topologies/gpus/*.json)")
      ->required()
      ->type_name("NAME");
  command->add_option("-o,--out", options->out, "The profile")->required()->type_name("FILE");
  command
      ->add_option("--base", options->base, "The profile that lends; default: of the same GPU, else of the nearest one")
      ->type_name("PROFILE");
  command->add_flag("--pcie", options->pcie, "Collectives inside a node ran over PCIe, not NVLink");
  command->add_option("--link", options->link, "GB/s of a GPU's links, each way; default the lender's")
      ->check(number_between(1e-3, kMostGigabytes))
      ->type_name("GB/s");
  command->add_option("--nic", options->nic, "GB/s of all NICs of a node, each way; needed for samples across nodes")
      ->check(number_between(1e-3, kMostGigabytes))
      ->type_name("GB/s");
  command->add_option("--nics", options->nics, "NICs of a node (8)")->check(whole_number(1, kMostNics))->type_name("N");
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools
