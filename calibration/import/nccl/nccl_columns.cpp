// Reads rows of nccl-tests tables.
#include "calibration/import/nccl/nccl_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"

namespace foretoken::measured {
namespace {

// nccl-tests prints 32 blanks in the place of a block that it did not measure. Two columns are never so far from each
// other.
constexpr std::size_t kBlankBlock = 30;

/// Returns the value of one unit in the last place that `text` shows.
double step_of(std::string_view text) {
  const std::size_t exponent_at = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, exponent_at);
  const std::size_t point = mantissa.find('.');
  const double places = point == std::string_view::npos ? 0 : static_cast<double>(mantissa.size() - point - 1);
  double exponent = 0;
  if (exponent_at != std::string_view::npos) {
    std::string_view shown = text.substr(exponent_at + 1);
    if (shown.starts_with("+")) shown.remove_prefix(1);
    exponent = parse_number<double>(shown).value_or(0);
  }
  return std::pow(10.0, exponent - places);
}

bool whole(std::string_view text) {
  if (text.starts_with("-")) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::size_t widest_gap(std::string_view line) {
  std::size_t widest = 0;
  const std::size_t first = line.find_first_not_of(kBlanks), last = line.find_last_not_of(kBlanks);
  std::size_t gap = 0;
  for (std::size_t i = first; i < last; ++i) {
    gap = kBlanks.find(line[i]) == std::string_view::npos ? 0 : gap + 1;
    widest = std::max(widest, gap);
  }
  return widest;
}

std::size_t index_of(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<NcclColumns> NcclColumns::from_header(std::string_view header, std::string& problem) {
  NcclColumns columns;
  for (const std::string_view word : words_of(header)) {
    if (word == "cputime") {
      problem = "these are CPU times (cputime): run nccl-tests without -C";
      return std::nullopt;
    }
    if (word == "timestamp") {
      columns.trailing_words_ = 2;
      continue;
    }
    if (word == "time") ++columns.blocks_;
    if (columns.blocks_ == 0) columns.parameters_.emplace_back(word);
    if (columns.blocks_ == 1) columns.block_.emplace_back(word);
  }
  const auto& block = columns.block_;
  const bool known = columns.blocks_ >= 1 && columns.blocks_ <= 2 && columns.parameters_.size() >= 3 &&
                     columns.parameters_.front() == "size" && block.size() >= 3 && block[1] == "algbw" &&
                     block[2] == "busbw";
  if (known) return columns;
  problem = "expected the columns size, count, type, ... time, algbw, busbw, ...";
  return std::nullopt;
}

std::optional<NcclRow> NcclColumns::read(std::string_view line, std::string& problem) const {
  std::vector<std::string_view> words = words_of(line);
  const std::size_t expected = parameters_.size() + blocks_ * block_.size() + trailing_words_;
  const std::size_t redop = index_of(parameters_, "redop");
  // Some versions print an empty redop, so the root follows the type.
  const bool empty_redop = redop + 1 < parameters_.size() && words.size() > redop && whole(words[redop]);
  if (empty_redop) words.insert(words.begin() + static_cast<std::ptrdiff_t>(redop), std::string_view());
  const bool only_in_place =
      blocks_ == 2 && words.size() + block_.size() == expected && widest_gap(line) >= kBlankBlock;
  if (words.size() != expected && !only_in_place) {
    problem = fmt::format("expected a row of {} columns as in the header, found {}", expected, words.size());
    return std::nullopt;
  }
  const auto bytes = parse_number<double>(words[0]);
  if (!bytes || !whole(words[0]) || *bytes < 0) {
    problem = fmt::format("size: expected a number of bytes, found {}", in_quotes(words[0]));
    return std::nullopt;
  }
  NcclRow row{.where = {}, .bytes = *bytes, .type = std::string(words[index_of(parameters_, "type")]), .results = {}};
  const std::size_t present = only_in_place ? 1 : blocks_;
  for (std::size_t i = 0; i < present; ++i) {
    if (!read_result(words, parameters_.size() + i * block_.size(), row, problem)) return std::nullopt;
    row.results.back().in_place = only_in_place || i == 1;
  }
  return row;
}

bool NcclColumns::read_result(const std::vector<std::string_view>& words, std::size_t first, NcclRow& row,
                              std::string& problem) const {
  for (std::size_t i = 0; i < block_.size(); ++i) {
    const std::string_view text = words[first + i];
    const auto value = parse_number<double>(text);
    const bool counts_errors = block_[i].starts_with("#");
    if (!value && !(i > 2 && text == "N/A")) {
      problem = fmt::format("{}: expected a number, found {}", block_[i], in_quotes(text));
      return false;
    }
    if (counts_errors && value.value_or(0) != 0) {
      problem = fmt::format("{}: {} wrong values: the run's results are wrong", block_[i], text);
      return false;
    }
  }
  row.results.push_back({.time_us = *parse_number<double>(words[first]),
                         .algorithm_gb_per_s = *parse_number<double>(words[first + 1]),
                         .bus_gb_per_s = *parse_number<double>(words[first + 2]),
                         .time_step_us = step_of(words[first]),
                         .rate_step_gb_per_s = std::max(step_of(words[first + 1]), step_of(words[first + 2]))});
  return true;
}

}  // namespace foretoken::measured
