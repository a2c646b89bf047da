// Reads tables of exchanges of tokens.
//
// DeepEP's benchmark (tests/test_internode.py) lets a token go to min(nodes, 4) nodes: their experts alone are chosen
// from. The kernels of low latency know no such limit. They start one multiprocessor for each expert, or for each group
// of experts where there are more experts than multiprocessors (csrc/kernels/internode_ll.cu, num_warp_groups). A row
// of fp8 has 1 + 4/128 bytes an element.
#include "calibration/import/exchange_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "sim/base/text.h"

namespace foretoken::measured {
namespace {

constexpr double kMostNodes = 4;          // of a token, by DeepEP's benchmark
constexpr double kNic = 50;               // GB/s of the 400 Gb/s NIC that each GPU of the published tables has
constexpr double kMultiprocessors = 132;  // of Hopper; Blackwell starts as many for the published counts of experts
constexpr double kIdAndScale = 4 + 4;     // bytes that prepare each expert of a token

double real(std::int64_t whole) { return static_cast<double>(whole); }

ExchangeSample sample_of(ExchangeShape shape, double us) {
  const Seconds time = microseconds(us);
  return {.shape = shape, .time = {.median = time, .p10 = time, .p90 = time}};
}

/// The fields that both kinds of tables have.
struct Routing {
  double tokens, hidden, experts;
  std::int64_t per_token;

  explicit Routing(const CsvRow& row)
      : tokens(real(row.dimension("tokens"))),
        hidden(real(row.dimension("hidden"))),
        experts(real(row.dimension("experts"))),
        per_token(row.dimension("topk")) {
    if (real(per_token) > experts)
      throw std::invalid_argument(fmt::format("topk: expected at most experts ({}), found {}", experts, per_token));
  }
  [[nodiscard]] Bytes row_in(Precision precision) const { return Bytes(hidden * bytes_per_element(precision)); }
};

/// Copies of a token over the ranks, and those that leave its node.
void route(ExchangeShape& shape, const Routing& routing) {
  const double away = 1 - 1.0 / shape.nodes;
  if (shape.library == ExchangeLibrary::kDeepEpLowLatency) {
    shape.copies = real(routing.per_token);
    shape.network_copies = away * shape.copies;
    const double groups = std::ceil(routing.experts / kMultiprocessors);
    shape.multiprocessors = static_cast<int>(std::ceil(routing.experts / groups));
    return;
  }
  const double reached = std::min<double>(shape.nodes, kMostNodes);
  const double experts = routing.experts * reached / shape.nodes;
  shape.copies = parts_met(experts, routing.per_token, shape.ranks * reached / shape.nodes);
  shape.network_copies = away * parts_met(experts, routing.per_token, reached);
}

void add_deepep(const CsvRow& row, Samples& samples) {
  const Routing routing(row);
  const std::int64_t nodes = row.dimension("nodes"), gpus = row.dimension("gpus_per_node");
  const bool normal = row.has("dispatch_sms");
  ExchangeShape shape{.library = normal ? ExchangeLibrary::kDeepEp : ExchangeLibrary::kDeepEpLowLatency,
                      .tokens = routing.tokens,
                      .ranks = static_cast<int>(std::min<std::int64_t>(nodes * gpus, 1 << 20)),
                      .nodes = static_cast<int>(std::min<std::int64_t>(nodes, 1 << 20)),
                      .nic = gigabytes_per_second(row.has("nic_gb_per_s") ? row.number("nic_gb_per_s") : kNic)};
  route(shape, routing);
  const auto multiprocessors = [&](const char* column) {
    return static_cast<int>(std::min<std::int64_t>(row.dimension(column), 1 << 20));
  };
  shape.phase = ExchangePhase::kDispatch;
  shape.row = routing.row_in(Precision::kFp8Block);
  if (normal) shape.multiprocessors = multiprocessors("dispatch_sms");
  samples.add(sample_of(shape, row.number("dispatch_us")));
  shape.phase = ExchangePhase::kCombine;
  shape.row = routing.row_in(Precision::kBf16);
  if (normal) shape.multiprocessors = multiprocessors("combine_sms");
  samples.add(sample_of(shape, row.number("combine_us")));
}

template <class Value, std::size_t N>
Value named(const CsvRow& row, const char* column, const std::array<std::pair<std::string_view, Value>, N>& names) {
  const std::string& text = row.text(column);
  std::string known;
  for (const auto& [name, value] : names) {
    if (name == text) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  throw std::invalid_argument(fmt::format("{}: expected one of {}, found {}", column, known, in_quotes(text)));
}

Precision sent_precision(const CsvRow& row) {
  constexpr std::array kTypes{std::pair{std::string_view("bfloat16"), Precision::kBf16},
                              std::pair{std::string_view("fp8"), Precision::kFp8},
                              std::pair{std::string_view("fp8_block"), Precision::kFp8Block},
                              std::pair{std::string_view("nvfp4"), Precision::kNvfp4}};
  return named(row, "dtype", kTypes);
}

void add_tensorrt(const CsvRow& row, Samples& samples) {
  constexpr std::array kLibraries{std::pair{std::string_view("NVLinkOneSided"), ExchangeLibrary::kTrtllmOneSided},
                                  std::pair{std::string_view("NVLinkTwoSided"), ExchangeLibrary::kTrtllmTwoSided}};
  std::array<std::pair<std::string_view, ExchangePhase>, kExchangePhaseNames.size()> phases;
  for (std::size_t i = 0; i < phases.size(); ++i)
    phases[i] = {kExchangePhaseNames[i].second, kExchangePhaseNames[i].first};
  const Routing routing(row);
  const Precision sent = sent_precision(row);
  ExchangeShape shape{.library = named(row, "implementation", kLibraries),
                      .phase = named(row, "phase", phases),
                      .tokens = routing.tokens,
                      .ranks = static_cast<int>(std::min<std::int64_t>(row.dimension("ep"), 1 << 20))};
  const bool balanced = row.text("distribution") == "balanced";
  shape.copies = balanced ? std::min(real(routing.per_token), real(shape.ranks))
                          : parts_met(routing.experts, routing.per_token, shape.ranks);
  if (shape.phase == ExchangePhase::kPrepare) {
    shape.copies = 1;
    shape.row = Bytes(kIdAndScale * real(routing.per_token));
  } else {
    shape.row = routing.row_in(shape.phase == ExchangePhase::kCombine ? Precision::kBf16 : sent);
  }
  samples.add(sample_of(shape, row.number("time_us")));
}

}  // namespace

bool is_exchange_csv(std::string_view header) {
  const std::vector<std::string> columns = split_csv(header);
  const auto has = [&](const char* name) { return std::find(columns.begin(), columns.end(), name) != columns.end(); };
  return (has("dispatch_us") && has("combine_us")) || (has("implementation") && has("phase") && has("ep"));
}

Samples parse_exchange_csv(std::string_view text, const std::string& file, const RowChoice& choice) {
  Samples samples;
  samples.origins.push_back({.source = file, .gpu = "", .facts = {{"tool", "table of exchanges"}}});
  bool deepep = false;
  read_csv(
      text, file, [&](const Columns& columns) { deepep = columns.contains("dispatch_us"); },
      [&](const CsvRow& row) {
        if (row.passes(choice)) deepep ? add_deepep(row, samples) : add_tensorrt(row, samples);
      });
  return samples;
}

}  // namespace foretoken::measured
