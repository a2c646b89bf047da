// Reads YAML with libyaml, event by event, so that a small text cannot become a large value.
#include "sim/io/import/launch/yaml/read_yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>

#include "sim/base/text.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch {
namespace {

using Value = nlohmann::ordered_json;

constexpr std::size_t kMostValues = 200'000;
constexpr std::size_t kMostCharacters = 16'000'000;

struct Mistake {
  std::string message;
  std::size_t line = 0, column = 0;
};

// Frees an event when it goes.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event); }

  yaml_event_t event{};
};

std::string text_of(const yaml_char_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};  // NOLINT: libyaml's characters are bytes
}

std::string anchor_of(const yaml_char_t* anchor) {
  return anchor == nullptr ? "" : reinterpret_cast<const char*>(anchor);  // NOLINT
}

std::size_t size_of(const Value& value) {
  std::size_t size = 1;
  if (value.is_structured())
    for (const Value& member : value) size += size_of(member);
  return size;
}

class Reader {
 public:
  explicit Reader(std::string_view text) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());  // NOLINT
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  Value document() {
    while (true) {
      Event next;
      take(next);
      if (next.event.type == YAML_STREAM_END_EVENT) return nullptr;
      if (next.event.type == YAML_DOCUMENT_START_EVENT) break;
    }
    Event first;
    take(first);
    return value(first, 0);
  }

 private:
  void take(Event& into) {
    if (yaml_parser_parse(&parser_, &into.event) == 0)
      throw Mistake{parser_.problem == nullptr ? "broken YAML" : parser_.problem, parser_.problem_mark.line + 1,
                    parser_.problem_mark.column + 1};
  }

  [[noreturn]] static void refuse(const Event& at, std::string message) {
    throw Mistake{std::move(message), at.event.start_mark.line + 1, at.event.start_mark.column + 1};
  }

  void count(const Event& at, std::size_t values, std::size_t characters) {
    values_ += values;
    characters_ += characters;
    if (values_ > kMostValues) refuse(at, fmt::format("aliases or lists make more than {} values", kMostValues));
    if (characters_ > kMostCharacters) refuse(at, "aliases make too large a text");
  }

  Value value(const Event& at, int depth) {
    if (depth > kDeepestNesting) refuse(at, fmt::format("nested deeper than {} levels", kDeepestNesting));
    switch (at.event.type) {
      case YAML_SCALAR_EVENT:
        return scalar(at);
      case YAML_ALIAS_EVENT:
        return alias(at);
      case YAML_SEQUENCE_START_EVENT:
        return sequence(at, depth);
      case YAML_MAPPING_START_EVENT:
        return mapping(at, depth);
      default:
        return nullptr;
    }
  }

  Value scalar(const Event& at) {
    const auto& scalar = at.event.data.scalar;
    std::string text = text_of(scalar.value, scalar.length);
    count(at, 1, text.size());
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const bool absent = plain && (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
    Value value = absent ? Value(nullptr) : Value(std::move(text));
    return anchored(scalar.anchor, std::move(value));
  }

  Value anchored(const yaml_char_t* anchor, Value value) {
    if (anchor != nullptr) anchors_[anchor_of(anchor)] = value;
    return value;
  }

  Value alias(const Event& at) {
    const auto found = anchors_.find(anchor_of(at.event.data.alias.anchor));
    if (found == anchors_.end()) refuse(at, "an alias without its anchor");
    count(at, size_of(found->second), found->second.dump(-1, ' ', false, Value::error_handler_t::replace).size());
    return found->second;
  }

  Value sequence(const Event& at, int depth) {
    Value list = Value::array();
    const std::string anchor = anchor_of(at.event.data.sequence_start.anchor);
    while (true) {
      Event next;
      take(next);
      if (next.event.type == YAML_SEQUENCE_END_EVENT) break;
      list.push_back(value(next, depth + 1));
    }
    count(at, 1, 0);
    if (!anchor.empty()) anchors_[anchor] = list;
    return list;
  }

  Value mapping(const Event& at, int depth) {
    Value object = Value::object();
    const std::string anchor = anchor_of(at.event.data.mapping_start.anchor);
    std::map<std::string, std::size_t> places;  // ordered_json looks keys up one by one
    while (true) {
      Event next;
      take(next);
      if (next.event.type == YAML_MAPPING_END_EVENT) break;
      const Value key = value(next, depth + 1);
      Event member;
      take(member);
      add(object, places, key, value(member, depth + 1));
    }
    count(at, 1, 0);
    if (!anchor.empty()) anchors_[anchor] = object;
    return object;
  }

  // "<<" merges the members of another mapping, which never replace stated ones.
  static void add(Value& object, std::map<std::string, std::size_t>& places, const Value& key, Value member) {
    const std::string name = key.is_string() ? key.get<std::string>() : key.is_null() ? "null" : key.dump();
    auto& members = object.get_ref<Value::object_t&>();
    if (name == "<<" && member.is_object()) {
      for (auto& [inner, inherited] : member.items())
        if (places.emplace(inner, members.size()).second) members.emplace_back(inner, inherited);
      return;
    }
    const auto [place, is_new] = places.emplace(name, members.size());
    if (is_new)
      members.emplace_back(name, std::move(member));
    else
      (members.begin() + static_cast<std::ptrdiff_t>(place->second))->second = std::move(member);
  }

  yaml_parser_t parser_{};
  std::map<std::string, Value> anchors_{};
  std::size_t values_ = 0, characters_ = 0;
};

// A template that a program fills in later: {{ model_dir }} becomes <model_dir>, a value that nobody knows.
std::string with_places(std::string_view text) {
  constexpr std::size_t kLongestName = 60;
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.substr(at, 2) == "{{" ? text.find("}}", at + 2) : text.npos;
    std::string_view name = end == text.npos ? "" : text.substr(at + 2, std::min(end - at - 2, kLongestName));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    const bool whole = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
    });
    if (whole && end - at - 2 < kLongestName)
      filled += "<" + std::string(name) + ">", at = end + 2;
    else
      filled += text[at++];
  }
  return filled;
}

}  // namespace

std::optional<Value> read_yaml(std::string_view text, const std::string& file, Findings& findings) {
  try {
    return text.find("{{") == text.npos ? Reader(text).document() : Reader(with_places(text)).document();
  } catch (const Mistake& mistake) {
    findings.complaints.push_back(
        {fmt::format("{}:{}:{}", file, mistake.line, mistake.column), "",
         fmt::format("not YAML that can be read: {}; expected blocks of KEY: VALUE", printable(mistake.message, 200))});
    return std::nullopt;
  }
}

}  // namespace foretoken::io::launch
