// What recipes are fitted on: measured tables, rows of them, and parts of other profiles.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "calibration/fit/recipes/place.h"
#include "calibration/import/csv.h"
#include "sim/base/kernel.h"

namespace foretoken::fit {

/// A measured table: a file of the repository, or one that is gathered in a folder because it is public elsewhere.
struct Input {
  std::filesystem::path path{};  ///< of a file of the repository; empty: gathered
  std::string sha256{}, source{}, form{};
  Place place{};
};

using Inputs = std::map<std::string, Input>;

/// Rows of an input.
struct Rows {
  std::string table{};
  measured::RowChoice choice{};
  std::string less{};                ///< a column of time to take off
  std::optional<GemmPass> layout{};  ///< of every row, whatever the table says
  Place place{};
};

/// A part that another profile has too.
struct FromProfile {
  std::string profile{};
  Place place{};
};

}  // namespace foretoken::fit
