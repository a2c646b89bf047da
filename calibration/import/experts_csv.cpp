// Reads tables of whole layers of experts.
#include "calibration/import/experts_csv.h"

#include <fmt/format.h>

#include <stdexcept>

namespace foretoken::measured {
namespace {

Precision expert_precision(const std::string& type) {
  if (type == "bfloat16") return Precision::kBf16;
  if (const auto known = precision_named(type)) return *known;
  throw std::invalid_argument(fmt::format("dtype: unknown precision \"{}\"", type));
}

ExpertSample expert_sample(const CsvRow& row) {
  if (row.dimension("ep") != 1) throw std::invalid_argument("ep: expected 1, the experts of one rank");
  const std::int64_t width = row.dimension("inter"), ranks = row.dimension("tp");
  if (width % ranks != 0) throw std::invalid_argument(fmt::format("tp: {} does not divide inter, {}", ranks, width));
  return {.tokens = row.dimension("tokens"),
          .hidden = row.dimension("hidden"),
          .width = width / ranks,
          .per_token = row.dimension("topk"),
          .experts = row.dimension("experts"),
          .gated = row.text("kernel").find("nongated") == std::string::npos,
          .precision = expert_precision(row.text("dtype")),
          .time = microseconds(row.number("time_us"))};
}

}  // namespace

std::vector<ExpertSample> parse_experts_csv(std::string_view text, const std::string& file, const RowChoice& choice) {
  std::vector<ExpertSample> samples;
  read_csv(
      text, file,
      [](const Columns& columns) {
        for (const char* name :
             {"dtype", "tokens", "hidden", "inter", "topk", "experts", "tp", "ep", "time_us", "kernel"})
          if (!columns.contains(name)) throw std::invalid_argument(fmt::format("no column {}", name));
      },
      [&](const CsvRow& row) {
        if (row.passes(choice)) samples.push_back(expert_sample(row));
      });
  return samples;
}

}  // namespace foretoken::measured
