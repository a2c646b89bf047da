// Writes the palette as style sheets. A shade is mixed with the page behind it, so no hatching shines through.
#include "sim/draw/palette.h"

#include <fmt/format.h>

#include <cmath>

namespace foretoken::draw {
namespace {

constexpr double kPalest = 0.45;  // part of the page in the last shade

// The colours behind and around the data.
struct Surface {
  std::string_view name;
  Rgb light, dark;
};
constexpr std::array kSurfaces{Surface{"panel", 0xffffff, 0x181c23}, Surface{"ink", 0x1b1f27, 0xe6e9ee},
                               Surface{"idle", 0xf1f3f5, 0x20252e}, Surface{"hatch", 0xb4bcc6, 0x4a5362},
                               Surface{"grey", 0x8a929e, 0x7d8796}};

double channel(Rgb colour, unsigned place) { return static_cast<double>(colour >> (8 * place) & 0xffU); }

Rgb mixed(Rgb colour, Rgb page, double part) {
  Rgb out = 0;
  for (unsigned place = 0; place < 3; ++place) {
    const double value = channel(colour, place) * (1 - part) + channel(page, place) * part;
    out |= static_cast<Rgb>(std::lround(value)) << (8 * place);
  }
  return out;
}

// Returns black or white letters, which of them differs more in luminance (WCAG 2.2, contrast ratio).
Rgb ink_on(Rgb colour) {
  const auto linear = [&](unsigned place) {
    const double c = channel(colour, place) / 255;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const double luminance = 0.2126 * linear(2) + 0.7152 * linear(1) + 0.0722 * linear(0);
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? 0xffffff : 0x111111;
}

enum class Theme { kLight, kDark };

template <class Uses>
std::string variables(Theme theme, const Uses& uses) {
  std::string css;
  const auto put = [&](std::string_view name, Rgb colour) { css += fmt::format("--{}:#{:06x};", name, colour); };
  for (const Surface& surface : kSurfaces) put(surface.name, theme == Theme::kLight ? surface.light : surface.dark);
  for (const Swatch& each : swatches()) {
    if (!uses(each.name)) continue;
    put(each.name, theme == Theme::kLight ? each.light : each.dark);
    put("on" + each.name.substr(1), theme == Theme::kLight ? each.light_ink : each.dark_ink);
  }
  return css;
}

template <class Uses>
std::string classes(const Uses& uses) {
  std::string css;
  for (const Swatch& each : swatches())
    if (uses(each.name)) {
      const std::string ink = "on" + each.name.substr(1);
      css += fmt::format(".{0}{{fill:var(--{0})}}text.{1}{{fill:var(--{1})}}\n", each.name, ink);
    }
  return css + ".idle{fill:var(--idle)}.hatch{stroke:var(--hatch);stroke-width:1}\n";
}

}  // namespace

int shade_of(Chunk chunk, int chunks) {
  if (chunks <= 1) return 0;
  return static_cast<int>(std::lround(static_cast<double>(chunk.number()) * (kShades - 1) / (chunks - 1)));
}

std::string colour_class(std::string_view name, int shade) {
  return shade == 0 ? fmt::format("c-{}", name) : fmt::format("c-{}-{}", name, shade);
}

std::vector<Swatch> swatches() {
  std::vector<Swatch> all;
  for (const Meaning& each : kMeanings)
    for (int shade = 0; shade < (each.has_shades ? kShades : 1); ++shade) {
      const double part = kPalest * shade / (kShades - 1);
      const Rgb light = mixed(each.light, kSurfaces[0].light, part), dark = mixed(each.dark, kSurfaces[0].dark, part);
      all.push_back({colour_class(each.name, shade), light, dark, ink_on(light), ink_on(dark)});
    }
  return all;
}

std::string page_palette() {
  const auto all = [](const std::string&) { return true; };
  const std::string light = variables(Theme::kLight, all), dark = variables(Theme::kDark, all);
  return fmt::format(
             ":root{{{0}}}\n:root[data-theme=\"dark\"]{{{1}}}\n"
             "@media (prefers-color-scheme:dark){{:root:not([data-theme=\"light\"]){{{1}}}}}\n"
             "@media print{{:root,:root[data-theme=\"dark\"],:root:not([data-theme=\"light\"]){{{0}}}}}\n",
             light, dark) +
         classes(all);
}

std::string picture_palette(const std::function<bool(const std::string&)>& uses) {
  return fmt::format(":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n", variables(Theme::kLight, uses),
                     variables(Theme::kDark, uses)) +
         classes(uses);
}

}  // namespace foretoken::draw
