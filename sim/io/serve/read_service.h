// Reads a question about serving: a file, a name of a shipped one, or a text.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/io/json/data_path.h"
#include "sim/serve/service.h"

namespace foretoken::io {

inline constexpr DataKind kServices{"serving question", "scenarios/serve"};
inline constexpr DataKind kEngines{"engine", "calibration/engines"};

/// Returns the file that a question is read from: the path itself, or that of a shipped name. Nothing: there is none.
[[nodiscard]] std::optional<std::filesystem::path> service_file(const std::filesystem::path& path);

/// Returns true when `argument` is a question about serving and not a scenario of training: a shipped name, or a JSON
/// file that has "requests" itself or builds on such a question.
[[nodiscard]] bool is_service(const std::string& argument);

/// Reads and checks a question with the overrides of `sets`. Throws ConfigError with every complaint.
[[nodiscard]] serve::Service read_service_file(const std::filesystem::path& path,
                                               std::span<const std::string> sets = {});
[[nodiscard]] serve::Service read_service_text(std::string_view text, const std::string& origin,
                                               std::span<const std::string> sets = {});

}  // namespace foretoken::io
