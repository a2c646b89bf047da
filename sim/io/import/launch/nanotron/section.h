// A section of a nanotron configuration, with the keys that rules have read.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::nanotron {

/// One section of the file: "parallelism".
class Section {
 public:
  using Document = nlohmann::ordered_json;

  Section(const Document& parent, std::string name) : name_(std::move(name)) {
    const auto found = parent.find(name_.substr(name_.rfind('.') + 1));
    if (found != parent.end() && found->is_object()) values_ = *found;
  }

  [[nodiscard]] const Document& values() const { return values_; }
  [[nodiscard]] bool has(const char* key) const {
    asked_.emplace(key);
    return values_.contains(key) && !values_.at(key).is_null();
  }
  [[nodiscard]] std::string from(const char* key) const { return name_ + "." + key; }

  [[nodiscard]] std::string text(const char* key) const {
    return has(key) && values_.at(key).is_string() ? values_.at(key).get<std::string>() : "";
  }

  [[nodiscard]] bool on(const char* key) const { return switch_of(text(key)).value_or(false); }

  /// Maps a whole number; takes `fallback` where the file has none.
  std::int64_t map(Report& report, const char* key, std::string_view to, std::int64_t fallback,
                   std::string because = "nanotron's default") const {
    const auto value = whole_of(text(key));
    if (value)
      report.map(to, *value, from(key));
    else if (has(key))
      report.refuse(from(key), "expected a whole number, found " + in_quotes(values_.at(key).dump()));
    else
      report.assume(to, fallback, std::move(because));
    return value.value_or(fallback);
  }

  /// Maps a value that a key decides about; without the key it is nanotron's default.
  void settle(Report& report, const char* key, std::string_view to, const Json& value) const {
    if (has(key))
      report.map(to, value, from(key));
    else
      report.assume(to, value, "nanotron's default");
  }

  /// Maps a whole number that the file must have.
  void require(Report& report, const char* key, std::string_view to) const {
    const auto value = whole_of(text(key));
    if (value)
      report.map(to, *value, from(key));
    else
      report.ask(to, from(key) + " states no whole number");
  }

  /// Lists the keys that no rule reads.
  void sort_rest(Report& report) const;

 private:
  std::string name_;
  Document values_ = Document::object();
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace foretoken::io::launch::nanotron
