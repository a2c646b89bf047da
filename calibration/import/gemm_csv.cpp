// Reading tables of matrix products.
#include "calibration/import/gemm_csv.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "calibration/import/csv.h"
#include "calibration/import/sample_json.h"
#include "sim/base/error.h"
#include "sim/base/parse_number.h"

namespace foretoken::measured {
namespace {

constexpr std::int64_t kLargestDimension = std::int64_t{1} << 31;

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

struct TimeColumn {
  std::string_view name;
  double seconds;  ///< of one unit; 0: the column holds TFLOP/s
};
constexpr std::array kTimeColumns{
    TimeColumn{"time_us", 1e-6},    TimeColumn{"us", 1e-6},      TimeColumn{"time_ms", 1e-3},
    TimeColumn{"ms", 1e-3},         TimeColumn{"latency", 1e-3}, TimeColumn{"latency_us", 1e-6},
    TimeColumn{"latency_ms", 1e-3}, TimeColumn{"time_s", 1},     TimeColumn{"tflops", 0}};

/// The columns of one table.
class Table {
 public:
  explicit Table(std::string_view header) {
    const std::vector<std::string> names = split_csv(header);
    for (std::size_t i = 0; i < names.size(); ++i) columns_.emplace(lower(names[i]), i);
    for (const char* name : {"m", "n", "k"})
      if (!columns_.contains(name)) throw std::invalid_argument(fmt::format("no column {}", name));
    for (const TimeColumn& column : kTimeColumns)
      if (columns_.contains(std::string(column.name))) {
        time_ = column;
        return;
      }
    throw std::invalid_argument("no column with a time: expected time_us, time_ms, time_s, latency (ms) or tflops");
  }

  std::optional<GemmSample> sample(std::string_view line, const GemmCsvHints& hints) const {
    const std::vector<std::string> fields = split_csv(line);
    const auto dtype = find(fields, {"dtype", "precision"});
    if (dtype && dtype->ends_with("_wo")) return std::nullopt;
    GemmSample s;
    s.shape = {.m = dimension(fields, "m"),
               .n = dimension(fields, "n"),
               .k = dimension(fields, "k"),
               .pass = hints.pass,
               .precision = hints.precision};
    for (const char* name : {"b", "batch"})
      if (columns_.contains(name)) s.shape.batch = dimension(fields, name);
    if (dtype) s.shape.precision = precision(*dtype);
    if (const auto layout = find(fields, {"layout"})) s.shape.pass = pass(*layout);
    if (const auto adds = find(fields, {"accumulate"})) s.adds_to_fp32 = lower(*adds) == "true" || *adds == "1";
    const double value = number(fields, std::string(time_.name));
    s.time.median = time_.seconds > 0 ? Seconds(value * time_.seconds) : s.shape.flop() / teraflops(value);
    if (columns_.contains("quant_us") && bits_per_element(s.shape.precision) < 16) take_off_quantisation(s, fields);
    s.time.p10 = s.time.p90 = s.time.median;
    return s;
  }

 private:
  /// A quantisation that is said to last longer than both is another run's; then it stays in.
  void take_off_quantisation(GemmSample& s, const std::vector<std::string>& fields) const {
    const double quantisation = text(fields, "quant_us").empty() ? 0 : number(fields, "quant_us") * 1e-6;
    s.with_quantisation = quantisation == 0 || quantisation >= s.time.median.value();
    if (!s.with_quantisation) s.time.median = Seconds(s.time.median.value() - quantisation);
  }
  const std::string& text(const std::vector<std::string>& fields, const std::string& column) const {
    const std::size_t index = columns_.at(column);
    if (index >= fields.size())
      throw std::invalid_argument(fmt::format("{}: missing, the row has {} fields", column, fields.size()));
    return fields[index];
  }
  std::optional<std::string> find(const std::vector<std::string>& fields,
                                  std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (columns_.contains(name)) return text(fields, name);
    return std::nullopt;
  }
  double number(const std::vector<std::string>& fields, const std::string& column) const {
    const std::string& field = text(fields, column);
    if (const auto value = parse_positive(field)) return *value;
    throw std::invalid_argument(fmt::format("{}: expected a number above 0, found \"{}\"", column, field));
  }
  std::int64_t dimension(const std::vector<std::string>& fields, const std::string& column) const {
    const double value = number(fields, column);
    if (value != std::floor(value) || value > static_cast<double>(kLargestDimension))
      throw std::invalid_argument(
          fmt::format("{}: expected a whole number, found \"{}\"", column, text(fields, column)));
    return static_cast<std::int64_t>(value);
  }
  static Precision precision(const std::string& name) {
    const std::string type = lower(name);
    if (type == "bfloat16") return Precision::kBf16;
    if (type == "float16" || type == "half") return Precision::kFp16;
    if (type == "float32" || type == "float") return Precision::kFp32;
    if (type == "sq") return Precision::kInt8;  // SmoothQuant: 8-bit weights and activations
    if (type == "float8" || type == "e4m3" || type == "fp8_e4m3") return Precision::kFp8;
    if (const auto known = precision_named(type)) return *known;
    throw std::invalid_argument(fmt::format("unknown precision \"{}\"", name));
  }
  static GemmPass pass(const std::string& layout) {
    if (layout == "TN") return GemmPass::kForward;
    if (layout == "NN") return GemmPass::kInputGradient;
    if (layout == "NT") return GemmPass::kWeightGradient;
    throw std::invalid_argument(fmt::format("layout: expected TN, NN or NT, found \"{}\"", layout));
  }

  std::map<std::string, std::size_t> columns_;
  TimeColumn time_{};
};

void add(Samples& samples, const std::optional<GemmSample>& sample, std::size_t& left_out) {
  if (sample)
    samples.add(*sample);
  else
    ++left_out;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

Samples parse_gemm_csv(std::string_view text, const std::string& file, const GemmCsvHints& hints) {
  Samples samples;
  samples.origins.push_back({.source = file, .gpu = hints.gpu, .facts = {{"tool", "table of matrix products"}}});
  std::vector<Complaint> complaints;
  std::optional<Table> table;
  std::size_t left_out = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty() || line == "\r" || line.front() == '#') continue;
    try {
      if (!table)
        table.emplace(line);
      else
        add(samples, table->sample(line, hints), left_out);
    } catch (const std::invalid_argument& error) {
      complaints.push_back({fmt::format("{}:{}", file, number), "", error.what()});
      if (!table) break;
    }
  }
  if (left_out > 0)
    samples.notes.push_back(fmt::format("{}: {} products with narrow weights alone left out", file, left_out));
  if (samples.gemms.empty() && complaints.empty()) complaints.push_back({file, "", "no rows"});
  if (!complaints.empty()) throw ConfigError(std::move(complaints));
  return samples;
}

}  // namespace foretoken::measured
