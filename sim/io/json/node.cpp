// Checks JSON values and words the complaints about them.
#include "sim/io/json/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/base/parse_count.h"
#include "sim/base/text.h"

namespace foretoken::io {
namespace {

using nlohmann::json;

/// Returns "/key" of a JSON pointer: ~ and / are escaped (RFC 6901), long and unprintable keys are made printable.
std::string step_to(std::string_view key) {
  if (key.find_first_of("~/") == key.npos) return '/' + printable(key, 60);
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return '/' + printable(token, 60);
}

/// Returns the JSON pointer from `from` to the value `wanted` inside it, or nothing. Values are the same when their
/// addresses are.
std::optional<std::string> path_to(const json& from, const json* wanted) {
  if (&from == wanted) return "";
  if (from.is_object()) {
    for (const auto& [key, member] : from.items())
      if (const auto rest = path_to(member, wanted)) return step_to(key) + *rest;
  } else if (from.is_array()) {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (const auto rest = path_to(from[i], wanted)) return step_to(std::to_string(i)) + *rest;
  }
  return std::nullopt;
}

/// Writes a number as people do: 8, 0.5, 1e+300.
std::string in_words(double value) { return fmt::format("{}", value); }

std::string in_words(const Range& range) {
  const bool bounded = range.high < kAnyNumber.high;
  if (range.low == kAnyNumber.low) return bounded ? fmt::format("a number of at most {}", range.high) : "a number";
  if (range.above_low && bounded) return fmt::format("a number above {} and at most {}", range.low, range.high);
  if (range.above_low) return range.low == 0 ? "a positive number" : fmt::format("a number above {}", range.low);
  return bounded ? fmt::format("a number from {} to {}", range.low, range.high)
                 : fmt::format("a number of at least {}", range.low);
}

std::string in_words(const WholeRange& range) {
  if (range.high < WholeRange{}.high) return fmt::format("a whole number from {} to {}", range.low, range.high);
  return range.low == 1 ? "a positive whole number" : fmt::format("a whole number of at least {}", range.low);
}

/// Returns the number of a text such as "15T". Plain digits stay texts.
std::optional<double> spelled_count(const json& value, double thousand) {
  if (thousand == 0 || !value.is_string()) return std::nullopt;
  const std::string_view text = value.get_ref<const std::string&>();
  const bool has_letter = !text.empty() && std::string_view("kKMBGT").find(text.back()) != std::string_view::npos;
  return has_letter ? parse_count(text, thousand) : std::nullopt;
}

/// Returns the number of a value where it lies in `range`, or nothing.
std::optional<double> number_within(const json& value, const Range& range) {
  const std::optional<double> count = spelled_count(value, range.thousand);
  if (!value.is_number() && !count) return std::nullopt;
  const double stated = count ? *count : value.get<double>();
  const double number = std::abs(stated) < kSmallest ? 0 : stated;
  const bool inside = number >= range.low && number <= range.high && !(range.above_low && number == range.low);
  return inside ? std::optional(number) : std::nullopt;
}

/// Words like "a positive number" leave out the rule for all quantities. Returns it where a number breaks it.
std::string limit_of_quantities(const json& value, const Range& range) {
  const std::optional<double> count = spelled_count(value, range.thousand);
  const double number = count ? *count : value.is_number() ? value.get<double>() : 0;
  const bool above = number > kLargest && range.high == kLargest, below = number < -kLargest && range.low == -kLargest;
  if (!above && !below) return "";
  return fmt::format(", at {} {}", above ? "most" : "least", std::copysign(kLargest, number));
}

/// Returns the whole number of 8 or 8e0, or nothing when a double would not hold it exactly.
std::optional<std::int64_t> whole_number(const json& value) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(kExact)) return {};
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::trunc(number) != number || std::abs(number) > static_cast<double>(kExact)) return {};
    return static_cast<std::int64_t>(number);
  }
  const auto number = value.get<std::int64_t>();
  return number >= -kExact && number <= kExact ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<std::filesystem::path> paths_of(const std::vector<ReadFile>& files) {
  std::vector<std::filesystem::path> paths;
  for (const ReadFile& file : files) paths.push_back(file.path);
  return paths;
}

void Findings::throw_if_wrong() const {
  if (!complaints.empty()) throw ConfigError(complaints.listed());
}

Node::Node(const json& value, const Source& source, Findings& findings, std::string pointer)
    : value_(&value),
      root_(&value),
      place_(&value),
      source_(&source),
      findings_(&findings),
      pointer_(std::move(pointer)) {}

