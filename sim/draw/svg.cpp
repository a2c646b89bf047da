// Writes SVG elements as text.
#include "sim/draw/svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"

namespace foretoken::draw {
namespace {

std::string titled(std::string_view hint) { return hint.empty() ? "" : fmt::format("<title>{}</title>", hint); }

std::string start_of(std::string_view tag, Attributes attributes) {
  std::string out = fmt::format("<{}", tag);
  for (const Attribute& attribute : attributes) out += attribute.text();
  return out;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  const bool ascii = std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
  for (const char c : ascii ? std::string(text) : harmless(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20 && c != '\n')
      out += ' ';
    else
      out += c;
  }
  return out;
}

Attribute::Attribute(std::string_view name, std::string_view value)
    : text_(fmt::format(" {}=\"{}\"", name, escaped(value))) {}
Attribute::Attribute(std::string_view name, double value) : text_(fmt::format(" {}=\"{}\"", name, value)) {}
Attribute::Attribute(std::string_view name, double value, int decimals)
    : text_(fmt::format(" {}=\"{:.{}f}\"", name, value, decimals)) {}

Attribute Attribute::where(bool condition) const {
  Attribute result = *this;
  if (!condition) result.text_.clear();
  return result;
}

std::string element(std::string_view tag, Attributes attributes) { return start_of(tag, attributes) + "/>"; }

std::string element(std::string_view tag, Attributes attributes, std::string_view content) {
  return fmt::format("{}>{}</{}>", start_of(tag, attributes), content, tag);
}

std::string opened(std::string_view tag, Attributes attributes) { return start_of(tag, attributes) + ">"; }

std::string text(Attributes attributes, std::string_view words) { return element("text", attributes, escaped(words)); }

std::string with_hint(std::string_view tag, Attributes attributes, std::string_view hint) {
  return hint.empty() ? element(tag, attributes) : element(tag, attributes, titled(escaped(hint)));
}

Svg::Svg(double width, double height, std::string_view description)
    : out_(opened("svg", {{"class", "chart"},
                          {"viewBox", fmt::format("0 0 {:.0f} {:.0f}", width, height)},
                          {"role", "img"},
                          {"aria-label", description}}) +
           "\n") {}

void Svg::rect(std::string_view style, double x, double y, double width, double height, std::string_view hint) {
  const Attributes attributes{{"class", style}, {"x", x, 2}, {"y", y, 2}, {"width", width, 2}, {"height", height, 2}};
  out_ += (hint.empty() ? element("rect", attributes) : element("rect", attributes, titled(hint))) + "\n";
}

void Svg::line(std::string_view style, double x1, double y1, double x2, double y2) {
  out_ += element("line", {{"class", style}, {"x1", x1, 2}, {"y1", y1, 2}, {"x2", x2, 2}, {"y2", y2, 2}}) + "\n";
}

void Svg::text(std::string_view style, double x, double y, std::string_view anchor, std::string_view words) {
  out_ += draw::text({{"class", style}, {"x", x, 2}, {"y", y, 2}, {"text-anchor", anchor}}, words) + "\n";
}

void Svg::circle(std::string_view style, double x, double y, double radius, std::string_view hint) {
  out_ += element("circle", {{"class", style}, {"cx", x, 2}, {"cy", y, 2}, {"r", radius, 1}}, titled(hint)) + "\n";
}

void Svg::path(std::string_view style, std::string_view commands) {
  out_ += element("path", {{"class", style}, {"d", commands}}) + "\n";
}

}  // namespace foretoken::draw
