// Drawings for the page. Colours and type come from report.css, so drawings follow light, dark and print.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::html {

/// An SVG element under construction, in user units; the page scales it to its width.
class Svg {
 public:
  Svg(double width, double height, std::string_view description);

  /// A rectangle of a class; `hint` (already escaped) shows when the pointer rests on it.
  void rect(std::string_view style, double x, double y, double width, double height, std::string_view hint = "");
  void line(std::string_view style, double x1, double y1, double x2, double y2);
  /// Anchored "start", "middle" or "end"; `text` is escaped here.
  void text(std::string_view style, double x, double y, std::string_view anchor, std::string_view text);
  void circle(std::string_view style, double x, double y, double radius, std::string_view hint = "");
  /// `commands` as in the d attribute.
  void path(std::string_view style, std::string_view commands);

  [[nodiscard]] std::string take() { return std::move(out_) + "</svg>\n"; }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), form, std::forward<Args>(args)...);
  }
  std::string out_;
};

/// Seconds as an axis shows them: "20 s", "2.5 ms"; 0 is "0".
[[nodiscard]] std::string tick_time(double seconds);

/// Round numbers that part [low, high] into about `count` intervals.
[[nodiscard]] std::vector<double> round_ticks(double low, double high, int count);

}  // namespace foretoken::html
