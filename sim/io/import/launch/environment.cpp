// Puts variables of the environment into a document.
//
// Grammar: AMD-AGI/Primus, primus/core/config/yaml_loader.py (ENV_PATTERN); omegaconf 2.3, "Built-in resolvers",
// oc.env; omegaconf 2.0, "Environment variable interpolation", env.
#include "sim/io/import/launch/environment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "sim/io/import/launch/shell/lexer.h"

namespace foretoken::io::launch {
namespace {

constexpr std::size_t kLongestVariable = 256;  // letters of a name; longer ones are texts
constexpr std::size_t kMostPutIn = 16 << 20;   // bytes of values in one document, as many as a script may hold

// Returns the name that a text begins with.
std::string_view name_at(std::string_view text) {
  text = text.substr(0, kLongestVariable);
  return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, shell::is_of_name) - text.begin()));
}

/// Puts values into one document.
class EnvironmentFiller {
 public:
  EnvironmentFiller(const Environment& environment, const Json& document) {
    for (const auto& [name, value] : environment) values_[name] = value;  // the last one counts
    if (!document.is_object()) return;
    for (const auto& member : document.items()) keys_.insert(member.key());
  }

  void visit(Json& value) {
    if (value.is_structured()) {
      for (Json& member : value) visit(member);
    } else if (value.is_string()) {
      if (auto text = filled(value.get_ref<const std::string&>())) value = *text == "null" ? Json() : Json(*text);
    }
  }

 private:
  // Returns a text with the values; nothing where none is put in. Each letter is read once: the braces that are open
  // wait on a stack.
  std::optional<std::string> filled(const std::string& text) {
    if (text.find("${") == text.npos) return std::nullopt;
    std::string result;
    std::vector<std::size_t> open;  // the places of "${" in the result; npos for a brace alone inside of one
    bool changed = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool begins = text[i] == '$' && text[i + 1] == '{';  // behind the last letter stands a zero
      if (begins || (text[i] == '{' && !open.empty())) open.push_back(begins ? result.size() : text.npos);
      if (begins) result += text[i++];
      const bool ends = text[i] == '}' && !open.empty();
      const std::size_t place = ends ? open.back() : text.npos;
      if (ends) open.pop_back();
      const auto value = place == text.npos ? std::nullopt : value_of(std::string_view(result).substr(place + 2));
      if (!value || (put_in_ += value->size()) > kMostPutIn) {
        result += text[i];
        continue;
      }
      result.resize(place);
      result += *value;
      changed = true;
    }
    return changed ? std::optional(std::move(result)) : std::nullopt;
  }

  // Returns the value of the variable that an expression reads; nothing where nobody states one.
  [[nodiscard]] std::optional<std::string_view> value_of(std::string_view inside) const {
    std::string_view name = name_at(inside);
    if (name == inside && keys_.contains(name)) return std::nullopt;
    char before_default = ':';
    if (inside.starts_with("oc.env:") || inside.starts_with("env:")) {
      inside.remove_prefix(inside.find(':') + 1);
      name = name_at(inside);
      before_default = ',';
    }
    if (name != inside && inside[name.size()] != before_default) return std::nullopt;
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::string_view, std::string_view> values_{};
  std::set<std::string, std::less<>> keys_{};
  std::size_t put_in_ = 0;
};

}  // namespace

void put_environment(const Environment& environment, Json& document) {
  if (!environment.empty()) EnvironmentFiller(environment, document).visit(document);
}

}  // namespace foretoken::io::launch
