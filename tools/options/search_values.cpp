// Reads the option values of searches: sizes, objectives and schedules.
#include "tools/options/search_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::tools {
namespace {

using search::Objective;

constexpr int kMostNumber = 1 << 20;
constexpr std::array kObjectives{Objective::kStepTime, Objective::kCost, Objective::kGpus, Objective::kMemory};

[[noreturn]] void refuse(const char* option, const std::string& text, const std::string& message) {
  throw ConfigError({{fmt::format("{} {}", option, printable(text, 60)), "", message}});
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// An option that takes a list of numbers.
struct ListOption {
  const char* option;
  const char* things;
};

int one_number(const ListOption& list, const std::string& text, const std::string& whole) {
  const std::optional<int> value = parse_number<int>(text, 1, kMostNumber);
  if (!value)
    refuse(list.option, whole,
           fmt::format("expected {} from 1 to {}: 512, or 512,1024, or 256:4096:x2 (doubling), or 256:1024:256",
                       list.things, kMostNumber));
  return *value;
}

std::vector<int> number_range(const ListOption& list, const std::vector<std::string>& parts, const std::string& whole) {
  const int first = one_number(list, parts[0], whole), last = one_number(list, parts[1], whole);
  const bool multiplies = parts[2].starts_with('x');
  const int step = one_number(list, multiplies ? parts[2].substr(1) : parts[2], whole);
  if (first > last || (multiplies && step < 2))
    refuse(list.option, whole, "expected FIRST:LAST:xFACTOR or FIRST:LAST:STEP, upwards, for instance 256:4096:x2");
  std::vector<int> sizes;
  for (std::int64_t gpus = first; gpus <= last; gpus = multiplies ? gpus * step : gpus + step)
    sizes.push_back(static_cast<int>(gpus));
  constexpr std::size_t kMostSizes = 1000;
  if (sizes.size() > kMostSizes) refuse(list.option, whole, fmt::format("expected at most {} sizes", kMostSizes));
  return sizes;
}

}  // namespace

std::vector<int> parse_gpus(const std::string& text) { return parse_sizes("--gpus", "GPUs", text); }

std::vector<int> parse_sizes(const char* option, const char* things, const std::string& text) {
  const ListOption list{option, things};
  std::vector<int> sizes;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> range = split(part, ':');
    const std::vector<int> found =
        range.size() == 3 ? number_range(list, range, text) : std::vector{one_number(list, part, text)};
    sizes.insert(sizes.end(), found.begin(), found.end());
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

Objective parse_objective(const std::string& text, const char* option) {
  std::vector<std::string> names;
  for (const Objective objective : kObjectives) {
    if (name_of(objective) == text) return objective;
    names.emplace_back(name_of(objective));
  }
  refuse(option, text, fmt::format("expected {}{}", either(names), did_you_mean(text, names)));
}

std::array<Objective, 2> parse_axes(const std::string& text) {
  const std::vector<std::string> names = split(text, ',');
  if (names.size() != 2 || names[0] == names[1])
    refuse("--pareto", text, "expected two different objectives, for instance step-time,memory");
  return {parse_objective(names[0], "--pareto"), parse_objective(names[1], "--pareto")};
}

std::vector<std::string> parse_schedules(const std::vector<std::string>& names) {
  std::vector<std::string> known, flushed, chosen;
  for (const schedule::Schedule& each : schedule::all_schedules()) {
    known.emplace_back(each.name);
    if (!each.without_flush) flushed.emplace_back(each.name);
  }
  for (const std::string& name : names) {
    if (name == "all") return flushed;
    if (const std::size_t colon = name.find(':'); colon != std::string::npos)
      refuse("--schedules", name,
             fmt::format("expected a name alone, as a search chooses parallelism.virtual_pipeline; try {}",
                         printable(name.substr(0, colon), 60)));
    const std::string full = name == "interleaved" ? "interleaved-1f1b" : name;
    if (std::find(known.begin(), known.end(), full) == known.end())
      refuse("--schedules", name,
             fmt::format("unknown schedule{}; all tries every one",
                         meant_or_known(full, known, "foretoken schedule list")));
    if (std::find(chosen.begin(), chosen.end(), full) == chosen.end()) chosen.push_back(full);
  }
  return chosen;
}

}  // namespace foretoken::tools
