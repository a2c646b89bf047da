// Text in HTML and SVG.
#include "sim/report/escaped.h"

namespace foretoken::report {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
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

}  // namespace foretoken::report
