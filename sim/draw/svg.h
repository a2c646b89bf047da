// Writes SVG: elements, their attributes, and escaped text.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

namespace foretoken::draw {

/// The palette of Okabe and Ito (Color Universal Design, jfly.uni-koeln.de/color), which colour-blind readers can
/// distinguish.
inline constexpr std::array<std::string_view, 8> kPalette{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                          "#e69f00", "#56b4e9", "#000000", "#999933"};

/// Room for a letter of the drawings' text (12 pixels high, sans-serif), in pixels. A legend of several words needs
/// less.
inline constexpr double kLetter = 6.5;

/// Escapes `text` for content or for an attribute in double quotes. Markup characters become entities. Control
/// characters, except newlines, become blanks.
[[nodiscard]] std::string escaped(std::string_view text);

/// One attribute of an element: {"class", "box"}, {"x", 70} or {"x", 70.25, 1}.
class Attribute {
 public:
  Attribute(std::string_view name, std::string_view value);
  Attribute(std::string_view name, double value);
  Attribute(std::string_view name, double value, int decimals);

  /// Returns the attribute if `condition` is true, and an absent attribute otherwise.
  [[nodiscard]] Attribute where(bool condition) const;
  /// Returns name="value" with a blank before it.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};
using Attributes = std::initializer_list<Attribute>;

/// Writes <tag x="1"/>.
[[nodiscard]] std::string element(std::string_view tag, Attributes attributes);
/// Writes <tag x="1">content</tag>, where `content` is markup.
[[nodiscard]] std::string element(std::string_view tag, Attributes attributes, std::string_view content);
/// Writes <tag x="1">.
[[nodiscard]] std::string opened(std::string_view tag, Attributes attributes);
/// Writes a <text> element and escapes `words`.
[[nodiscard]] std::string text(Attributes attributes, std::string_view words);
/// Writes a shape with a <title>, which shows when the pointer rests on it. Escapes `hint`; an empty one gives no
/// title.
[[nodiscard]] std::string with_hint(std::string_view tag, Attributes attributes, std::string_view hint);

/// A drawing inside a page, in user units. The page scales it to its width. Colours and type come from the page's
/// style, so drawings follow light, dark and print.
class Svg {
 public:
  Svg(double width, double height, std::string_view description);

  /// Adds a rectangle of a class. `hint`, already escaped, shows when the pointer rests on it.
  void rect(std::string_view style, double x, double y, double width, double height, std::string_view hint = "");
  void line(std::string_view style, double x1, double y1, double x2, double y2);
  /// Adds text, anchored "start", "middle" or "end", and escapes `words`.
  void text(std::string_view style, double x, double y, std::string_view anchor, std::string_view words);
  /// Adds a circle. `hint` is already escaped.
  void circle(std::string_view style, double x, double y, double radius, std::string_view hint = "");
  /// Adds a path. `commands` are those of the d attribute.
  void path(std::string_view style, std::string_view commands);

  [[nodiscard]] std::string take() { return std::move(out_) + "</svg>\n"; }

 private:
  std::string out_;
};

}  // namespace foretoken::draw
