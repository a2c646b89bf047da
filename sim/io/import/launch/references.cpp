// Replaces references between the settings of one document, as OmegaConf, Hydra and Primus write them.
//
// Grammar: omegaconf 2.3, "Variable interpolation"; NVIDIA/NeMo-Framework-Launcher, launcher_scripts/main.py, the
// resolvers multiply and divide_floor; AMD-AGI/Primus, ${NAME:default}.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/lexer.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch {
namespace {

constexpr int kDeepest = 8;          // references that lead to references
constexpr int kMostReplaced = 5000;  // of one document

// Returns true for "oc.env:NAME" of OmegaConf, which is "env:NAME" before its version 2.1.
bool is_of_environment(std::string_view inside) { return inside.starts_with("oc.env:") || inside.starts_with("env:"); }

/// Resolves the references of one document. `path` holds the keys of the value at hand.
class Resolver {
 public:
  explicit Resolver(Json& document) : document_(document) {}

  void visit(Json& value, std::vector<std::string>& path) {
    if (value.is_object()) {
      for (auto& [key, member] : value.items()) {
        path.push_back(key);
        visit(member, path);
        path.pop_back();
      }
    } else if (value.is_array()) {
      for (Json& member : value) visit(member, path);
    } else if (value.is_string() && value.get_ref<const std::string&>().find("${") != std::string::npos) {
      if (auto text = resolved(value.get<std::string>(), path, 0)) value = *text == "null" ? Json() : Json(*text);
    }
  }

  [[nodiscard]] const std::set<std::string>& used() const { return used_; }

 private:
  // Returns the text without references; nothing where one leads nowhere.
  std::optional<std::string> resolved(std::string text, const std::vector<std::string>& path, int depth) {
    for (std::size_t open = text.rfind("${"); open != text.npos; open = text.rfind("${")) {
      const std::size_t close = text.find('}', open);
      if (close == text.npos || depth > kDeepest || ++replaced_ > kMostReplaced) return std::nullopt;
      const auto value = value_of(text.substr(open + 2, close - open - 2), path, depth);
      if (!value || value->size() > text.max_size() / 4 || text.size() + value->size() > (1 << 16)) return std::nullopt;
      text.replace(open, close - open + 1, *value);
    }
    return text;
  }

  std::optional<std::string> value_of(const std::string& inside, const std::vector<std::string>& path, int depth) {
    if (inside.starts_with("multiply:") || inside.starts_with("divide_floor:")) return computed(inside);
    if (is_of_environment(inside)) {
      const std::size_t comma = inside.find(',');
      return comma == inside.npos ? std::nullopt : std::optional(trimmed(inside.substr(comma + 1)));
    }
    if (const std::size_t colon = inside.find(':'); colon != inside.npos) return inside.substr(colon + 1);
    return looked_up(inside, path, depth);
  }

  static std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
  }

  static std::optional<std::string> computed(const std::string& inside) {
    const std::size_t colon = inside.find(':'), comma = inside.find(',');
    if (comma == inside.npos) return std::nullopt;
    const auto first = whole_of(trimmed(inside.substr(colon + 1, comma - colon - 1)));
    const auto second = whole_of(trimmed(inside.substr(comma + 1)));
    if (!first || !second) return std::nullopt;
    if (inside.starts_with("multiply:")) return fmt::format("{}", *first * *second);
    if (*second <= 0 || *first < 0) return std::nullopt;
    return fmt::format("{}", *first / *second);
  }

  // "a.b" from the top, ".b" from the section of the value, "..b" one section above.
  std::optional<std::string> looked_up(const std::string& name, const std::vector<std::string>& path, int depth) {
    const std::size_t dots = std::min(name.find_first_not_of('.'), name.size());
    std::vector<std::string> target;
    if (dots > 0 && dots <= path.size()) target.assign(path.begin(), path.end() - static_cast<std::ptrdiff_t>(dots));
    const Json* place = &document_;
    std::string table;  // models[7b].size: the other members of models are choices that were not taken
    std::size_t keys_of_table = 0;
    for (std::size_t begin = dots; begin <= name.size() && begin != name.npos;) {
      const std::size_t end = std::min(name.find_first_of(".[", begin), name.size());
      if (end > begin || end == name.size()) target.push_back(name.substr(begin, end - begin));
      begin = end + 1;
      if (end == name.size() || name[end] != '[') continue;
      const std::size_t close = name.find(']', end);
      if (close == name.npos) return std::nullopt;
      if (table.empty()) {
        table = name.substr(dots, end - dots);
        keys_of_table = target.size();
      }
      target.push_back(name.substr(end + 1, close - end - 1));
      const std::size_t next = close + 1;
      begin = next == name.size() ? name.npos : next + (name[next] == '.' ? 1 : 0);
    }
    for (std::size_t i = 0; i < target.size(); ++i) {
      const std::string& key = target[i];
      if (!place->is_object() || !place->contains(key)) return std::nullopt;
      const bool choices = std::ranges::all_of(*place, [](const Json& one) { return one.is_object(); });
      if (!table.empty() && i == keys_of_table && choices) used_.insert(table);
      place = &place->at(key);
    }
    used_.insert(name.substr(dots));
    if (place->is_null()) return "null";
    if (!place->is_string()) return std::nullopt;
    return resolved(place->get<std::string>(), target, depth + 1);
  }

  Json& document_;
  int replaced_ = 0;
  std::set<std::string> used_{};
};

// Returns the name in "NAME", "oc.env:NAME" and "oc.env:NAME,default"; empty for other references.
std::string_view variable_in(std::string_view inside) {
  if (is_of_environment(inside)) {
    inside.remove_prefix(inside.find(':') + 1);
    inside = inside.substr(0, inside.find(','));
  }
  return std::ranges::all_of(inside, shell::is_of_name) ? inside : std::string_view();
}

// Returns a text of which nothing is known in place of a reference.
std::string unknown_for(std::string_view inside) {
  if (shell::is_unknown(inside)) return shell::unknown_because(shell::why_unknown(inside));
  const std::string_view name = variable_in(inside);
  return name.empty() ? shell::unknown_because(fmt::format("${{{}}}, which the file does not state", inside))
                      : shell::unknown_because(fmt::format("a variable; state it with --env {}=VALUE", name));
}

/// Replaces the references of a document by unknown texts.
class UnknownFiller {
 public:
  void visit(Json& value) {
    if (value.is_structured()) {
      for (Json& member : value) visit(member);
    } else if (value.is_string()) {
      std::string text = value.get<std::string>();
      if (fill(text)) value = std::move(text);
    }
  }

 private:
  // Begins with the last reference: those inside others come first.
  bool fill(std::string& text) {
    bool filled = false;
    for (std::size_t open = text.rfind("${"); open != text.npos && ++visited_ <= kMostReplaced;
         open = open == 0 ? text.npos : text.rfind("${", open - 1)) {
      const std::size_t close = text.find('}', open);
      if (close == text.npos) continue;
      text.replace(open, close - open + 1, unknown_for(std::string_view(text).substr(open + 2, close - open - 2)));
      filled = true;
    }
    return filled;
  }

  int visited_ = 0;
};

}  // namespace

void fill_in_references(Json& document) {
  resolve_references(document);
  UnknownFiller().visit(document);
}

std::set<std::string> resolve_references(Json& document) {
  std::vector<std::string> path;
  Resolver resolver(document);
  resolver.visit(document, path);
  return resolver.used();
}

}  // namespace foretoken::io::launch
