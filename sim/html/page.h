// Fills sections into the page that all reports share.
#pragma once

#include <string>

namespace foretoken::html {

struct Page {
  std::string title;     ///< not yet escaped
  std::string kind;      ///< what is predicted: "predicted training step"
  std::string evidence;  ///< HTML of a link to measured runs, or nothing
  std::string version, date;
  std::string contents, sections;  ///< HTML of the links to sections, and of the sections
};

/// Returns one HTML file that needs neither network nor other files.
[[nodiscard]] std::string page(const Page& page);

/// Adds a section and its link.
void add_section(Page& page, const char* id, const char* title, const std::string& content);

}  // namespace foretoken::html
