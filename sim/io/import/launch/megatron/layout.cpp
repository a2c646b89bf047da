// Reads Megatron-LM's layout strings: E embedding, t decoder layer, m multi-token prediction, L loss, | next stage.
#include <algorithm>

#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr std::size_t kLongestLayout = 1 << 16;

std::int64_t repeats(std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] != '*') return 1;
  std::int64_t count = 0;
  for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9' && count < (1 << 20); ++at)
    count = 10 * count + (text[at] - '0');
  return count;
}

// Writes "x*3" as "xxx" and "(ab)*2" as "abab". Brackets do not nest.
std::optional<std::string> unrolled(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::string_view unit = text.substr(at, 1);
    if (text[at] == '(') {
      const std::size_t end = text.find(')', at);
      if (end == text.npos) return std::nullopt;
      unit = text.substr(at + 1, end - at - 1);
      at = end + 1;
    } else {
      ++at;
    }
    const std::int64_t count = repeats(text, at);
    if (static_cast<std::size_t>(count) * unit.size() + result.size() > kLongestLayout) return std::nullopt;
    for (std::int64_t i = 0; i < count; ++i) result += unit;
  }
  return result;
}

// Writes a layout without repeats and the signs that only part it.
std::optional<std::string> spelt_out(std::string_view layout) {
  std::string plain;
  for (const char c : layout.substr(0, kLongestLayout))
    if (std::string_view(", \\'\"").find(c) == std::string_view::npos) plain += c;
  const auto outer = unrolled(plain);
  return outer ? unrolled(*outer) : outer;  // "(t*6|)*3" has repeats inside
}

}  // namespace

std::int64_t predictions_of_layout(std::string_view layout) {
  const auto whole = spelt_out(layout);
  return whole ? std::ranges::count(*whole, 'm') : 0;
}

// Predictions stand beside the head (sim/model/blocks/head.cpp).
std::optional<std::string> why_not_modelled(std::string_view layout) {
  const auto layers = layers_of_layout(layout);
  if (!layers) return std::nullopt;
  for (std::size_t at = 1; at + 1 < layers->size(); ++at)
    if ((*layers)[at] == 0) return "a stage without decoder layers is modelled at the ends of the pipeline only";
  const std::string whole = spelt_out(layout).value_or("");
  const std::size_t last_stage = whole.rfind('|'), first_prediction = whole.find('m');
  if (last_stage != whole.npos && first_prediction < last_stage)
    return "layers of multi-token prediction are modelled on the stage of the loss only";
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> layers_of_layout(std::string_view layout) {
  const auto whole = spelt_out(layout);
  if (!whole || whole->empty()) return std::nullopt;
  std::vector<std::int64_t> layers(1, 0);
  for (const char c : *whole) {
    if (c == '|')
      layers.push_back(0);
    else if (c == 't')
      ++layers.back();
    else if (c != 'E' && c != 'm' && c != 'L')
      return std::nullopt;
  }
  return layers;
}

}  // namespace foretoken::io::launch::megatron
