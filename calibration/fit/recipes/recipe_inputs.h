// The inputs of recipes: measured tables, rows of them, and parts of other profiles.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "calibration/fit/recipes/place.h"
#include "calibration/import/csv.h"
#include "sim/base/kernel.h"

namespace foretoken::fit {

/// A measured table: a file of the repository, or a file that is public elsewhere and that the user puts into a folder.
struct Input {
  std::filesystem::path path{};  ///< of a file of the repository; empty for a file in the user's folder
  std::string sha256{}, source{}, form{};
  Place place{};
};

using Inputs = std::map<std::string, Input>;

/// Chosen rows of an input.
struct Rows {
  std::string table{};
  measured::RowChoice choice{};
  std::string less{};                ///< a column of time that is subtracted from each row's time
  std::optional<GemmPass> layout{};  ///< of every row, whatever layout the table states
  Place place{};
};

/// The profile from which a part is taken.
struct FromProfile {
  std::string profile{};
  Place place{};
};

}  // namespace foretoken::fit
