// Finds the framework of a launch, and completes the scenario that its reader makes.
#include "sim/io/import/launch/read_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/check_shape.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/mlperf/read_mlperf.h"
#include "sim/io/import/launch/nanotron/read_nanotron.h"
#include "sim/io/import/launch/shell/script.h"
#include "sim/io/import/launch/toml/read_toml.h"
#include "sim/io/import/launch/torchtitan/primus.h"
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"
#include "sim/io/json/set_value.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;

/// A launch file is a few kilobytes; a larger one is something else.
constexpr std::uintmax_t kLargestLaunch = 4 << 20;

constexpr const char* kExpected =
    "expected a launch of Megatron-LM (a script, a model_config.yaml, or arguments behind --), an MLPerf config_*.sh, "
    "a "
    "TOML file of torchtitan, or a YAML file of nanotron";

void complain(Findings& findings, const fs::path& path, std::string message) {
  findings.complaints.push_back({printable(path.string()), "", std::move(message)});
}

std::optional<std::string> text_of(const fs::path& path, Findings& findings) {
  std::error_code error;
  // Reading a pipe may wait for ever.
  const bool other = fs::exists(path, error) && !fs::is_regular_file(path, error) && !fs::is_directory(path, error);
  if (other) {
    complain(findings, path, "not a regular file; copy it into a file first");
    return std::nullopt;
  }
  if (fs::is_regular_file(path, error) && fs::file_size(path, error) > kLargestLaunch) {
    complain(findings, path,
             fmt::format("expected at most {} MiB, found {} bytes; {}", kLargestLaunch >> 20,
                         fs::file_size(path, error), kExpected));
    return std::nullopt;
  }
  auto text = read_text_file(path, printable(path.string()), findings);
  if (!text) return text;
  if (text->size() > kLargestLaunch || text->find('\0') != text->npos) {
    complain(findings, path, std::string("not a text; ") + kExpected);
    return std::nullopt;
  }
  return text;
}

// Words up to the first flag are the script's own arguments.
std::pair<std::vector<std::string>, std::vector<std::string>> parted(const std::vector<std::string>& words) {
  const auto first = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with("--"); });
  return {{words.begin(), first}, {first, words.end()}};
}

void read_script_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                      Findings& findings) {
  const auto [arguments, flags] = parted(launch.words);
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  const auto script = shell::read_script_text(text, printable(path.filename().string()), folder,
                                              {launch.variables, arguments}, findings);
  if (!script) return;
  if (mlperf::is_mlperf_script(*script)) return mlperf::read_mlperf(*script, path, report);
  if (megatron::is_megatron_script(*script)) return megatron::read_launch_script(*script, report);
  complain(findings, path, std::string("the script starts no training that can be read; ") + kExpected);
}

// The number that --gpus or --set states.
std::optional<std::int64_t> stated_gpus(const Launch& launch) {
  constexpr std::string_view kKey = "gpus=";
  std::optional<std::int64_t> gpus;
  for (const std::string& set : launch.sets)
    if (set.starts_with(kKey)) gpus = whole_of(std::string_view(set).substr(kKey.size()));
  return gpus && *gpus > 0 ? gpus : std::nullopt;
}

void read_yaml_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                    Findings& findings) {
  const auto document = read_yaml(text, printable(path.string()), findings);
  if (!document) return;
  if (document->is_object() && document->contains("MODEL_ARGS"))
    return megatron::read_functional_test(*document, fs::absolute(path).lexically_normal().generic_string(), report);
  if (torchtitan::is_primus(*document))
    return torchtitan::read_torchtitan(torchtitan::unwrapped(*document, path, report), stated_gpus(launch), report);
  if (nanotron::is_nanotron(*document)) return nanotron::read_nanotron(*document, report);
  complain(findings, path, std::string("it belongs to no framework that can be read; ") + kExpected);
}

void read_toml_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                    Findings& findings) {
  const auto document = read_toml(text, printable(path.string()), findings);
  if (!document) return;
  if (torchtitan::is_torchtitan(*document)) return torchtitan::read_torchtitan(*document, stated_gpus(launch), report);
  complain(findings, path, std::string("it belongs to no framework that can be read; ") + kExpected);
}

void read_file(const fs::path& path, const Launch& launch, Report& report, Findings& findings) {
  const auto text = text_of(path, findings);
  if (!text) return;
  const std::string extension = path.extension().string();
  if (extension == ".yaml" || extension == ".yml") return read_yaml_file(path, *text, launch, report, findings);
  if (extension == ".toml") return read_toml_file(path, *text, launch, report, findings);
  if (extension == ".sh" || extension == ".slurm" || extension == ".sbatch" || text->starts_with("#!"))
    return read_script_file(path, *text, launch, report, findings);
  complain(findings, path, fmt::format("unknown kind of file {}; {}", in_quotes(extension), kExpected));
}

// The user's own values win. Their paths start at the current folder.
void apply_sets(const Launch& launch, Report& report, Findings& findings) {
  nlohmann::json scenario = report.scenario;
  for (const std::string& set : launch.sets) apply_set(scenario, set, findings);
  for (const std::string& set : launch.sets) {
    const std::string key = set.substr(0, set.find('='));
    report.mapped.push_back(
        {printable(key, 80), printable(set.substr(std::min(set.size(), key.size() + 1)), 80), "the command line"});
  }
  report.scenario = scenario;
}

}  // namespace

Report read_launch(const Launch& launch, Findings& findings) {
  Report report;
  if (launch.files.empty()) {
    megatron::read_arguments(arguments_of(launch.words, "the command line"), report);
    report.scenario["name"] = "an imported command line";
  } else {
    for (const fs::path& path : launch.files) read_file(path, launch, report, findings);
    report.scenario["name"] = printable(launch.files.front().stem().string());
  }
  if (!findings.complaints.empty()) return report;
  apply_sets(launch, report, findings);
  complete_scenario(report);
  report.allow(launch.allow);
  return report;
}

bool is_launch_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  for (const char* known : {".sh", ".slurm", ".sbatch", ".yaml", ".yml", ".toml"})
    if (extension == known) return true;
  return false;
}

}  // namespace foretoken::io::launch