Node::Node(const json* value, bool muted, const Node& parent)
    : value_(value),
      root_(parent.root_),
      place_(value != nullptr ? value : parent.place_),
      source_(parent.source_),
      findings_(parent.findings_),
      pointer_(parent.pointer_),
      muted_(muted) {}

Node::Node(const json& root, bool muted, const Node& parent, std::string pointer)
    : Node(root, *parent.source_, *parent.findings_, std::move(pointer)) {
  muted_ = muted;
}

Node Node::missing(std::string_view key) const {
  Node node(nullptr, muted_ || !value().is_object(), *this);
  node.missing_ = missing_ + step_to(key);
  return node;
}

const json* Node::member(std::string_view key) const {
  if (value_ == nullptr || !value_->is_object()) return nullptr;
  const auto found = value_->find(key);
  return found == value_->end() ? nullptr : &*found;
}

Node Node::child(std::string_view key) const {
  const json* const found = member(key);
  return found != nullptr ? Node(found, muted_, *this) : missing(key);
}

std::string Node::pointer() const { return pointer_ + path_to(*root_, place_).value_or("") + missing_; }

const json& Node::value() const {
  static const nlohmann::json kNothing;
  return value_ == nullptr ? kNothing : *value_;
}

bool Node::has(std::string_view key) const {
  const json* const found = member(key);
  return found != nullptr && !found->is_null();
}

std::vector<std::string> Node::keys() const {
  std::vector<std::string> names;
  if (!value().is_object()) return names;
  for (const auto& member : value().items()) names.push_back(member.key());
  return names;  // nlohmann::json keeps the members of an object in a std::map
}

namespace {

constexpr std::string_view kKnownHere = "; known here: ";

// Returns the letters of the longest word of three letters and more that both names have; 0 if there is none.
std::size_t shared_word(const std::vector<std::string>& words, std::string_view name) {
  constexpr std::size_t kShortest = 3;
  std::size_t longest = 0;
  for (const std::string& word : words_of_name(name))
    if (word.size() >= kShortest && std::ranges::find(words, word) != words.end())
      longest = std::max(longest, word.size());
  return longest;
}

// Sorts the keys that are like `key` to the front: keys with the longest word of it, then keys with its first letter,
// then keys that few edits make of it.
std::vector<std::string> nearest_first(std::string_view key, std::span<const std::string> known) {
  constexpr std::size_t kCompared = 72;  // a long key costs no quadratic time
  key = key.substr(0, kCompared);
  const std::vector<std::string> words = words_of_name(key);
  std::vector<std::tuple<std::size_t, bool, std::size_t, std::string>> ranked;  // the least comes first
  for (const std::string& name : known)
    ranked.emplace_back(kCompared - shared_word(words, name), name.substr(0, 1) != key.substr(0, 1),
                        edit_distance(key, name), name);
  std::ranges::sort(ranked);
  std::vector<std::string> names;
  for (const auto& each : ranked) names.push_back(std::get<std::string>(each));
  return names;
}

// Copies no key: nearly every object has known keys only.
template <class Names>
bool has_only(const json& value, const Names& known) {
  const auto is_known = [&](const auto& member) { return std::ranges::find(known, member.first) != known.end(); };
  return !value.is_object() || std::ranges::all_of(value.get_ref<const json::object_t&>(), is_known);
}

// Lists the known keys where they fit into `columns`. Otherwise it lists those most like `key` that fit, one at least.
std::string known_keys(std::string_view key, std::span<const std::string> known, std::size_t columns) {
  if (known.empty()) return "";
  const std::string all = fmt::format("{}{}", kKnownHere, fmt::join(known, ", "));
  if (all.size() <= columns) return all;
  std::string text(kKnownHere);
  std::size_t listed = 0;
  for (const std::string& name : nearest_first(key, known)) {
    const std::string more = fmt::format(" and {} more", known.size() - listed);
    if (listed > 0 && text.size() + name.size() + 2 + more.size() > columns) continue;
    text += (listed > 0 ? ", " : "") + name;
    ++listed;
  }
  return listed < known.size() ? fmt::format("{} and {} more", text, known.size() - listed) : text;
}

}  // namespace

void Node::allow_only(std::initializer_list<std::string_view> known) const {
  if (!has_only(value(), known)) allow_only(std::vector<std::string>(known.begin(), known.end()));
}

