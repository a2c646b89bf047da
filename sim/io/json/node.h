// Reads JSON with checks: a wrong value becomes a complaint with its file and JSON pointer, and reading goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/job/notes.h"

namespace foretoken::io {

/// A file that was read.
struct ReadFile {
  std::filesystem::path path;
  std::uint64_t digest = 0;  ///< of its bytes
};

/// Returns the paths alone.
[[nodiscard]] std::vector<std::filesystem::path> paths_of(const std::vector<ReadFile>& files);

/// The complaints, notes and files of one reading, shared by all its nodes. The top-level reader throws all complaints
/// at once.
struct Findings {
  Complaints complaints;
  job::Notes notes;
  std::vector<ReadFile> files;  ///< in the order of reading

  void throw_if_wrong() const;  ///< throws ConfigError with every complaint, if there is one
};

/// The origin of a JSON value.
struct Source {
  std::string file;                   ///< as shown to the user
  std::filesystem::path folder = {};  ///< relative paths inside it start here
  bool notes_defaults = false;        ///< absent optional keys are listed in Findings::notes
};

/// One rule holds for all quantities (docs/user/scenarios.md): none is larger than kLargest, and one closer to 0 than
/// kSmallest counts as 0. Products and ratios of several quantities then stay finite.
inline constexpr double kSmallest = 1e-24, kLargest = 1e36;

/// The numbers that a key may take.
struct Range {
  double low = -kLargest;
  double high = kLargest;
  bool above_low = false;  ///< `low` itself is outside
  double thousand = 0;     ///< the k of texts such as "15T"; 0: the key takes no texts
};
inline constexpr Range kAnyNumber{};
inline constexpr Range kPositive{.low = 0, .above_low = true};
inline constexpr Range kNonNegative{.low = 0};
inline constexpr Range kFraction{.low = 0, .high = 1};
/// The whole numbers that a key may take. Beyond 2^53 a double would not hold them exactly.
struct WholeRange {
  std::int64_t low = 1;
  std::int64_t high = std::int64_t{1} << 53;
  double thousand = 0;  ///< the k of texts such as "4k"; 0: the key takes no texts
};

/// A JSON value with its pointer. Every kind of value has three forms of access to a member:
///   node.number("x")              required: complains when absent or wrong, then returns a harmless value of the range
///   node.number_or("x", 3)        optional: absent or null takes 3, and the pointer is noted as defaulted
///   node.find_number("x")         optional without a default
/// Reading from a missing or mistyped object is silent, so that one mistake makes one complaint.
/// A node is a view: the JSON value, the source and the findings must outlive it.
class Node {
 public:
  Node(const nlohmann::json& value, const Source& source, Findings& findings, std::string pointer = {});

  /// Complains about every key outside `known`, with the nearest known name.
  void allow_only(std::initializer_list<std::string_view> known) const;
  void allow_only(std::span<const std::string> known) const;
  [[nodiscard]] bool has(std::string_view key) const;   ///< present and not null
  [[nodiscard]] std::vector<std::string> keys() const;  ///< sorted; none when this is no object

  [[nodiscard]] Node object(std::string_view key) const { return child(key).as_object(); }
  [[nodiscard]] std::optional<Node> find_object(std::string_view key) const;
  [[nodiscard]] Node object_or_empty(std::string_view key) const;  ///< absent: every key inside takes its default
  [[nodiscard]] std::vector<Node> array(std::string_view key) const { return child(key).as_array(); }
  [[nodiscard]] std::optional<std::vector<Node>> find_array(std::string_view key) const;

  [[nodiscard]] double number(std::string_view key, Range range = kAnyNumber) const;
  [[nodiscard]] double number_or(std::string_view key, double fallback, Range range = kAnyNumber) const;
  [[nodiscard]] std::optional<double> find_number(std::string_view key, Range range = kAnyNumber) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view key, Range range = kAnyNumber) const;

