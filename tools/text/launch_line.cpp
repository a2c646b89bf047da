// Writes the launch line of a configuration.
#include "tools/text/launch_line.h"

#include <fmt/format.h>

#include "sim/io/export/launch/megatron_flags.h"
#include "sim/io/export/launch/write_launch.h"
#include "sim/report/text/text.h"
#include "tools/options/command_line.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;

io::ExportedLaunch exported_line(const study::FoundConfiguration& found) {
  return io::export_launch(*io::launch_format_named("megatron"), found.scenario, nlohmann::json::parse(found.text));
}

}  // namespace

std::string launch_line_text(const study::FoundConfiguration& found, const report::Paint& paint) {
  std::string text =
      report::title_text("Megatron-LM", "the best configuration; add data, tokenizer and learning rate", paint);
  text += shell_lines(io::megatron_command(found.scenario), 2, paint.columns());
  for (const std::string& remark : io::megatron_remarks(found.scenario)) text += paint.paragraph("  ! ", remark);
  return text;
}

Json launch_line_json(const study::FoundConfiguration& found) {
  Json lost = Json::array();
  for (const io::Difference& one : exported_line(found).lost)
    lost.push_back({{"key", one.key}, {"scenario", one.before}, {"launch", one.after}});
  return {{"megatron", io::megatron_command(found.scenario)},
          {"remarks", io::megatron_remarks(found.scenario)},
          {"lost", std::move(lost)},
          {"scenario", Json::parse(found.text)}};
}

}  // namespace foretoken::tools
