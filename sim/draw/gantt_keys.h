// Explains the colours of drawn pipelines.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/gantt.h"

namespace foretoken::draw {

/// Passes narrower than this are not drawn one by one, but as the shares of time that they take.
inline constexpr double kLeastPassPixels = 4;

/// The words for them in legends.
[[nodiscard]] std::string density_words();

/// Returns the name of an activity's colour (palette.h).
[[nodiscard]] std::string_view colour_name(report::Activity activity);

/// An entry of a legend: classes of its squares, side by side, and their meaning.
struct Key {
  std::vector<std::string> classes;
  std::string words;
};

/// Returns a key for each kind of pass in the charts, with a square for each shade of its chunks, then for the end of
/// the step, messages and data-parallel communication.
[[nodiscard]] std::vector<Key> gantt_keys(std::span<const report::Gantt> charts);

}  // namespace foretoken::draw
