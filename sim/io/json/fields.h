// Lists the fields of a JSON object once for both directions: reading with checks, and writing.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

using Json = nlohmann::ordered_json;

/// One pass over the fields of an object. A table of fields is a function that names each field once, in the order of
/// the written text:
///
///   void host_fields(Fields& f, cost::HostLaw& law) {
///     f.microseconds("launch_us", law.launch, kMicroseconds);
///     f.object("evidence", law.evidence, evidence_fields);
///   }
///   read_fields<cost::HostLaw>(node, host_fields);  written_fields(law, host_fields);
///
/// Reading sets the value of a field, and writing takes it. A `..._where` field may be absent. It is written where
/// `written` is true, and reading leaves its value unchanged where the text has none.
class Fields {
 public:
  template <class T>
  using Table = void (*)(Fields&, T&);

  [[nodiscard]] static Fields of_keys();  ///< names the keys; touches no value
  [[nodiscard]] static Fields reading(const Node& node) { return Fields(&node); }
  [[nodiscard]] static Fields writing();

  [[nodiscard]] bool reads() const { return node_ != nullptr; }
  [[nodiscard]] bool writes() const { return writes_; }
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }
  [[nodiscard]] const Json& json() const { return json_; }

  void text(std::string_view key, std::string& value);
  void text_where(bool written, std::string_view key, std::string& value);
  void boolean(std::string_view key, bool& value);
  void whole(std::string_view key, int& value, WholeRange range);
  void whole_where(bool written, std::string_view key, int& value, WholeRange range);
  void number(std::string_view key, double& value, Range range);
  void number_where(bool written, std::string_view key, double& value, Range range);
  /// Leaves the key out when the value is `fallback`.
  void number_or(std::string_view key, double& value, double fallback, Range range);
  void texts_where(bool written, std::string_view key, std::vector<std::string>& values);

  // These are written with four significant digits.
  void rounded(std::string_view key, double& value, Range range);
  void microseconds(std::string_view key, Seconds& value, Range range);
  void nanoseconds_where(bool written, std::string_view key, Seconds& value, Range range);
  void gigabytes(std::string_view key, BytesPerSecond& value, Range range);
  void gigabytes_where(bool written, std::string_view key, BytesPerSecond& value, Range range);
  void teraflops(std::string_view key, FlopPerSecond& value, Range range);
  void teraflops_where(std::string_view key, std::optional<FlopPerSecond>& value, Range range);

  /// Writes logarithms as whole ten-thousandths, which are short and far finer than any measurement.
  void ten_thousandths(std::string_view key, std::vector<double>& values, Range range);
  void ten_thousandths_where(bool written, std::string_view key, std::vector<double>& values, Range range);

  template <class T>
  void one_of(std::string_view key, T& value, Node::Choices<T> choices) {
    custom(
        key, [&](const Node& node) { value = node.one_of<T>(key, choices); },
        [&] {
          for (const auto& choice : choices)
            if (choice.value == value) return Json(choice.name);
          return Json();
        });
  }

  template <class T>
  void object(std::string_view key, T& value, Table<T> table) {
    custom(
        key, [&](const Node& node) { value = read_fields<T>(node.object(key), table); },
        [&] { return written_fields(value, table); });
  }

  template <class T>
  void object_where(bool written, std::string_view key, T& value, Table<T> table) {
    custom(
        key,
        [&](const Node& node) {
          if (const auto found = node.find_object(key)) value = read_fields<T>(*found, table);
        },
        [&] { return written ? written_fields(value, table) : Json(); });
  }

  template <class T>
  void optional_object(std::string_view key, std::optional<T>& value, Table<T> table) {
    custom(
        key,
        [&](const Node& node) {
          if (const auto found = node.find_object(key)) value = read_fields<T>(*found, table);
        },
        [&] { return value ? written_fields(*value, table) : Json(); });
  }

  template <class T>
  void list(std::string_view key, std::vector<T>& values, Table<T> table) {
    custom(
        key, [&](const Node& node) { values = read_list<T>(node.array(key), table); },
        [&] { return written_list(values, table); });
  }

  template <class T>
  void list_where(bool written, std::string_view key, std::vector<T>& values, Table<T> table) {
    custom(
        key,
        [&](const Node& node) {
          if (const auto found = node.find_array(key)) values = read_list<T>(*found, table);
        },
        [&] { return written ? written_list(values, table) : Json(); });
  }

  /// Adds a word that the reader used before the table runs, such as the name of a law.
  void known_word(std::string_view key, std::string_view word);

  /// Adds a field of any other form. `read` gets the node that holds the key. A null of `write` leaves the key out.
  template <class Read, class Write>
  void custom(std::string_view key, const Read& read, const Write& write) {
    if (reads())
      read(*node_);
    else if (writes())
      add(key, write());
    else
      keys_.emplace_back(key);
  }

  /// Checks a rule between fields while reading.
  template <class Rule>
  void check(const Rule& rule) const {
    if (reads()) rule(*node_);
  }

  /// Reads one object. Complains about unknown keys first, then about values.
  template <class T>
  [[nodiscard]] static T read_fields(const Node& node, Table<T> table, T value = {}) {
    Fields names = of_keys();
    table(names, value);
    node.allow_only(names.keys());
    Fields fields = reading(node);
    table(fields, value);
    return value;
  }

  template <class T>
  [[nodiscard]] static Json written_fields(T value, Table<T> table) {
    Fields fields = writing();
    table(fields, value);
    return fields.json();
  }

  template <class T>
  [[nodiscard]] static std::vector<T> read_list(const std::vector<Node>& nodes, Table<T> table) {
    std::vector<T> values;
    for (const Node& node : nodes) values.push_back(read_fields<T>(node, table));
    return values;
  }

  template <class T>
  [[nodiscard]] static Json written_list(const std::vector<T>& values, Table<T> table) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(written_fields(value, table));
    return list;
  }

 private:
  explicit Fields(const Node* node) : node_(node) {}
  void add(std::string_view key, Json value);  ///< leaves null out

  const Node* node_;
  bool writes_ = false;
  std::vector<std::string> keys_{};
  Json json_ = Json::object();
};

}  // namespace foretoken::io
