// Reads members of an object: required, with a default, or optional.
#include <nlohmann/json.hpp>

#include "sim/io/json/node.h"

namespace foretoken::io {
namespace {

constexpr WholeRange kPositiveInt{.low = 1, .high = std::numeric_limits<int>::max()};

}  // namespace

/// Returns true for an absent or null member, and notes the default where the user should see it.
bool Node::takes_default(std::string_view key) const {
  if (has(key)) return false;
  if (!muted_ && source_->notes_defaults) findings_->notes.defaulted.push_back(child(key).pointer());
  return true;
}

std::optional<Node> Node::find_object(std::string_view key) const {
  return has(key) ? std::optional(object(key)) : std::nullopt;
}

Node Node::object_or_empty(std::string_view key) const {
  static const nlohmann::json kEmpty = nlohmann::json::object();
  return has(key) ? object(key) : Node(kEmpty, muted_, *this, child(key).pointer());
}

std::optional<std::vector<Node>> Node::find_array(std::string_view key) const {
  return has(key) ? std::optional(array(key)) : std::nullopt;
}

double Node::number(std::string_view key, Range range) const { return child(key).as_number(range); }

double Node::number_or(std::string_view key, double fallback, Range range) const {
  return takes_default(key) ? fallback : number(key, range);
}

std::optional<double> Node::find_number(std::string_view key, Range range) const {
  return has(key) ? std::optional(number(key, range)) : std::nullopt;
}

std::int64_t Node::whole(std::string_view key, WholeRange range) const { return child(key).as_whole(range); }

std::int64_t Node::whole_or(std::string_view key, std::int64_t fallback, WholeRange range) const {
  return takes_default(key) ? fallback : whole(key, range);
}

std::optional<std::int64_t> Node::find_whole(std::string_view key, WholeRange range) const {
  return has(key) ? std::optional(whole(key, range)) : std::nullopt;
}

int Node::positive_int(std::string_view key) const { return static_cast<int>(whole(key, kPositiveInt)); }

int Node::positive_int_or(std::string_view key, int fallback) const {
  return takes_default(key) ? fallback : positive_int(key);
}

std::string Node::text(std::string_view key) const { return child(key).as_text(); }

std::string Node::text_or(std::string_view key, std::string_view fallback) const {
  return takes_default(key) ? std::string(fallback) : text(key);
}

std::optional<std::string> Node::find_text(std::string_view key) const {
  return has(key) ? std::optional(text(key)) : std::nullopt;
}

bool Node::boolean(std::string_view key) const { return child(key).as_boolean(); }

bool Node::boolean_or(std::string_view key, bool fallback) const {
  return takes_default(key) ? fallback : boolean(key);
}

std::optional<bool> Node::find_boolean(std::string_view key) const {
  return has(key) ? std::optional(boolean(key)) : std::nullopt;
}

}  // namespace foretoken::io
