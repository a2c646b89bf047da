// Checked access to the members of one sample's JSON object. It throws std::invalid_argument with the fault.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Members by name. A member that nobody read is an error: a typo must not pass as a default.
class Fields {
 public:
  explicit Fields(const nlohmann::json& json);

  [[nodiscard]] bool has(const std::string& key) const { return json_->contains(key); }
  [[nodiscard]] std::string text(const std::string& key);
  [[nodiscard]] bool boolean(const std::string& key);
  [[nodiscard]] std::int64_t whole(const std::string& key);  ///< 1 .. 2^53
  [[nodiscard]] std::int64_t whole_or(const std::string& key, std::int64_t fallback);
  [[nodiscard]] int small(const std::string& key);        ///< 1 .. 2^30
  [[nodiscard]] double positive(const std::string& key);  ///< finite and above 0
  [[nodiscard]] Timing timing();                          ///< "us" and "runs"
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> texts(const std::string& key);

  template <class T, std::size_t N>
  [[nodiscard]] T one_of(const std::string& key, const std::array<std::pair<T, std::string_view>, N>& choices) {
    const std::string found = text(key);
    for (const auto& [value, name] : choices)
      if (name == found) return value;
    std::string expected;
    for (const auto& [value, name] : choices) (expected += expected.empty() ? "" : ", ") += name;
    throw std::invalid_argument(key + ": expected one of " + expected + ", found \"" + found + "\"");
  }

  void expect_all_read() const;

 private:
  const nlohmann::json& member(const std::string& key);

  const nlohmann::json* json_;
  std::set<std::string> read_;
};

}  // namespace foretoken::measured
