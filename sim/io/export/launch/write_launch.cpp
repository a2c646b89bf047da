// Writes launch files and reads them back.
#include "sim/io/export/launch/write_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/io/export/launch/formats.h"
#include "sim/io/import/launch/own_lines.h"
#include "sim/io/import/launch/read_launch.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {

const std::vector<LaunchFormat>& launch_formats() {
  static const std::vector<LaunchFormat> kFormats = {{"megatron", "Megatron-LM", ".sh", write_megatron, true, true},
                                                     {"bridge", "Megatron-Bridge", ".yaml", write_bridge},
                                                     {"deepspeed", "Megatron-DeepSpeed", ".sh", write_deepspeed, true},
                                                     {"torchtitan", "torchtitan", ".toml", write_torchtitan},
                                                     {"nanotron", "nanotron", ".yaml", write_nanotron}};
  return kFormats;
}

const LaunchFormat* launch_format_named(std::string_view name) {
  const auto found = std::ranges::find(launch_formats(), name, &LaunchFormat::name);
  return found == launch_formats().end() ? nullptr : &*found;
}

const LaunchFormat* launch_format_of_runtime(std::string_view runtime) {
  constexpr std::pair<std::string_view, std::string_view> kStarts[] = {
      {"megatron-deepspeed", "deepspeed"}, {"deepspeed", "deepspeed"}, {"megatron", "megatron"}, {"nemo", "megatron"},
      {"torchtitan", "torchtitan"},        {"nanotron", "nanotron"}};
  for (const auto& [start, format] : kStarts)
    if (runtime.starts_with(start)) return launch_format_named(format);
  return nullptr;
}

std::string own_lines_of(const nlohmann::json& scenario, int gpus) {
  std::string lines;
  for (const std::string_view key : launch::kOwnKeys) {
    const auto found = scenario.find(std::string(key));
    if (key == "gpus")
      lines += fmt::format("{}gpus={}\n", launch::kOwnLine, gpus);
    else if (found != scenario.end() && !found->is_null())
      lines += fmt::format("{}{}={}\n", launch::kOwnLine, key,
                           found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return lines;
}

ExportedLaunch export_launch(const LaunchFormat& format, const job::Job& job, const nlohmann::json& scenario) {
  ExportedLaunch exported;
  if (job.model.encoder_decoder && !format.encoder_decoders) {
    exported.unread = {"an encoder-decoder; foretoken export megatron writes one"};
    return exported;
  }
  if (job.model.encoder && !format.encoders) {
    exported.unread = {"an encoder; foretoken export megatron writes one"};
    return exported;
  }
  exported.text = format.write(job, scenario);
  Findings findings;
  launch::Launch asked;
  asked.allow = {"all"};
  const launch::Report report =
      launch::read_launch_text(exported.text, "launch" + std::string(format.extension), asked, findings);
  for (const Complaint& complaint : findings.complaints.listed()) exported.unread.push_back(complaint.message);
  for (const launch::Refused& one : report.refused) exported.unread.push_back(one.setting + ": " + one.because);
  for (const launch::Asked& one : report.asked) exported.unread.push_back("missing " + one.key + ": " + one.because);
  if (!exported.unread.empty()) return exported;
  try {
    exported.lost = differences(job, read_scenario_text(report.scenario.dump(), "the exported launch").job);
  } catch (const ConfigError& error) {
    for (const Complaint& complaint : error.complaints())
      exported.unread.push_back(complaint.pointer + " " + complaint.message);
  }
  return exported;
}

}  // namespace foretoken::io
