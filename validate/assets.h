// Declares the validation page, its style and its script: the files of page/, embedded at build time.
#pragma once

#include <string_view>

namespace foretoken::validate {

extern const std::string_view kValidationHtml, kValidationCss, kValidationJs;

}  // namespace foretoken::validate