void Node::allow_only(std::span<const std::string> known) const {
  if (has_only(value(), known)) return;
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (findings_->complaints.is_full()) {
      complain("one more");  // is counted; a hint for it costs time
      continue;
    }
    std::string hint = did_you_mean(key, known);
    if (hint.empty()) {
      // Long paths are mostly those of shipped files. Only --set puts a key into these, and such a line has no path.
      constexpr std::size_t kLine = 118, kLeast = 80;
      const std::size_t before = fmt::formatted_size("{}: {}: unknown key", source_->file, missing(key).pointer());
      hint = known_keys(key, known, std::max(kLeast, kLine - std::min(kLine, before)));
    }
    complain(key, "unknown key" + hint);
  }
}

void Node::complain(std::string_view message) const {
  if (muted_) return;
  // A document with countless mistakes is not searched for each of them.
  const std::string place = findings_->complaints.is_full() ? std::string() : pointer();
  findings_->complaints.push_back({source_->file, place, std::string(message)});
}

void Node::complain(std::string_view key, std::string_view message) const {
  Node node = missing(key);
  node.muted_ = muted_;
  node.complain(message);
}

std::string Node::found() const {
  const json& held = value();
  switch (held.type()) {
    case json::value_t::null:
      return value_ == nullptr ? "nothing" : "null";
    case json::value_t::boolean:
      return held.get<bool>() ? "true" : "false";
    case json::value_t::string:
      return "a string " + in_quotes(held.get_ref<const std::string&>());
    case json::value_t::array:
      return held.empty() ? "an empty array" : "an array";
    case json::value_t::object:
      return held.empty() ? "an empty object" : "an object";
    case json::value_t::number_float:
      return in_words(held.get<double>());
    default:
      return held.dump();
  }
}

void Node::expected(std::string_view what) const {
  complain(value_ == nullptr ? fmt::format("missing; expected {}", what)
                             : fmt::format("expected {}, found {}", what, found()));
}

Node Node::as_object() const {
  if (value().is_object()) return *this;
  expected("an object");
  Node node(nullptr, true, *this);
  node.missing_ = missing_;
  return node;
}

std::vector<Node> Node::as_array() const {
  std::vector<Node> members;
  if (!value().is_array()) {
    expected("an array");
    return members;
  }
  members.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) members.push_back({&(*value_)[i], muted_, *this});
  return members;
}

double Node::as_number(Range range) const {
  if (const auto number = number_within(value(), range)) return *number;
  expected(in_words(range) + limit_of_quantities(value(), range));
  return std::clamp(1.0, range.low, range.high);
}

std::vector<double> Node::numbers(std::string_view key, Range range) const {
  std::vector<double> values;
  const Node list = child(key);
  if (!list.value().is_array()) {
    list.expected("an array");
    return values;
  }
  values.reserve(list.value().size());
  for (const json& member : list.value()) {
    const auto number = number_within(member, range);
    values.push_back(number ? *number : Node(&member, list.muted_, list).as_number(range));  // complains
  }
  return values;
}

std::int64_t Node::as_whole(WholeRange range) const {
  const std::optional<double> count = spelled_count(value(), range.thousand);
  const json held = count ? json(*count) : value();
  if (held.is_number()) {
    const std::optional<std::int64_t> number = whole_number(held);
    if (number && *number >= range.low && *number <= range.high) return *number;
    if (held.get<double>() > static_cast<double>(WholeRange{}.high)) {  // beyond what doubles hold exactly
      expected(fmt::format("a whole number from {} to {}", range.low, range.high));
      return range.low;
    }
  }
  expected(in_words(range));
  return std::clamp(std::int64_t{1}, range.low, range.high);
}

std::string Node::as_text() const { return printable(as_reference(), kAnyLength); }

std::string Node::as_reference() const {
  if (is_text()) return value_->get<std::string>();
  expected("a string");
  return {};
}

bool Node::as_boolean() const {
  if (value().is_boolean()) return value_->get<bool>();
  expected("true or false");
  return false;
}

bool Node::is_text() const { return value().is_string(); }

std::ptrdiff_t Node::as_choice(std::span<const std::string> names) const {
  const std::string* const word = is_text() ? &value_->get_ref<const std::string&>() : nullptr;
  const auto found_name = word != nullptr ? std::ranges::find(names, *word) : names.end();
  if (found_name != names.end()) return found_name - names.begin();
  std::vector<std::string> allowed;
  for (const std::string& name : names) allowed.push_back(in_quotes(name));
  if (word == nullptr)
    expected(either(allowed));
  else
    complain(fmt::format("expected {}, found {}{}", either(allowed), in_quotes(*word), did_you_mean(*word, names)));
  return 0;
}

}  // namespace foretoken::io
