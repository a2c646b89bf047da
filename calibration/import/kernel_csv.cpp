// Reading tables of attention and of quantisation.
#include "calibration/import/kernel_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "calibration/import/csv.h"
#include "sim/base/error.h"
#include "sim/base/parse_number.h"

namespace foretoken::measured {
namespace {

class KernelTable {
 public:
  explicit KernelTable(std::string_view header) {
    const std::vector<std::string> names = split_csv(header);
    for (std::size_t i = 0; i < names.size(); ++i) columns_.emplace(names[i], i);
  }
  [[nodiscard]] bool has(const std::string& column) const { return columns_.contains(column); }
  void take(std::string_view line) {
    fields_ = split_csv(line);
    if (fields_.size() < columns_.size())
      throw std::invalid_argument(fmt::format("expected {} fields, found {}", columns_.size(), fields_.size()));
  }
  [[nodiscard]] const std::string& text(const std::string& column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end()) throw std::invalid_argument(fmt::format("no column {}", column));
    return fields_[found->second];
  }
  [[nodiscard]] double number(const std::string& column) const {
    if (const auto value = parse_number<double>(text(column))) return *value;
    throw std::invalid_argument(fmt::format("{}: expected a number, found \"{}\"", column, text(column)));
  }
  [[nodiscard]] std::int64_t size(const std::string& column) const {
    if (const auto value = parse_number<std::int64_t>(text(column), 1)) return *value;
    throw std::invalid_argument(fmt::format("{}: expected a size above 0, found \"{}\"", column, text(column)));
  }

 private:
  std::map<std::string, std::size_t> columns_;
  std::vector<std::string> fields_;
};

Timing once(double microseconds) {
  if (microseconds <= 0) throw std::invalid_argument("expected a time above 0");
  const Seconds time(microseconds * 1e-6);
  return {.median = time, .p10 = time, .p90 = time};
}

void add_attention(const KernelTable& row, Samples& samples) {
  const std::string by = row.has("kernel") ? row.text("kernel") : "fused";
  const bool narrow = row.text("attn_dtype") == "fp8", cached = row.has("kv_heads");
  if (by.find("triton") != std::string::npos || (cached && (row.text("kv_dtype") == "fp8") != narrow)) return;
  AttentionSample s;
  s.implementation = by;
  s.shape = {.batch = row.size("batch"),
             .heads = row.size("heads"),
             .kv_heads = cached ? row.size("kv_heads") : row.size("heads"),
             .q_length = row.size("seq"),
             .kv_length = row.size("seq"),
             .head_dim = row.size("head_dim"),
             .causal = cached,
             .precision = narrow ? Precision::kFp8 : Precision::kBf16};
  if (row.has("window")) s.shape.window = static_cast<std::int64_t>(row.number("window"));
  if (s.shape.window >= s.shape.kv_length) s.shape.window = 0;
  // Keys and values, read in 16 bit and written in the width of the cache.
  const double elements = 2.0 * static_cast<double>(s.shape.batch * s.shape.kv_length * s.shape.kv_heads) *
                          static_cast<double>(s.shape.head_dim);
  if (cached) s.beside = Bytes(elements * (2 + bytes_per_element(s.shape.precision)));
  s.time = once(row.number("time_us"));
  samples.add(std::move(s));
}

void add_quantisation(const KernelTable& row, Samples& samples) {
  KernelSample s{.kernel = "cast", .rows = row.size("m"), .columns = row.size("k"), .bytes{}, .time{}};
  const QuantisationShape shape{.elements = static_cast<double>(s.rows) * static_cast<double>(s.columns)};
  s.bytes = shape.cast_bytes();
  s.time = once(row.number("cast_us"));
  samples.add(s);
  if (!row.has("amax_us") || row.number("amax_us") <= 0) return;
  s.kernel = "scan";
  s.bytes = shape.scan_bytes();
  s.time = once(row.number("amax_us"));
  samples.add(s);
}

}  // namespace

bool is_kernel_csv(std::string_view header) {
  const KernelTable table(header);
  return table.has("attn_dtype") || (table.has("cast_us") && table.has("m") && table.has("k"));
}

Samples parse_kernel_csv(std::string_view text, const std::string& file) {
  Samples samples;
  samples.origins.push_back({.source = file, .gpu = "", .facts = {{"tool", "table of kernels"}}});
  std::vector<Complaint> complaints;
  const std::size_t end = std::min(text.find('\n'), text.size());
  KernelTable table(text.substr(0, end));
  const bool attention = table.has("attn_dtype");
  text.remove_prefix(end);
  for (std::size_t number = 1; text.size() > 1; ++number) {
    text.remove_prefix(1);
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length);
    if (line.empty() || line == "\r") continue;
    try {
      table.take(line);
      attention ? add_attention(table, samples) : add_quantisation(table, samples);
    } catch (const std::invalid_argument& error) {
      complaints.push_back({fmt::format("{}:{}", file, number + 1), "", error.what()});
    }
  }
  if (samples.size() == 0 && complaints.empty()) complaints.push_back({file, "", "no rows"});
  if (!complaints.empty()) throw ConfigError(std::move(complaints));
  return samples;
}

}  // namespace foretoken::measured
