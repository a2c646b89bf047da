// Curves fitted on one measured table each: two-rank groups, where NCCL's own model errs most, and NVSwitch with NVLS.
#include "calibration/fit/fit_collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr double kSmallestScored = 64 << 10;
constexpr double kReference = 450;  // cancels: the curve is fitted and asked with the same links

cost::Profile profile_of(const CollectiveTable& table) {
  using enum CollectiveKind;
  const cost::CollectiveCurve curve =
      fit_tables({.tables = {table}, .source = "one table", .reference_gb_per_s = kReference});
  cost::InsideNodeLaw law{.reference = gigabytes_per_second(kReference)};
  law.curves.push_back(curve);
  return {.nvlink = std::move(law)};
}

double error(const CollectiveTable& table, const CollectiveTable::Row& row, const cost::Profile& profile) {
  const GroupShape group{.ranks = table.ranks, .nodes = 1, .ranks_per_node = table.ranks};
  const Seconds time =
      cost::collective_time({table.kind, Bytes(row.bytes), group}, links_of(table, kReference), profile);
  return std::abs(time.value() / row.seconds - 1);
}

struct Quantiles {
  double median, p90, worst;
};

Quantiles quantiles(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  return {errors[errors.size() / 2], errors[errors.size() * 9 / 10], errors.back()};
}

std::vector<CollectiveTable> tables() {
  return read_collective_tables(FORETOKEN_SOURCE_DIR "/calibration/fit/testdata/two_ranks_and_nvls.json");
}

TEST(FitTables, MeetsTheTableThatItSaw) {
  ASSERT_EQ(tables().size(), 5u);
  for (const CollectiveTable& table : tables()) {
    const cost::Profile profile = profile_of(table);
    std::vector<double> errors;
    for (const auto& row : table.rows)
      if (row.bytes >= kSmallestScored) errors.push_back(error(table, row, profile));
    const Quantiles q = quantiles(errors);
    EXPECT_LE(q.median, 0.05) << table.id;
    EXPECT_LE(q.p90, 0.15) << table.id;
    EXPECT_LE(q.worst, 0.40) << table.id;
  }
}

TEST(FitTables, MeetsEachRowWithoutIt) {
  for (const CollectiveTable& table : tables()) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (table.rows[i].bytes < kSmallestScored) continue;
      CollectiveTable others = table;
      others.rows.erase(others.rows.begin() + static_cast<std::ptrdiff_t>(i));
      errors.push_back(error(table, table.rows[i], profile_of(others)));
    }
    const Quantiles q = quantiles(errors);
    std::printf("%s: left-out rows median %.1f %%, p90 %.1f %%, worst %.1f %%\n", table.id.c_str(), 100 * q.median,
                100 * q.p90, 100 * q.worst);
    EXPECT_LE(q.median, 0.05) << table.id;
    EXPECT_LE(q.p90, 0.20) << table.id;  // a row at a protocol's change may fall between its neighbours
    EXPECT_LE(q.worst, 0.40) << table.id;
  }
}

TEST(FitTables, TimeNeverFallsWithSize) {
  for (const CollectiveTable& table : tables()) {
    const cost::Profile profile = profile_of(table);
    const GroupShape group{.ranks = table.ranks, .nodes = 1, .ranks_per_node = table.ranks};
    double before = 0;
    for (double bytes = 1024; bytes < 3e10; bytes *= 1.1) {
      const double time =
          cost::collective_time({table.kind, Bytes(bytes), group}, links_of(table, kReference), profile).value();
      EXPECT_GE(time, 0.999 * before) << table.id << " " << bytes;
      before = time;
    }
  }
}

}  // namespace
}  // namespace foretoken::fit
