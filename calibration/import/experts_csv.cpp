// Reads tables of whole layers of experts.
#include "calibration/import/experts_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace foretoken::measured {
namespace {

Precision expert_precision(const std::string& type) {
  if (type == "bfloat16") return Precision::kBf16;
  if (const auto known = precision_named(type)) return *known;
  throw std::invalid_argument(fmt::format("dtype: unknown precision \"{}\"", type));
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
          .gated = row.text("kernel").find("nongated") == std::string::npos,
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
