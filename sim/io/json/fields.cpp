// Reads and writes each kind of field.
#include "sim/io/json/fields.h"

#include <cmath>

#include "sim/base/parse_number.h"

namespace foretoken::io {
namespace {

constexpr int kDigits = 4;  // four digits are short to read, and no measurement is finer

Json short_number(double value) { return round_to_digits(value, kDigits); }

}  // namespace

Fields Fields::of_keys() {
  constexpr std::size_t kUsual = 16;  // most objects have fewer
  Fields fields(nullptr);
  fields.keys_.reserve(kUsual);
  return fields;
}

Fields Fields::writing() {
  Fields fields(nullptr);
  fields.writes_ = true;
  return fields;
}

void Fields::add(std::string_view key, Json value) {
  if (!value.is_null()) json_[std::string(key)] = std::move(value);
}

void Fields::text(std::string_view key, std::string& value) {
  custom(
      key, [&](const Node& node) { value = node.text(key); }, [&] { return Json(value); });
}

void Fields::text_where(bool written, std::string_view key, std::string& value) {
  custom(
      key, [&](const Node& node) { value = node.find_text(key).value_or(value); },
      [&] { return written ? Json(value) : Json(); });
}

void Fields::boolean(std::string_view key, bool& value) {
  custom(
      key, [&](const Node& node) { value = node.boolean(key); }, [&] { return Json(value); });
}

void Fields::whole(std::string_view key, int& value, WholeRange range) {
  custom(
      key, [&](const Node& node) { value = static_cast<int>(node.whole(key, range)); }, [&] { return Json(value); });
}

void Fields::whole_where(bool written, std::string_view key, int& value, WholeRange range) {
  custom(
      key, [&](const Node& node) { value = static_cast<int>(node.find_whole(key, range).value_or(value)); },
      [&] { return written ? Json(value) : Json(); });
}

void Fields::number(std::string_view key, double& value, Range range) {
  custom(
      key, [&](const Node& node) { value = node.number(key, range); }, [&] { return Json(value); });
}

void Fields::number_where(bool written, std::string_view key, double& value, Range range) {
  custom(
      key, [&](const Node& node) { value = node.find_number(key, range).value_or(value); },
      [&] { return written ? Json(value) : Json(); });
}

void Fields::number_or(std::string_view key, double& value, double fallback, Range range) {
  custom(
      key, [&](const Node& node) { value = node.number_or(key, fallback, range); },
      [&] { return value != fallback ? Json(value) : Json(); });
}

void Fields::texts_where(bool written, std::string_view key, std::vector<std::string>& values) {
  const auto read = [&](const Node& node) {
    if (const auto found = node.find_array(key))
      for (const Node& text : *found) values.push_back(text.as_text());
  };
  custom(key, read, [&] { return written ? Json(values) : Json(); });
}

void Fields::rounded(std::string_view key, double& value, Range range) {
  custom(
      key, [&](const Node& node) { value = node.number(key, range); }, [&] { return short_number(value); });
}

void Fields::microseconds(std::string_view key, Seconds& value, Range range) {
  custom(
      key, [&](const Node& node) { value = foretoken::microseconds(node.number(key, range)); },
      [&] { return short_number(value.value() * 1e6); });
}

void Fields::nanoseconds_where(bool written, std::string_view key, Seconds& value, Range range) {
  const auto read = [&](const Node& node) {
    if (const auto found = node.find_number(key, range)) value = Seconds(*found * 1e-9);
  };
  custom(key, read, [&] { return written ? short_number(value.value() * 1e9) : Json(); });
}

void Fields::gigabytes(std::string_view key, BytesPerSecond& value, Range range) {
  custom(
      key, [&](const Node& node) { value = gigabytes_per_second(node.number(key, range)); },
      [&] { return short_number(value.value() / 1e9); });
}

void Fields::gigabytes_where(bool written, std::string_view key, BytesPerSecond& value, Range range) {
  const auto read = [&](const Node& node) {
    if (const auto rate = node.find_number(key, range)) value = gigabytes_per_second(*rate);
  };
  custom(key, read, [&] { return written ? short_number(value.value() / 1e9) : Json(); });
}

void Fields::teraflops(std::string_view key, FlopPerSecond& value, Range range) {
  custom(
      key, [&](const Node& node) { value = foretoken::teraflops(node.number(key, range)); },
      [&] { return short_number(value.value() / 1e12); });
}

void Fields::teraflops_where(std::string_view key, std::optional<FlopPerSecond>& value, Range range) {
  const auto read = [&](const Node& node) {
    if (const auto rate = node.find_number(key, range)) value = foretoken::teraflops(*rate);
  };
  custom(key, read, [&] { return value ? short_number(value->value() / 1e12) : Json(); });
}

namespace {

std::vector<double> read_ten_thousandths(const Node& node, std::string_view key, Range range) {
  std::vector<double> values = node.numbers(key, range);
  for (double& value : values) value *= 1e-4;
  return values;
}

Json in_ten_thousandths(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::lround(1e4 * value));
  return list;
}

}  // namespace

void Fields::ten_thousandths(std::string_view key, std::vector<double>& values, Range range) {
  custom(
      key, [&](const Node& node) { values = read_ten_thousandths(node, key, range); },
      [&] { return in_ten_thousandths(values); });
}

void Fields::ten_thousandths_where(bool written, std::string_view key, std::vector<double>& values, Range range) {
  const auto read = [&](const Node& node) {
    if (node.has(key)) values = read_ten_thousandths(node, key, range);
  };
  custom(key, read, [&] { return written ? in_ten_thousandths(values) : Json(); });
}

void Fields::known_word(std::string_view key, std::string_view word) {
  custom(
      key, [](const Node&) {}, [&] { return Json(word); });
}

}  // namespace foretoken::io
