// Looks settings of torchtitan up, which moved between sections over the years.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::torchtitan {

inline constexpr const char* kByDefault = "torchtitan's default (config/job_config.py)";
using Names = std::initializer_list<std::string_view>;

struct Found {
  std::string text, key;
};

/// Looks settings up by "section.key".
class Settings {
 public:
  explicit Settings(const nlohmann::ordered_json& document) : document_(document) {}

  [[nodiscard]] const nlohmann::ordered_json* at(std::string_view key) const {
    asked_.emplace(key);
    const nlohmann::ordered_json* place = &document_;
    while (place->is_object() && !key.empty()) {
      const std::size_t dot = std::min(key.find('.'), key.size());
      const auto found = place->find(std::string(key.substr(0, dot)));
      if (found == place->end()) return nullptr;
      place = &*found;
      key.remove_prefix(std::min(dot + 1, key.size()));
    }
    return key.empty() ? place : nullptr;
  }

  /// Returns the first of these names that is stated. The others are older names of it.
  [[nodiscard]] std::optional<Found> find(Names keys) const {
    for (auto key = keys.begin(); key != keys.end(); ++key)
      if (const auto* value = at(*key); value != nullptr && value->is_string()) {
        for (auto older = key + 1; older != keys.end(); ++older) newer_[std::string(*older)] = std::string(*key);
        return Found{value->get<std::string>(), std::string(*key)};
      }
    return std::nullopt;
  }

  /// Returns the stated name of which `key` is an older one; empty where there is none.
  [[nodiscard]] std::string newer_name_of(const std::string& key) const {
    const auto found = newer_.find(key);
    return found == newer_.end() ? "" : found->second;
  }

  [[nodiscard]] bool on(Names keys) const {
    const auto found = find(keys);
    return found && switch_of(found->text).value_or(false);
  }

  [[nodiscard]] bool was_asked(const std::string& key) const { return asked_.contains(key); }

 private:
  const nlohmann::ordered_json& document_;
  mutable std::set<std::string, std::less<>> asked_;
  mutable std::map<std::string, std::string, std::less<>> newer_;  ///< by older name
};

/// Returns the reason for a value that nobody knows: "training.seq_len: SEQ is not set; ...". Empty for other values.
[[nodiscard]] std::string why_open(const Settings& settings, Names keys);

/// Returns a whole number; another text is refused.
[[nodiscard]] std::optional<std::int64_t> number(const Settings& settings, Report& report, Names keys);

/// The part of torchtitan that applies the types of mixed precision.
enum class MixedBy : std::uint8_t { kFsdp, kAutocast, kNothing };

/// Maps the precision of products, of weights, states and gradients, and their formats in fp8.
void map_precision(const Settings& settings, MixedBy mixed, Report& report);

/// Maps the ranks that share experts, and the exchange of tokens. Parallel degrees stand in the report.
void map_experts(const Settings& settings, std::int64_t tensor, Report& report);

/// Maps activation checkpointing. `layers`: those of the model, or 0 where nobody knows them.
void map_recompute(const Settings& settings, std::int64_t layers, Report& report);

/// Returns true where linear layers have products in torchao's float8.
[[nodiscard]] bool has_float8(const Settings& settings);

/// Lists the sections and keys that no rule reads. Runs last.
void sort_sections(const nlohmann::ordered_json& document, const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::torchtitan
