// Writes the launch of a configuration.
#include "tools/text/launch_line.h"

#include <fmt/format.h>

#include <sstream>

#include "sim/io/export/launch/megatron_flags.h"
#include "sim/io/export/launch/write_launch.h"
#include "sim/report/text/text.h"
#include "tools/options/command_line.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;

/// The launch of a configuration in the words of its runtime's software.
struct RuntimeLaunch {
  const io::LaunchFormat* format = nullptr;  ///< Megatron-LM's where the runtime has none
  io::ExportedLaunch exported;
  std::vector<std::string> remarks;
};

bool is_megatron(const io::LaunchFormat& format) { return format.name == "megatron"; }

RuntimeLaunch launch_of(const study::FoundConfiguration& found) {
  const job::Job& job = found.scenario;
  const io::LaunchFormat* const own = io::launch_format_of_runtime(job.runtime.name);
  RuntimeLaunch launch;
  launch.format = own != nullptr ? own : io::launch_format_named("megatron");
  launch.exported = io::export_launch(*launch.format, job, nlohmann::json::parse(found.text));
  if (own == nullptr)
    launch.remarks.push_back(fmt::format(
        "Runtime {} has no launch file here: these are Megatron-LM's flags for the same layout. Sharding and "
        "offloading stand in your own script.",
        job.runtime.name));
  if (is_megatron(*launch.format)) {
    for (std::string& remark : io::megatron_remarks(job)) launch.remarks.push_back(std::move(remark));
    return launch;
  }
  const std::string_view framework = launch.format->framework;
  for (const io::Difference& one : launch.exported.lost)
    launch.remarks.push_back(
        fmt::format("{} cannot say {} = {}; read back it is {}", framework, one.key, one.before, one.after));
  for (const std::string& one : launch.exported.unread)
    launch.remarks.push_back(fmt::format("{} cannot say this: {}", framework, one));
  return launch;
}

// The file without the comments that hold the machine. It has no indent, which would change a here document.
std::string plain_file(const std::string& file) {
  std::string text;
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with('#') && !(line.empty() && text.empty())) text += line + '\n';
  return text;
}

}  // namespace

std::string launch_line_text(const study::FoundConfiguration& found, const report::Paint& paint) {
  const RuntimeLaunch launch = launch_of(found);
  std::string text = report::title_text(std::string(launch.format->framework),
                                        "the best configuration; add data, tokenizer and learning rate", paint);
  text += is_megatron(*launch.format) ? shell_lines(io::megatron_command(found.scenario), 2, paint.columns())
                                      : plain_file(launch.exported.text);
  for (const std::string& remark : launch.remarks) text += paint.paragraph("  ! ", remark);
  return text;
}

Json launch_line_json(const study::FoundConfiguration& found) {
  const RuntimeLaunch launch = launch_of(found);
  Json lost = Json::array();
  for (const io::Difference& one : launch.exported.lost)
    lost.push_back({{"key", one.key}, {"scenario", one.before}, {"launch", one.after}});
  return {{"format", launch.format->name},
          {"launch", launch.exported.text},
          {"megatron", io::megatron_command(found.scenario)},
          {"remarks", launch.remarks},
          {"lost", std::move(lost)},
          {"scenario", Json::parse(found.text)}};
}

}  // namespace foretoken::tools
