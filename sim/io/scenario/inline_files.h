// Makes a scenario independent of other files: the files that it refers to become parts of it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace foretoken::io {

/// Replaces every reference to a file of the user (model, cluster, gpu, profile, runtime, measured_collectives,
/// the file of a schedule, and bases of these) by the contents of the file. Names of shipped data stay. The scenario
/// then means the same on another machine. References that cannot be read stay as they are. Relative paths start at
/// `folder`.
void inline_files(nlohmann::json& scenario, const std::filesystem::path& folder);

}  // namespace foretoken::io
