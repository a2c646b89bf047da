// Reads the members of a sample.
#include "calibration/import/read_fields.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/text.h"

namespace foretoken::measured {
namespace {

constexpr std::int64_t kLargestWhole = std::int64_t{1} << 53;  // a double holds no larger one exactly
constexpr int kLargestSmall = 1 << 30;

[[noreturn]] void wrong(const std::string& key, std::string_view expected, const nlohmann::json& found) {
  constexpr std::size_t kLongest = 60;
  throw std::invalid_argument(
      fmt::format("{}: expected {}, found {}", key, expected,
                  printable(found.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), kLongest)));
}

double positive_number(const std::string& key, const nlohmann::json& json) {
  if (!json.is_number()) wrong(key, "a number above 0", json);
  const double value = json.get<double>();
  if (!std::isfinite(value) || value <= 0) wrong(key, "a number above 0", json);
  return value;
}

double time_us(const nlohmann::json& json) {
  const double value = positive_number("us", json);
  if (value < kShortestUs || value > kLongestUs)
    wrong("us", fmt::format("microseconds from {} to {}", kShortestUs, kLongestUs), json);
  return value;
}

}  // namespace

Fields::Fields(const nlohmann::json& json) : json_(&json) {
  if (!json.is_object()) throw std::invalid_argument("expected an object");
}

const nlohmann::json& Fields::member(const std::string& key) {
  const auto found = json_->find(key);
  if (found == json_->end()) throw std::invalid_argument(key + ": missing");
  read_.insert(key);
  return *found;
}

std::string Fields::text(const std::string& key) {
  const nlohmann::json& json = member(key);
  if (!json.is_string()) wrong(key, "a string", json);
  return json.get<std::string>();
}

bool Fields::boolean(const std::string& key) {
  const nlohmann::json& json = member(key);
  if (!json.is_boolean()) wrong(key, "true or false", json);
  return json.get<bool>();
}

std::int64_t Fields::whole(const std::string& key) {
  const nlohmann::json& json = member(key);
  if (!json.is_number_integer()) wrong(key, "a whole number above 0", json);
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestWhole))
    wrong(key, "a whole number up to 2^53", json);
  const auto value = json.get<std::int64_t>();
  if (value < 1) wrong(key, "a whole number above 0", json);
  return value;
}

std::int64_t Fields::whole_or(const std::string& key, std::int64_t fallback) {
  return has(key) ? whole(key) : fallback;
}

int Fields::small(const std::string& key) {
  const std::int64_t value = whole(key);
  if (value > kLargestSmall) wrong(key, "a whole number up to 2^30", member(key));
  return static_cast<int>(value);
}

double Fields::positive(const std::string& key) { return positive_number(key, member(key)); }

Timing Fields::timing() {
  Timing time;
  time.runs = has("runs") ? small("runs") : 0;
  const nlohmann::json& us = member("us");
  if (us.is_number()) {
    time.median = time.p10 = time.p90 = microseconds(time_us(us));
    return time;
  }
  if (!us.is_array() || us.size() != 3) wrong("us", "a number or [median, p10, p90]", us);
  time.median = microseconds(time_us(us[0]));
  time.p10 = microseconds(time_us(us[1]));
  time.p90 = microseconds(time_us(us[2]));
  if (time.p10 > time.median || time.median > time.p90) wrong("us", "p10 <= median <= p90", us);
  return time;
}

std::vector<std::pair<std::string, std::string>> Fields::texts(const std::string& key) {
  const nlohmann::json& json = member(key);
  if (!json.is_array()) wrong(key, "an array of [key, text]", json);
  std::vector<std::pair<std::string, std::string>> all;
  for (const nlohmann::json& pair : json) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      wrong(key, "an array of [key, text]", pair);
    all.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return all;
}

void Fields::expect_all_read() const {
  for (const auto& [key, value] : json_->items())
    if (!read_.contains(key)) throw std::invalid_argument(fmt::format("unknown key \"{}\"", key));
}

}  // namespace foretoken::measured
