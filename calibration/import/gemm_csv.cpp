// Reads tables of matrix products.
#include "calibration/import/gemm_csv.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <stdexcept>

#include "calibration/import/sample_json.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace foretoken::measured {
namespace {

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

struct TimeColumn {
  std::string_view name;
  double seconds = 0;  ///< of one unit; 0: the column holds TFLOP/s
};
constexpr std::array kTimeColumns{
    TimeColumn{"time_us", 1e-6},    TimeColumn{"us", 1e-6},      TimeColumn{"time_ms", 1e-3},
    TimeColumn{"ms", 1e-3},         TimeColumn{"latency", 1e-3}, TimeColumn{"latency_us", 1e-6},
    TimeColumn{"latency_ms", 1e-3}, TimeColumn{"time_s", 1},     TimeColumn{"tflops", 0}};

/// Finds the column that holds the time. Complains when a column that a product needs is missing.
TimeColumn time_column(const Columns& columns, const GemmCsvHints& hints) {
  for (const char* name : {"m", "n", "k"})
    if (!columns.contains(name))
      throw std::invalid_argument(
          fmt::format("no column {}: expected m, n and k of products, or the columns of another kind of table", name));
  for (const ColumnTest& test : hints.choice.where)
    if (!columns.contains(test.column)) throw std::invalid_argument(fmt::format("no column {}", test.column));
  for (const TimeColumn& column : kTimeColumns) {
    if (!columns.contains(std::string(column.name))) continue;
    if (!hints.less.empty() && (column.seconds == 0 || !columns.contains(hints.less)))
      throw std::invalid_argument(fmt::format("no column {} beside a time", hints.less));
    return column;
  }
  throw std::invalid_argument("no column with a time: expected time_us, time_ms, time_s, latency (ms) or tflops");
}

Precision precision_of(const std::string& name) {
  const std::string type = lower(name);
  if (type == "bfloat16") return Precision::kBf16;
  if (type == "float16" || type == "half") return Precision::kFp16;
  if (type == "float32" || type == "float") return Precision::kFp32;
  if (type == "sq") return Precision::kInt8;  // SmoothQuant: 8-bit weights and activations
  if (type == "float8" || type == "e4m3" || type == "fp8_e4m3") return Precision::kFp8;
  if (const auto known = precision_named(type)) return *known;
  throw std::invalid_argument(fmt::format("unknown precision \"{}\"", name));
}

GemmPass pass_of(const std::string& layout) {
  if (layout == "TN") return GemmPass::kForward;
  if (layout == "NN") return GemmPass::kInputGradient;
  if (layout == "NT") return GemmPass::kWeightGradient;
  throw std::invalid_argument(fmt::format("layout: expected TN, NN or NT, found {}", in_quotes(layout)));
}

Seconds time_of(const CsvRow& row, const GemmShape& shape, const TimeColumn& column, const std::string& less) {
  const double value = row.number(std::string(column.name));
  if (column.seconds == 0) return shape.flop() / teraflops(value);
  if (less.empty()) return Seconds(value * column.seconds);
  const double rest = value - row.number(less);
  if (rest > 0) return Seconds(rest * column.seconds);
  throw std::invalid_argument(
      fmt::format("{}: expected less than the {} of the row, found {}", less, column.name, in_quotes(row.text(less))));
}

/// Subtracts the time of the quantisation, unless less than a tenth of the time of both is left. Such a number comes
/// from another run, and the rest is its noise.
void take_off_quantisation(GemmSample& s, const CsvRow& row) {
  constexpr double kMostPart = 0.9;
  const double quantisation = row.text("quant_us").empty() ? 0 : row.number("quant_us") * 1e-6;
  s.with_quantisation = quantisation == 0 || quantisation > kMostPart * s.time.median.value();
  if (!s.with_quantisation) s.time.median = Seconds(s.time.median.value() - quantisation);
}

/// Returns true for TensorRT's plugin of SmoothQuant, which is timed alone: its input is quantised before.
bool is_product_alone(const CsvRow& row) {
  const auto type = row.find({"dtype", "precision"});
  return type && lower(*type) == "sq";
}

bool has_narrow_weights_alone(const CsvRow& row) {
  const auto type = row.find({"dtype", "precision"});
  return type && type->ends_with("_wo");
}

GemmSample sample_of(const CsvRow& row, const TimeColumn& column, const GemmCsvHints& hints) {
  GemmSample s;
  s.shape = {.m = row.dimension("m"),
             .n = row.dimension("n"),
             .k = row.dimension("k"),
             .pass = hints.pass,
             .precision = hints.precision};
  for (const char* name : {"b", "batch"})
    if (row.has(name)) s.shape.batch = row.dimension(name);
  const auto type = row.find({"dtype", "precision"}), layout = row.find({"layout"});
  if (type && !hints.states_precision) s.shape.precision = precision_of(*type);
  if (layout && !hints.states_pass) s.shape.pass = pass_of(*layout);
  if (const auto adds = row.find({"accumulate"})) s.adds_to_fp32 = lower(*adds) == "true" || *adds == "1";
  s.time.median = time_of(row, s.shape, column, hints.less);
  if (row.has("quant_us") && hints.less != "quant_us" && bits_per_element(s.shape.precision) < 16 &&
      !is_product_alone(row))
    take_off_quantisation(s, row);
  s.time.p10 = s.time.p90 = s.time.median;
  if (const std::string wrong = why_impossible(s); !wrong.empty()) throw std::invalid_argument(wrong);
  return s;
}

}  // namespace

Samples parse_gemm_csv(std::string_view text, const std::string& file, const GemmCsvHints& hints) {
  Samples samples;
  samples.origins.push_back({.source = file, .gpu = hints.gpu, .facts = {{"tool", "table of matrix products"}}});
  TimeColumn column;
  std::size_t left_out = 0;
  read_csv(
      text, file, [&](const Columns& columns) { column = time_column(columns, hints); },
      [&](const CsvRow& row) {
        if (!row.passes(hints.choice) || (!hints.less.empty() && row.text(hints.less).empty())) return;
        if (has_narrow_weights_alone(row)) {
          ++left_out;
          return;
        }
        samples.add(sample_of(row, column, hints));
      });
  if (left_out > 0)
    samples.notes.push_back(fmt::format("{}: {} products with narrow weights alone left out", file, left_out));
  if (samples.gemms.empty()) throw ConfigError({{file, "", "no row of those asked for; look at the columns' values"}});
  return samples;
}

}  // namespace foretoken::measured
