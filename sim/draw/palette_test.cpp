// Tests the palette: one colour for one thing, in both themes.
#include "sim/draw/palette.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace foretoken::draw {
namespace {

using testing::HasSubstr;
using testing::Not;

using Lab = std::array<double, 3>;

// Converts sRGB to CIE L*a*b* (D65), in which distances are about as large as they look.
Lab lab_of(Rgb colour) {
  std::array<double, 3> c{};
  for (unsigned place = 0; place < 3; ++place) {
    const double part = static_cast<double>(colour >> (8 * (2 - place)) & 0xffU) / 255;
    c[place] = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  }
  const auto root = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = root((0.4124 * c[0] + 0.3576 * c[1] + 0.1805 * c[2]) / 0.95047);
  const double y = root(0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]);
  const double z = root((0.0193 * c[0] + 0.1192 * c[1] + 0.9505 * c[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double distance(Rgb a, Rgb b) {
  const Lab one = lab_of(a), other = lab_of(b);
  return std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
}

// Returns the meaning of a class: "c-forward-7" is a shade of "c-forward".
std::string without_shade(const std::string& name) {
  return std::isdigit(static_cast<unsigned char>(name.back())) != 0 ? name.substr(0, name.size() - 2) : name;
}

TEST(Palette, ThingsDifferInColour) {
  constexpr double kClearlyDifferent = 12;  // about five times the least difference that readers see
  const std::vector<Swatch> all = swatches();
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      if (without_shade(all[a].name) == without_shade(all[b].name)) continue;
      EXPECT_GE(distance(all[a].light, all[b].light), kClearlyDifferent) << all[a].name << ' ' << all[b].name;
      EXPECT_GE(distance(all[a].dark, all[b].dark), kClearlyDifferent) << all[a].name << ' ' << all[b].name;
    }
}

TEST(Palette, ChunksHaveShadesOfTheirOwn) {
  for (int chunks = 2; chunks <= kShades; ++chunks) {
    std::set<int> shades;
    for (const Chunk chunk : ids<Chunk>(chunks)) shades.insert(shade_of(chunk, chunks));
    EXPECT_EQ(shades.size(), static_cast<std::size_t>(chunks));
    EXPECT_EQ(*shades.begin(), 0);
    EXPECT_EQ(*shades.rbegin(), kShades - 1);
  }
  EXPECT_EQ(shade_of(Chunk{0}, 1), 0);
  EXPECT_EQ(shade_of(Chunk{19}, 20), kShades - 1);
}

TEST(Palette, LettersOnPassesCanBeRead) {
  for (const Swatch& each : swatches()) {
    EXPECT_GE(std::abs(lab_of(each.light)[0] - lab_of(each.light_ink)[0]), 40) << each.name;
    EXPECT_GE(std::abs(lab_of(each.dark)[0] - lab_of(each.dark_ink)[0]), 40) << each.name;
  }
}

TEST(Palette, PagesAndPicturesHaveTheSameColours) {
  const std::string page = page_palette();
  const std::string picture = picture_palette([](const std::string& name) { return name == "c-forward-7"; });
  for (const char* part : {"--c-forward-7:#73b1d5;", ".c-forward-7{fill:var(--c-forward-7)}"}) {
    EXPECT_THAT(page, HasSubstr(part));
    EXPECT_THAT(picture, HasSubstr(part));
  }
  EXPECT_THAT(page, HasSubstr("--c-weights:#0f5c63;"));
  EXPECT_THAT(picture, Not(HasSubstr("weights")));
}

}  // namespace
}  // namespace foretoken::draw
