// Reads tables of whole layers of experts.
#include "calibration/import/experts_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

namespace foretoken::measured {
namespace {

Precision expert_precision(const std::string& type) {
  if (type == "bfloat16") return Precision::kBf16;
  if (const auto known = precision_named(type)) return *known;
  throw std::invalid_argument(fmt::format("dtype: unknown precision \"{}\"", type));
}

/// Experts of two matrices, by hidden size, width, experts of a token and all experts: those that TensorRT-LLM's tables
/// call nongated. vLLM's tables have the same layers and do not say it: with three matrices their weights would come
/// faster than the memory gives them. SGLang's kernels run three: with them its law is met within 8 % (median) instead
/// of 12.
struct UngatedLayer {
  std::int64_t hidden, width, per_token, experts;
  friend bool operator==(const UngatedLayer&, const UngatedLayer&) = default;
};
constexpr std::array<UngatedLayer, 5> kUngated{
    {{1024, 2688, 22, 512}, {2048, 5120, 22, 512}, {2688, 1856, 6, 128}, {4096, 2688, 22, 512}, {8192, 5120, 22, 512}}};

bool is_gated(const CsvRow& row) {
  const UngatedLayer layer{row.dimension("hidden"), row.dimension("inter"), row.dimension("topk"),
                           row.dimension("experts")};
  const std::string kernel = row.text("kernel");
  if (kernel.find("nongated") != std::string::npos) return false;
  return kernel.starts_with("sglang") || std::find(kUngated.begin(), kUngated.end(), layer) == kUngated.end();
}

/// Weights of 4 bits beside operands of 16 or 8 bits, which have laws of another form or none.
bool is_weight_only_type(const std::string& type) {
  return type == "int4_wo" || type == "w4a16_mxfp4" || type == "w4a8_mxfp4_mxfp8";
}

ExpertSample expert_sample(const CsvRow& row, ExpertRanks allowed) {
  const std::int64_t expert_ranks = row.dimension("ep");
  if (allowed == ExpertRanks::kOne && expert_ranks != 1)
    throw std::invalid_argument("ep: expected 1, the experts of one rank");
  const std::int64_t width = row.dimension("inter"), ranks = row.dimension("tp");
  if (width % ranks != 0) throw std::invalid_argument(fmt::format("tp: {} does not divide inter, {}", ranks, width));
  return {.tokens = row.dimension("tokens"),
          .hidden = row.dimension("hidden"),
          .width = width / ranks,
          .per_token = row.dimension("topk"),
          .experts = row.dimension("experts"),
          .ranks = expert_ranks,
          .gated = is_gated(row),
          .precision = expert_precision(row.text("dtype")),
          .kernel = row.text("kernel"),
          .balanced = !row.has("distribution") || row.text("distribution") == "balanced",
          .time = microseconds(row.number("time_us"))};
}

}  // namespace

bool is_experts_csv(std::string_view header) {
  const std::vector<std::string> columns = split_csv(header);
  const auto has = [&](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  return has("topk") && has("inter") && has("experts");
}

std::vector<ExpertSample> parse_experts_csv(std::string_view text, const std::string& file, const RowChoice& choice,
                                            ExpertRanks ranks) {
  std::vector<ExpertSample> samples;
  read_csv(
      text, file,
      [](const Columns& columns) {
        for (const char* name :
             {"dtype", "tokens", "hidden", "inter", "topk", "experts", "tp", "ep", "time_us", "kernel"})
          if (!columns.contains(name)) throw std::invalid_argument(fmt::format("no column {}", name));
      },
      [&](const CsvRow& row) {
        const bool left_out = ranks == ExpertRanks::kAny && is_weight_only_type(row.text("dtype"));
        if (!left_out && row.passes(choice)) samples.push_back(expert_sample(row, ranks));
      });
  return samples;
}

}  // namespace foretoken::measured
