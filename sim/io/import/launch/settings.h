// Looks up the settings of a configuration file by dotted keys, and sorts the ones that no rule reads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

using Names = std::initializer_list<std::string_view>;  ///< spellings of one setting; the first that is stated counts

/// A rule for keys that no code reads. `keys` are dotted, parted by spaces; a last * stands for any end. Without
/// `because` they change neither time nor memory; `refused` ones change the answer, others are noted as a small effect.
struct KeyRule {
  std::string_view keys, because = "";
  bool refused = false;
};

/// Keys without a rule are refused, all of them or those whose name tells that they may matter.
enum class Unknown : std::uint8_t { kRefused, kByName };

/// Returns true when `keys` lists the key.
[[nodiscard]] bool lists_key(std::string_view keys, std::string_view key);

/// Returns the document with every scalar as a text, as the YAML reader gives it: 8 as "8", true as "true".
[[nodiscard]] Json as_texts(const Json& document);

/// Replaces "${a.b}", "${.b}" and the functions multiply, divide_floor, oc.env and env, and "${NAME:value}", inside one
/// document. A reference that leads nowhere, or to itself, stays as it is. Returns the dotted keys that references lead
/// to.
std::set<std::string> resolve_references(Json& document);

/// Replaces references likewise. Each one that stays becomes a text of which nothing is known, with the reason:
/// shell/unknown.h. Variables of the environment are put in before: environment.h.
void fill_in_references(Json& document);

class Settings {
 public:
  /// `name` stands before the keys in answers: "training_config".
  Settings(Json document, Report& report) : document_(std::move(document)), report_(report) {}

  [[nodiscard]] Report& report() const { return report_; }
  [[nodiscard]] const Json& document() const { return document_; }

  /// Returns the value at a dotted key; none where nothing stands. The key and all keys inside it count as read.
  [[nodiscard]] const Json* at(std::string_view key) const;

  /// Returns true when one of the keys has a value other than null. Keys inside a section do not count as read.
  [[nodiscard]] bool has(Names names) const { return !from(names).empty(); }
  /// Returns the key that is stated; empty for none. Keys inside a section do not count as read.
  [[nodiscard]] std::string from(Names names) const;
  /// Returns the value as a text. Members of a list are parted by spaces.
  [[nodiscard]] std::optional<std::string> text(Names names) const;
  /// Returns true where the key holds the word none, which text() takes for nothing.
  [[nodiscard]] bool says_none(std::string_view key) const;
  /// Returns a number. Another text is refused; "auto" and references that lead nowhere are no values.
  [[nodiscard]] std::optional<std::int64_t> whole(Names names) const;
  [[nodiscard]] std::optional<double> number(Names names) const;
  /// Returns true for a switch that is on; any text that is no switch is on.
  [[nodiscard]] bool on(Names names) const;

  /// Maps a whole number to a key of the scenario, where it is stated.
  std::optional<std::int64_t> map_whole(Names names, std::string_view key) const;
  /// Likewise; takes `fallback` for a reason where it is not stated.
  std::int64_t map_or(Names names, std::string_view key, std::int64_t fallback, std::string_view because) const;

  /// Ignores keys of the user's own that others refer to: "lr: 1e-6" beside "optimizer.lr: ${lr}". The key that
  /// refers counts. Keys with a rule stay.
  void ignore_variables(const std::set<std::string>& variables, std::span<const KeyRule> rules) const;

  /// Lists the keys that nothing has asked for. The first rule that lists a key counts. A key without a rule is
  /// refused where it is on. By names a * takes no key of offloading, parallelism or a narrow format as without effect.
  /// A parallel degree of 1 is off.
  void sort_rest(std::span<const KeyRule> rules, Unknown unknown = Unknown::kRefused) const;

  /// Returns all leaves with their dotted keys; a list of scalars is one leaf.
  [[nodiscard]] std::vector<std::pair<std::string, const Json*>> leaves() const;
  [[nodiscard]] bool was_asked(std::string_view key) const { return asked_.contains(key); }

 private:
  // Returns the value at a dotted key, which does not count as read.
  [[nodiscard]] const Json* find(std::string_view key) const;

  Json document_;
  Report& report_;
  mutable std::set<std::string, std::less<>> asked_{};
};

}  // namespace foretoken::io::launch
