// The writer of SVG: elements, their attributes, and escaped text.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

namespace foretoken::draw {

/// The palette of Okabe and Ito (Color Universal Design, jfly.uni-koeln.de/color), which the colour-blind can tell
/// apart.
inline constexpr std::array<std::string_view, 8> kPalette{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                          "#e69f00", "#56b4e9", "#000000", "#999933"};

/// `text` as content or as an attribute in double quotes: markup characters as entities, control characters but
/// newlines as blanks.
[[nodiscard]] std::string escaped(std::string_view text);

/// One attribute of an element: {"class", "box"}, {"x", 70} or {"x", 70.25, 1}.
class Attribute {
 public:
  Attribute(std::string_view name, std::string_view value);
  Attribute(std::string_view name, double value);
  Attribute(std::string_view name, double value, int decimals);

  /// The attribute where `condition` holds; else the element goes without it.
  [[nodiscard]] Attribute where(bool condition) const;
  /// name="value" with a blank before it.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};
using Attributes = std::initializer_list<Attribute>;

/// <tag x="1"/>
[[nodiscard]] std::string element(std::string_view tag, Attributes attributes);
/// <tag x="1">content</tag>; `content` is markup.
[[nodiscard]] std::string element(std::string_view tag, Attributes attributes, std::string_view content);
/// <tag x="1">
[[nodiscard]] std::string opened(std::string_view tag, Attributes attributes);
/// A <text> element; `words` are escaped here.
[[nodiscard]] std::string text(Attributes attributes, std::string_view words);
/// A shape with a <title> that shows when the pointer rests on it; without one where `hint`, which is escaped here, is
/// empty.
[[nodiscard]] std::string with_hint(std::string_view tag, Attributes attributes, std::string_view hint);

/// A drawing inside a page, under construction, in user units. The page scales it to its width. Colours and type come
/// from the page's style, so drawings follow light, dark and print.
class Svg {
 public:
  Svg(double width, double height, std::string_view description);

  /// A rectangle of a class; `hint` (already escaped) shows when the pointer rests on it.
  void rect(std::string_view style, double x, double y, double width, double height, std::string_view hint = "");
  void line(std::string_view style, double x1, double y1, double x2, double y2);
  /// Anchored "start", "middle" or "end"; `words` are escaped here.
  void text(std::string_view style, double x, double y, std::string_view anchor, std::string_view words);
  /// `hint` is already escaped.
  void circle(std::string_view style, double x, double y, double radius, std::string_view hint = "");
  /// `commands` as in the d attribute.
  void path(std::string_view style, std::string_view commands);

  [[nodiscard]] std::string take() { return std::move(out_) + "</svg>\n"; }

 private:
  std::string out_;
};

}  // namespace foretoken::draw
