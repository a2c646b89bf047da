// Reads NCCL's environment variables, NAME=VALUE one after another.
#include "calibration/fit/collectives/nccl_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "sim/base/error.h"
#include "sim/base/parse_number.h"

namespace foretoken::fit {
namespace {

constexpr std::array<std::string_view, 4> kWithoutEffect = {"NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS",
                                                            "NCCL_IB_QPS_PER_CONNECTION", "QPS"};

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

// Returns one of `all` by the name that NCCL gives it, in upper or lower case.
template <class T>
std::optional<T> named(std::string_view value, std::initializer_list<T> all) {
  for (const T one : all)
    if (upper(name_of(one)) == upper(value)) return one;
  return std::nullopt;
}

// Returns the fault of a setting, or an empty text when it was taken.
std::string take(std::string_view name, std::string_view value, NcclEnvironment& found) {
  using enum cost::NcclAlgorithm;
  using enum cost::NcclProtocol;
  if (name == "NCCL_ALGO") {
    found.settings.algorithm = named(value, {kTree, kRing, kNvls, kNvlsTree, kPat});
    return found.settings.algorithm ? "" : "expected Tree, Ring, NVLS, NVLSTree or PAT";
  }
  if (name == "NCCL_PROTO") {
    found.settings.protocol = named(value, {kLl, kLl128, kSimple});
    return found.settings.protocol ? "" : "expected LL, LL128 or Simple";
  }
  const std::optional<int> count = parse_number<int>(value, 0);
  if (!count) return "expected a whole number";
  if (name == "NCCL_NVLS_ENABLE")
    found.settings.nvls = *count != 0;
  else if (name == "NCCL_NCHANNELS_PER_NET_PEER" && *count > 0)
    found.message_channels = count;
  else if (std::ranges::find(kWithoutEffect, name) == kWithoutEffect.end())
    return "expected a setting whose effect on flows is known";
  return "";
}

}  // namespace

NcclEnvironment read_nccl_environment(const std::string& environment, const std::string& table) {
  NcclEnvironment found;
  std::istringstream words(environment);
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view all = word;
    const std::string wrong =
        equals == word.size() ? "expected NAME=VALUE" : take(all.substr(0, equals), all.substr(equals + 1), found);
    if (!wrong.empty()) throw ConfigError({{table, "/env", fmt::format("{}, found \"{}\"", wrong, word)}});
  }
  return found;
}

}  // namespace foretoken::fit
