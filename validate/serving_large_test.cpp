// Compares services with published latencies and throughputs of the engines' tables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/base/test_sanitized.h"
#include "sim/io/serve/served_residuals.h"
#include "validate/served_sets.h"

namespace foretoken::validate {
namespace {

/// Errors of one measured quantity over the rows of a set.
struct ServedErrors {
  std::vector<double> all, untouched;  ///< untouched: rows of groups that took no part in a fit

  [[nodiscard]] static double mean(const std::vector<double>& errors) {
    double sum = 0;
    for (const double error : errors) sum += error;
    return sum / static_cast<double>(errors.size());
  }
  [[nodiscard]] double median() const {
    std::vector<double> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  [[nodiscard]] double worst() const { return *std::max_element(all.begin(), all.end()); }
};

const std::vector<ServedRow>& served_rows() {
  static const std::vector<ServedRow> rows = predict_served_sets();
  return rows;
}

ServedErrors errors_of(const std::string& set, trust::Served quantity) {
  ServedErrors errors;
  for (const ServedRow& row : served_rows()) {
    if (row.value.set != set || row.value.quantity != quantity) continue;
    const double error = std::abs(row.value.predicted / row.value.measured - 1);
    errors.all.push_back(error);
    if (!row.fitted) errors.untouched.push_back(error);
  }
  return errors;
}

/// Bounds of one quantity of a set, as fractions, a little above its errors.
struct ServedSet {
  const char* name;
  trust::Served quantity;
  std::size_t rows;
  double mean, median, worst;
};

// TensorRT-LLM's worst rows: 0.5 sums over GPUs with NCCL; 70B in fp8 fills one H100 in 0.10.
constexpr ServedSet kServedSets[] = {{"fastertransformer", trust::Served::kLatency, 80, 0.055, 0.05, 0.20},
                                     {"fastertransformer-bert", trust::Served::kLatency, 36, 0.08, 0.07, 0.24},
                                     {"fastertransformer-bert-32-bits", trust::Served::kLatency, 54, 0.15, 0.15, 0.60},
                                     {"fastertransformer-bert-int8", trust::Served::kLatency, 72, 0.12, 0.13, 0.26},
                                     {"fastertransformer-bert-6b", trust::Served::kLatency, 16, 0.14, 0.13, 0.42},
                                     {"fastertransformer-t5", trust::Served::kThroughput, 16, 0.13, 0.09, 0.40},
                                     {"fastertransformer-t5-beams", trust::Served::kThroughput, 14, 0.09, 0.095, 0.22},
                                     {"vllm-qwen3-h100", trust::Served::kTtft, 23, 0.18, 0.16, 0.53},
                                     {"vllm-qwen3-h100", trust::Served::kTpot, 23, 0.032, 0.025, 0.16},
                                     {"sglang-qwen3-h100", trust::Served::kTtft, 16, 0.14, 0.12, 0.38},
                                     {"sglang-qwen3-h100", trust::Served::kTpot, 16, 0.051, 0.041, 0.15},
                                     {"sglang-llama3-h200", trust::Served::kTtft, 23, 0.32, 0.23, 1.3},
                                     {"sglang-llama3-h200", trust::Served::kTpot, 23, 0.095, 0.092, 0.44},
                                     {"trt-llm-qwen3-h100", trust::Served::kTtft, 18, 0.18, 0.14, 0.48},
                                     {"trt-llm-qwen3-h100", trust::Served::kTpot, 18, 0.055, 0.045, 0.17},
                                     {"trt-llm-llama3-h100", trust::Served::kTtft, 18, 0.30, 0.30, 0.93},
                                     {"trt-llm-llama3-h100", trust::Served::kTpot, 18, 0.07, 0.08, 0.19},
                                     {"vllm-gpt-oss", trust::Served::kTtft, 29, 0.11, 0.08, 0.55},
                                     {"vllm-gpt-oss", trust::Served::kTpot, 29, 0.08, 0.035, 0.54},
                                     {"trt-llm-gpt-oss", trust::Served::kTtft, 22, 0.14, 0.12, 0.87},
                                     {"trt-llm-gpt-oss", trust::Served::kTpot, 22, 0.09, 0.085, 0.21},
                                     {"trt-llm-static", trust::Served::kThroughput, 25, 0.15, 0.065, 0.86},
                                     {"trt-llm-inflight", trust::Served::kThroughput, 25, 0.15, 0.09, 0.90}};

TEST(ServedRuns, PublishedEnginesAreMet) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  for (const auto& [name, quantity, rows, mean, median, worst] : kServedSets) {
    SCOPED_TRACE(fmt::format("{} {}", name, name_of(quantity)));
    const ServedErrors errors = errors_of(name, quantity);
    ASSERT_EQ(errors.all.size(), rows);
    EXPECT_LT(ServedErrors::mean(errors.all), mean);
    EXPECT_LT(errors.median(), median);
    EXPECT_LT(errors.worst(), worst);
  }
  EXPECT_LT(ServedErrors::mean(errors_of("fastertransformer", trust::Served::kLatency).untouched), 0.05);
  EXPECT_LT(ServedErrors::mean(errors_of("fastertransformer-bert", trust::Served::kLatency).untouched), 0.095);
  EXPECT_LT(ServedErrors::mean(errors_of("fastertransformer-t5", trust::Served::kThroughput).untouched), 0.14);
  EXPECT_LT(ServedErrors::mean(errors_of("fastertransformer-t5-beams", trust::Served::kThroughput).untouched), 0.14);
}

/// Cases of a quantity inside intervals that were made without their set.
struct ServedCoverage {
  int inside = 0, cases = 0;
  [[nodiscard]] double part() const { return static_cast<double>(inside) / cases; }
};

/// Leaves out one set after another: widths and nearest cases are those of the others.
std::map<trust::Served, ServedCoverage> coverage_of_new_sets() {
  std::map<trust::Served, ServedCoverage> coverage;
  std::set<std::string> names;
  for (const ServedRow& row : served_rows()) names.insert(row.value.set);
  for (const std::string& name : names) {
    trust::ServedEvidence others;
    for (const ServedRow& row : served_rows())
      if (row.value.set != name) others.cases.push_back(row.value);
    others.widths = trust::calibrate_served(others.cases);
    for (const ServedRow& row : served_rows()) {
      const trust::ServedCase& one = row.value;
      const auto interval = one.set == name ? served_interval(one.place, one.quantity, one.predicted, others)
                                            : std::optional<trust::ServedInterval>();
      if (!interval) continue;
      ++coverage[one.quantity].cases;
      coverage[one.quantity].inside += interval->low <= one.measured && one.measured <= interval->high;
    }
  }
  return coverage;
}

TEST(ServedRuns, IntervalsOfNewSetsHoldWhatTheDocsSay) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  for (const auto& [quantity, coverage] : coverage_of_new_sets()) {
    SCOPED_TRACE(name_of(quantity));
    fmt::print("intervals of {} made without a set: {} of {} inside\n", name_of(quantity), coverage.inside,
               coverage.cases);
    EXPECT_GE(coverage.cases, 37);
    EXPECT_GE(coverage.part(), quantity == trust::Served::kTtft ? 0.83 : 0.88);
  }
}

TEST(ServedRuns, ServeReadsTheResidualsThatWereWritten) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const trust::ServedEvidence shipped = io::read_shipped_served_residuals();
  ASSERT_EQ(shipped.cases.size(), served_rows().size());
  for (std::size_t i = 0; i < shipped.cases.size(); ++i) {
    EXPECT_EQ(shipped.cases[i].quantity, served_rows()[i].value.quantity);
    EXPECT_NEAR(shipped.cases[i].log_ratio(), served_rows()[i].value.log_ratio(), 1e-4);
    EXPECT_NEAR(trust::distance_between(shipped.cases[i].place, served_rows()[i].value.place), 0, 1e-4);
  }
}

}  // namespace
}  // namespace foretoken::validate
