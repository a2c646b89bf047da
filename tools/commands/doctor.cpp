// The command `foretoken doctor`: says what is installed, where data come from, and which costs are not measured.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
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

// Returns the memory of this machine, and the free part of it.
std::pair<Bytes, Bytes> memory_and_free() {
  const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {Bytes(page * static_cast<double>(::sysconf(_SC_PHYS_PAGES))),
          Bytes(page * static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)))};
}

std::string program_lines(const report::Paint& paint) {
  const auto [memory, free] = memory_and_free();
  return fmt::format("foretoken {}\n", version()) + entry(paint, "compiler", __VERSION__) +
         entry(paint, "threads", fmt::format("{}", std::thread::hardware_concurrency())) +
         entry(paint, "memory",
               fmt::format("{}, {} of it free", report::binary_bytes(memory), report::binary_bytes(free)));
}

// A folder of data: its path and the files of each kind in it.
struct DataRoot {
  fs::path path;
  std::vector<std::pair<std::string_view, std::size_t>> files;  // "models", 39
};

std::vector<DataRoot> data_roots() {
  std::vector<DataRoot> roots;
  for (const fs::path& path : io::data_roots()) {
    DataRoot& root = roots.emplace_back(DataRoot{path, {}});
    for (const io::DataKind& kind : kKinds)
      if (const std::size_t files = files_in(path, kind); files > 0) root.files.emplace_back(kind.folder, files);
  }
  return roots;
}

// Returns $FORETOKEN_DATA, or nothing when it is not set.
std::optional<std::string> own_data() {
  const char* const own = std::getenv("FORETOKEN_DATA");
  if (own == nullptr || *own == '\0') return std::nullopt;
  return io::text_of_path(own);
}

std::string data_lines(const report::Paint& paint) {
  std::string text = "Data  of folders that have the same name, the first counts\n";
  text += entry(paint, "FORETOKEN_DATA", own_data().value_or("not set"));
  for (const DataRoot& root : data_roots()) {
    std::vector<std::string> counts;
    for (const auto& [folder, files] : root.files) counts.push_back(fmt::format("{} in {}", files, folder));
    text += entry(paint, "folder",
                  fmt::format("{}: {}", io::text_of_path(root.path),
                              counts.empty() ? "no data" : fmt::format("{}", fmt::join(counts, ", "))));
  }
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

// Returns the names of all profiles by the origin of their 16-bit products.
std::map<Origin, std::vector<std::string>> profiles_by_origin() {
  std::map<Origin, std::vector<std::string>> profiles;
  for (const std::string& name : io::list_names(io::kProfiles)) {
    const io::Document document = open_data_file(io::kProfiles, name, "foretoken profiles show");
    io::Findings findings;
    const cost::Profile profile = io::read_profile(document.root(findings));
    findings.throw_if_wrong();
    profiles[origin_of_products(profile)].push_back(name);
  }
  return profiles;
}

std::string profile_lines(const report::Paint& paint) {
  std::string text = paint.paragraph(
      "Profiles  ", "by the origin of their 16-bit matrix products; `foretoken profiles show NAME` has all");
  for (const auto& [origin, names] : profiles_by_origin())
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

nlohmann::ordered_json doctor_json() {
  using Json = nlohmann::ordered_json;
  const auto [memory, free] = memory_and_free();
  Json page = {{"version", version()},
               {"compiler", __VERSION__},
               {"threads", std::thread::hardware_concurrency()},
               {"memory_bytes", memory.value()},
               {"free_memory_bytes", free.value()}};
  const auto own = own_data();
  page["foretoken_data"] = own ? Json(*own) : Json(nullptr);
  Json& folders = page["data"] = Json::array();
  for (const DataRoot& root : data_roots()) {
    Json& files =
        folders.emplace_back(Json{{"folder", io::text_of_path(root.path)}, {"files", Json::object()}})["files"];
    for (const auto& [folder, count] : root.files) files[std::string(folder)] = count;
  }
  Json& profiles = page["profiles"] = Json::array();
  for (const auto& [origin, names] : profiles_by_origin())
    profiles.push_back({{"products", origin.name},
                        {"scaled_from", origin.from.empty() ? Json(nullptr) : Json(origin.from)},
                        {"names", names}});
  Json& helpers = page["other_programs"] = Json::object();
  for (const Helper& helper : kHelpers) {
    const auto file = program_of(helper.name);
    helpers[helper.name] = file ? Json(io::text_of_path(*file)) : Json(nullptr);
  }
  return page;
}

int run_doctor(bool json) {
  if (const auto wrong = io::wrong_data_folder()) throw ConfigError({{"FORETOKEN_DATA", "", *wrong}});
  if (json) {
    print(doctor_json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
    return 0;
  }
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
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print it as one JSON object");
  command->footer("Examples:\n  foretoken doctor\n");
  command->callback([&chosen, json] { chosen = [json] { return run_doctor(*json); }; });
}

}  // namespace foretoken::tools
