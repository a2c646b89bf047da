// Places in a recipe file, for complaints that come up during the fit.
#pragma once

#include <string>

#include "sim/base/error.h"

namespace foretoken::fit {

struct Place {
  std::string file{}, pointer{};
};

/// Throws a ConfigError with one complaint.
[[noreturn]] inline void refuse(const Place& place, std::string message) {
  throw ConfigError({{place.file, place.pointer, std::move(message)}});
}

}  // namespace foretoken::fit
