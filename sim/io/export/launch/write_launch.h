// Writes a job as a launch file of a training framework, and names what the file cannot say.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/export/launch/facts.h"
#include "sim/job/job.h"

namespace foretoken::io {

/// A framework whose launch files can be written.
struct LaunchFormat {
  std::string_view name;       ///< "megatron"
  std::string_view framework;  ///< "Megatron-LM"
  std::string_view extension;  ///< ".sh"
  std::string (*write)(const job::Job& job, const nlohmann::json& scenario);
  bool encoders = false;          ///< writes encoders, too
  bool encoder_decoders = false;  ///< writes them, too
};

/// Returns all formats, Megatron-LM's first.
[[nodiscard]] const std::vector<LaunchFormat>& launch_formats();
[[nodiscard]] const LaunchFormat* launch_format_named(std::string_view name);

/// Returns the format of the software that a runtime stands for ("deepspeed-zero3-2021": Megatron-DeepSpeed); nothing
/// where that software has no launch files here, such as FSDP in a script of one's own.
[[nodiscard]] const LaunchFormat* launch_format_of_runtime(std::string_view runtime);

/// A launch file as a text.
struct ExportedLaunch {
  std::string text{};
  std::vector<Difference> lost{};     ///< facts that reading the file back gives otherwise
  std::vector<std::string> unread{};  ///< why the file cannot be read back; nothing is known to be kept then
};

/// Writes the job, reads the text back as an import would, and compares. `scenario` is the question that the job was
/// made of; its cluster, profile, runtime and run stand in comments "# foretoken: KEY=VALUE", because launches state no
/// machine.
[[nodiscard]] ExportedLaunch export_launch(const LaunchFormat& format, const job::Job& job,
                                           const nlohmann::json& scenario);

/// Returns the lines "# foretoken: KEY=VALUE" of a scenario.
[[nodiscard]] std::string own_lines_of(const nlohmann::json& scenario, int gpus);

}  // namespace foretoken::io
