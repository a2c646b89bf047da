// Defines the colours of all pictures: one colour means one thing in every chart, on light and on dark pages.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/ids.h"

namespace foretoken::draw {

/// A colour as 0xRRGGBB.
using Rgb = std::uint32_t;

/// A meaning with its colour on a light and on a dark page. A picture gives it by the class "c-NAME".
struct Meaning {
  std::string_view name;
  Rgb light = 0, dark = 0;
  bool has_shades = false;  ///< of model chunks
};

/// Everything that has a colour. Passes are blue and orange, communication is purple, memory is green.
/// Blue, orange, vermilion, green and light purple come from the palette of Okabe and Ito (Color Universal Design,
/// jfly.uni-koeln.de/color), which colour-blind readers can distinguish.
inline constexpr std::array kMeanings{
    Meaning{"forward", 0x0072b2, 0x3b9ddb, true},
    Meaning{"backward", 0xe69f00, 0xf0b32e, true},
    Meaning{"backward-input", 0xd55e00, 0xee7b2b, true},
    Meaning{"backward-weight", 0xe8d62e, 0xf4ec8c, true},
    Meaning{"recompute", 0x8c5a2b, 0xb98552, true},
    Meaning{"compute", 0x5d6b7c, 0x9aabc4},  // forward and backward together
    Meaning{"beyond", 0xb4bec9, 0x566270},   // time of kernels beyond the ideal
    Meaning{"tensor", 0x882255, 0xc45a8c},
    Meaning{"context", 0xb9a3e3, 0xcbbcf0},
    Meaning{"expert", 0x3d0f6e, 0x5b3fc0},
    Meaning{"pipeline", 0xcc79a7, 0xe3a3c6},
    Meaning{"data", 0x7a4fc4, 0x9d7be6},
    Meaning{"optimizer", 0x009e73, 0x2bbd92},  // its time and its state
    Meaning{"host", 0x6b2a1a, 0x9c4f3f},
    Meaning{"offload", 0x1f8fa6, 0x58c4d6},  // copies between a GPU and its host
    Meaning{"other", 0x8a8a84, 0x85857f},
    Meaning{"weights", 0x0f5c63, 0x2c8089},
    Meaning{"gradients", 0x7fcabd, 0xa5e0d6},
    Meaning{"activations", 0x9aa81c, 0xb9c63a},
    Meaning{"workspaces", 0xddd3a8, 0xd9cbb2},
    Meaning{"path", 0xe0007a, 0xff3d9e},   // the critical path
    Meaning{"limit", 0xd0021b, 0xff5a4f},  // the memory of a GPU
    Meaning{"first", 0x20262f, 0xeef1f5},  // the first and the second of compared series
    Meaning{"second", 0x5b8c00, 0x7fb800}};

/// The shades of a pass: 0 is the colour itself, for the first chunk; the last chunk has the last shade. All are
/// opaque.
inline constexpr int kShades = 8;

/// Returns the shade of a chunk. Up to kShades chunks have shades of their own.
[[nodiscard]] int shade_of(Chunk chunk, int chunks);

/// Returns the class of a meaning in a shade: "c-forward", "c-forward-7".
[[nodiscard]] std::string colour_class(std::string_view name, int shade = 0);

/// A class with its colour and the colour of letters on it, in both themes.
struct Swatch {
  std::string name;  ///< "c-forward-7"
  Rgb light = 0, dark = 0, light_ink = 0, dark_ink = 0;
};
/// Returns all classes that a picture can use.
[[nodiscard]] std::vector<Swatch> swatches();

/// Writes the style of a whole page, with --c-forward and the like as variables. A page may set data-theme to "light"
/// or "dark"; paper is light. The classes fill shapes; "on-forward" is the class of letters on "c-forward".
[[nodiscard]] std::string page_palette();

/// Writes the style of a picture of its own, for the classes that `uses` accepts.
[[nodiscard]] std::string picture_palette(const std::function<bool(const std::string&)>& uses);

}  // namespace foretoken::draw
