// Puts variables of the environment into a document.
//
// Grammar: AMD-AGI/Primus, primus/core/config/yaml_loader.py (ENV_PATTERN); omegaconf 2.3, "Built-in resolvers",
// oc.env; omegaconf 2.0, "Environment variable interpolation", env.
#include "sim/io/import/launch/environment.h"

#include <algorithm>
#include <string_view>

namespace foretoken::io::launch {
namespace {

// Returns the place of the brace that closes the one behind text[at], the $.
std::size_t closing_brace(std::string_view text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return text.npos;
}

// Returns the value of the variable that an expression reads; nullptr where nobody states one.
const std::string* value_in(const Environment& environment, std::string_view inside, const Json& document) {
  std::string_view name = inside.substr(0, inside.find(':'));
  const bool resolver = inside.size() > name.size() && (name == "oc.env" || name == "env");
  if (resolver) {
    name = inside.substr(name.size() + 1);
    name = name.substr(0, name.find(','));
  }
  if (name == inside && document.is_object() && document.contains(std::string(name))) return nullptr;
  const auto found = std::find_if(environment.rbegin(), environment.rend(), [&](const auto& one) {
    return one.first == name;  // the last one counts
  });
  return found == environment.rend() ? nullptr : &found->second;
}

void put_into_text(const Environment& environment, const Json& document, Json& value) {
  auto text = value.get<std::string>();
  bool changed = false;
  // Inner expressions stand to the right of the outer ones.
  for (std::size_t at = text.rfind("${"); at != text.npos; at = at == 0 ? text.npos : text.rfind("${", at - 1)) {
    const std::size_t close = closing_brace(text, at);
    if (close == text.npos) continue;
    const std::string* const stated =
        value_in(environment, std::string_view(text).substr(at + 2, close - at - 2), document);
    if (stated == nullptr) continue;
    text.replace(at, close - at + 1, *stated);
    changed = true;
  }
  if (changed) value = text == "null" ? Json() : Json(text);
}

void visit(const Environment& environment, const Json& document, Json& value) {
  if (value.is_structured()) {
    for (Json& member : value) visit(environment, document, member);
  } else if (value.is_string() && value.get_ref<const std::string&>().find("${") != std::string::npos) {
    put_into_text(environment, document, value);
  }
}

}  // namespace

void put_environment(const Environment& environment, Json& document) {
  if (environment.empty()) return;
  const Json before = document;
  visit(environment, before, document);
}

}  // namespace foretoken::io::launch