  [[nodiscard]] std::int64_t whole(std::string_view key, WholeRange range = {}) const;
  [[nodiscard]] std::int64_t whole_or(std::string_view key, std::int64_t fallback, WholeRange range = {}) const;
  [[nodiscard]] std::optional<std::int64_t> find_whole(std::string_view key, WholeRange range = {}) const;
  [[nodiscard]] int positive_int(std::string_view key) const;
  [[nodiscard]] int positive_int_or(std::string_view key, int fallback) const;

  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text_or(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::optional<std::string> find_text(std::string_view key) const;

  [[nodiscard]] bool boolean(std::string_view key) const;
  [[nodiscard]] bool boolean_or(std::string_view key, bool fallback) const;
  [[nodiscard]] std::optional<bool> find_boolean(std::string_view key) const;

  template <class T>
  struct Choice {  ///< of an enumeration, by name: node.one_of<Kind>("kind", {{"flash", Kind::kFlash}, ...})
    std::string_view name;
    T value;
  };
  template <class T>
  using Choices = std::initializer_list<Choice<T>>;
  template <class T>
  [[nodiscard]] T one_of(std::string_view key, Choices<T> choices) const {
    return child(key).as_one_of(choices);
  }
  template <class T>
  [[nodiscard]] T one_of_or(std::string_view key, T fallback, Choices<T> choices) const {
    return takes_default(key) ? fallback : child(key).as_one_of(choices);
  }

  /// Returns the member itself, of any kind. Reading an absent member complains that it is missing.
  [[nodiscard]] Node child(std::string_view key) const;

  // These functions read the value itself.
  [[nodiscard]] Node as_object() const;
  [[nodiscard]] std::vector<Node> as_array() const;
  [[nodiscard]] double as_number(Range range = kAnyNumber) const;
  [[nodiscard]] std::int64_t as_whole(WholeRange range = {}) const;
  [[nodiscard]] std::string as_text() const;       ///< printable: no text of a file can steer a terminal
  [[nodiscard]] std::string as_reference() const;  ///< as it stands: a name or path of a file
  [[nodiscard]] bool as_boolean() const;
  template <class T>
  [[nodiscard]] T as_one_of(Choices<T> choices) const {
    std::vector<std::string> names;
    for (const auto& choice : choices) names.emplace_back(choice.name);
    return (choices.begin() + as_choice(names))->value;
  }
  /// Returns the place of this text among `names`. Complains, and returns 0, when it is not among them.
  [[nodiscard]] std::ptrdiff_t as_choice(std::span<const std::string> names) const;
  [[nodiscard]] bool is_text() const;

  /// Adds a complaint about this value, or about its member `key`. The message names expected, found and a remedy.
  void complain(std::string_view message) const;
  void complain(std::string_view key, std::string_view message) const;
  /// Complains "expected WHAT, found ..." or "missing; expected WHAT".
  void expected(std::string_view what) const;
  /// Describes the value in short, printable words: "a string "8"", "an array", "nothing".
  [[nodiscard]] std::string found() const;

  /// Returns the JSON pointer of the value. It is looked for in the whole document, so ask only to show it.
  [[nodiscard]] std::string pointer() const;
  [[nodiscard]] const Source& source() const { return *source_; }
  [[nodiscard]] Findings& findings() const { return *findings_; }
  [[nodiscard]] const nlohmann::json& value() const;  ///< null for a missing value

 private:
  Node(const nlohmann::json* value, bool muted, const Node& parent);
  Node(const nlohmann::json& root, bool muted, const Node& parent, std::string pointer);
  [[nodiscard]] Node missing(std::string_view key) const;
  [[nodiscard]] const nlohmann::json* member(std::string_view key) const;  ///< nullptr: missing
  [[nodiscard]] bool takes_default(std::string_view key) const;

  const nlohmann::json* value_;  ///< nullptr: missing
  const nlohmann::json* root_;   ///< holds the value, or holds what would hold it
  const nlohmann::json* place_;  ///< the value, or the innermost that exists where it is missing
  const Source* source_;
  Findings* findings_;
  std::string pointer_;       ///< of the root
  std::string missing_ = {};  ///< the pointer from place_ to a missing value
  bool muted_ = false;        ///< a complaint about an outer value already exists
};

}  // namespace foretoken::io
