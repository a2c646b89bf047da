// What the readers of launch files share: texts, complaints, and the way from a file to the reader of its kind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/io/import/launch/read_launch.h"

namespace foretoken::io::launch {

constexpr const char* kExpected =
    "expected a launch of Megatron-LM, NeMo, DeepSpeed, torchtitan or another framework of docs/user/import.md";

/// Adds a complaint about the file `path`.
void complain(Findings& findings, const std::filesystem::path& path, std::string message);

/// Returns the text of a launch file, or nothing with a complaint: it is no regular file, no text, or too large.
[[nodiscard]] std::optional<std::string> text_of(const std::filesystem::path& path, Findings& findings);

/// Returns the number of GPUs that --gpus or --set states.
[[nodiscard]] std::optional<std::int64_t> stated_gpus(const Launch& launch);

/// Reads `text`, the content of `path`, by the reader of its kind.
void read_text(const std::filesystem::path& path, const std::string& text, const Launch& launch, Report& report,
               Findings& findings);

/// Reads documents of GPT-NeoX that are merged.
void read_several(const Launch& launch, Report& report, Findings& findings);

}  // namespace foretoken::io::launch
