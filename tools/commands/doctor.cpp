// The command `foretoken doctor`: says what is installed, where data come from, and which costs are not measured.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sim/cost/parts.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/json/data_path.h"
#include "sim/report/text/layout.h"
#include "sim/report/text/number.h"
#include "tools/commands.h"
#include "tools/output/output.h"
#include "tools/text/describe.h"

namespace foretoken::tools {
namespace doctor_command {
namespace {

namespace fs = std::filesystem;

constexpr std::array kKinds{io::kScenarios, io::kModels,   io::kClusters,           io::kGpus,
                            io::kProfiles,  io::kRuntimes, io::kMeasuredCollectives};

std::size_t files_in(const fs::path& root, const io::DataKind& kind) {
  std::size_t files = 0;
  std::error_code error;
  for (fs::directory_iterator at(root / kind.folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".json") ++files;
  return files;
}

// Returns "42 in scenarios, 39 in models, ...", or "no data".
std::string data_words(const fs::path& root) {
  std::vector<std::string> counts;
  for (const io::DataKind& kind : kKinds)
    if (const std::size_t files = files_in(root, kind); files > 0)
      counts.push_back(fmt::format("{} in {}", files, kind.folder));
  return counts.empty() ? "no data" : fmt::format("{}", fmt::join(counts, ", "));
}

std::string program_lines(const report::Paint& paint) {
  const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const Bytes memory(page * static_cast<double>(::sysconf(_SC_PHYS_PAGES))),
      free(page * static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)));
  return fmt::format("foretoken {}\n", version()) + entry(paint, "compiler", __VERSION__) +
         entry(paint, "threads", fmt::format("{}", std::thread::hardware_concurrency())) +
         entry(paint, "memory",
               fmt::format("{}, {} of it free", report::binary_bytes(memory), report::binary_bytes(free)));
}

std::string data_lines(const report::Paint& paint) {
  std::string text = "Data  of folders that have the same name, the first counts\n";
  const char* const own = std::getenv("FORETOKEN_DATA");
  text += entry(paint, "FORETOKEN_DATA", own == nullptr || *own == '\0' ? "not set" : io::text_of_path(own));
  for (const fs::path& root : io::data_roots())
    text += entry(paint, "folder", fmt::format("{}: {}", io::text_of_path(root), data_words(root)));
  return text;
}

// The origin of costs, and the profile that they are scaled from.
struct Origin {
  std::string name, from;
  friend auto operator<=>(const Origin&, const Origin&) = default;
};

Origin origin_of_products(const cost::Profile& profile) {
  for (const auto& [precision, gemm] : profile.gemm)
    if (bits_per_element(precision) == 16)
      return {std::string(cost::name_of(gemm.evidence.provenance)), gemm.evidence.scaled_from};
  return {"none", ""};
}

std::string profile_lines(const report::Paint& paint) {
  std::map<Origin, std::vector<std::string>> profiles;
  for (const std::string& name : io::list_names(io::kProfiles)) {
    const io::Document document = open_data_file(io::kProfiles, name, "foretoken profiles show");
    io::Findings findings;
    const cost::Profile profile = io::read_profile(document.root(findings));
    findings.throw_if_wrong();
    profiles[origin_of_products(profile)].push_back(name);
  }
  std::string text = paint.paragraph(
      "Profiles  ", "by the origin of their 16-bit matrix products; `foretoken profiles show NAME` has all");
  for (const auto& [origin, names] : profiles)
    text += entry(
        paint, origin.name,
        fmt::format("{}{}", origin.from.empty() ? "" : fmt::format("from {}: ", origin.from), fmt::join(names, ", ")));
  return text;
}

// Returns the first executable of this name in $PATH.
std::optional<fs::path> program_of(std::string_view name) {
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const fs::path file = fs::path(rest.substr(0, end)) / name;
    std::error_code error;
    if (fs::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

struct Helper {
  const char* name;
  const char* use;
};
constexpr std::array kHelpers{Helper{"nvidia-smi", "shows the GPUs that calibration can measure"},
                              Helper{"nvcc", "builds the measuring programs (-DFORETOKEN_MEASURE=ON)"},
                              Helper{"dot", "draws what `clusters show --dot` writes"},
                              Helper{"chromium", "tests the report"}};

std::string helper_lines(const report::Paint& paint) {
  std::string text = "Other programs  none of them is needed for predictions\n";
  for (const Helper& helper : kHelpers) {
    const auto file = program_of(helper.name);
    text += entry(paint, helper.name, fmt::format("{}; {}", file ? io::text_of_path(*file) : "not found", helper.use));
  }
  return text;
}

int run_doctor() {
  if (const auto wrong = io::wrong_data_folder()) throw ConfigError({{"FORETOKEN_DATA", "", *wrong}});
  const report::Paint paint = page_paint("never");
  print(program_lines(paint) + '\n' + data_lines(paint) + '\n' + profile_lines(paint) + '\n' + helper_lines(paint));
  return 0;
}

}  // namespace
}  // namespace doctor_command

void add_doctor(CLI::App& program, Action& chosen) {
  using namespace doctor_command;
  CLI::App* command =
      program.add_subcommand("doctor", "Say what is installed, where data come from, and what is not measured");
  command->footer("Examples:\n  foretoken doctor\n");
  command->callback([&chosen] { chosen = run_doctor; });
}

}  // namespace foretoken::tools
