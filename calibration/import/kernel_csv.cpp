// Reads tables of attention and of quantisation.
#include "calibration/import/kernel_csv.h"

#include <algorithm>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/parse_number.h"

namespace foretoken::measured {
namespace {

Timing once(double microseconds) {
  const Seconds time(microseconds * 1e-6);
  return {.median = time, .p10 = time, .p90 = time};
}

void add_attention(const CsvRow& row, Samples& samples) {
  const std::string by = row.has("kernel") ? row.text("kernel") : "fused";
  const bool narrow = row.text("attn_dtype") == "fp8", cached = row.has("kv_heads");
  if (by.find("triton") != std::string::npos || (cached && (row.text("kv_dtype") == "fp8") != narrow)) return;
  AttentionSample s;
  s.implementation = by;
  s.shape = {.batch = row.dimension("batch"),
             .heads = row.dimension("heads"),
             .kv_heads = cached ? row.dimension("kv_heads") : row.dimension("heads"),
             .q_length = row.dimension("seq"),
             .kv_length = row.dimension("seq"),
             .head_dim = row.dimension("head_dim"),
             .causal = cached,
             .precision = narrow ? Precision::kFp8 : Precision::kBf16};
  if (row.has("window") && row.text("window") != "0") s.shape.window = row.dimension("window");
  if (s.shape.window >= s.shape.kv_length) s.shape.window = 0;
  // Keys and values, read in 16 bit and written in the width of the cache.
  const double elements = 2.0 * static_cast<double>(s.shape.batch * s.shape.kv_length * s.shape.kv_heads) *
                          static_cast<double>(s.shape.head_dim);
  if (cached) s.beside = Bytes(elements * (2 + bytes_per_element(s.shape.precision)));
  s.time = once(row.number("time_us"));
  samples.add(std::move(s));
}

void add_quantisation(const CsvRow& row, Samples& samples) {
  KernelSample s{.kernel = "cast", .rows = row.dimension("m"), .columns = row.dimension("k"), .bytes{}, .time{}};
  const QuantisationShape shape{.elements = static_cast<double>(s.rows) * static_cast<double>(s.columns)};
  s.bytes = shape.cast_bytes();
  s.time = once(row.number("cast_us"));
  samples.add(s);
  if (!row.has("amax_us") || parse_number<double>(row.text("amax_us")).value_or(1) <= 0) return;
  s.kernel = "scan";
  s.bytes = shape.scan_bytes();
  s.time = once(row.number("amax_us"));
  samples.add(s);
}

}  // namespace

bool is_kernel_csv(std::string_view header) {
  const std::vector<std::string> columns = split_csv(header);
  const auto has = [&](const char* name) { return std::find(columns.begin(), columns.end(), name) != columns.end(); };
  return has("attn_dtype") || (has("cast_us") && has("m") && has("k"));
}

Samples parse_kernel_csv(std::string_view text, const std::string& file, const RowChoice& choice) {
  Samples samples;
  samples.origins.push_back({.source = file, .gpu = "", .facts = {{"tool", "table of kernels"}}});
  bool attention = false;
  read_csv(
      text, file, [&](const Columns& columns) { attention = columns.contains("attn_dtype"); },
      [&](const CsvRow& row) {
        if (row.passes(choice)) attention ? add_attention(row, samples) : add_quantisation(row, samples);
      });
  return samples;
}

}  // namespace foretoken::measured
