// Tests curves fitted on one measured table each, on rows that they used and on rows that they did not.
#include "calibration/fit/laws/fit_collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/collectives/check_collectives.h"
#include "calibration/fit/collectives/measured_machine.h"
#include "calibration/fit/test_sources.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

const GeneralLaws& general() {
  static const GeneralLaws laws = fit_general_laws(tables());
  return laws;
}

/// Returns the profile of a machine with this table only.
cost::Profile profile_from(const CollectiveTable& table) {
  const cost::Profile laws = general_profile(architecture_of(table.gpu), general());
  return cost::with_measured(laws, measure({.name = table.system,
                                            .architecture = "",
                                            .source = "one table",
                                            .tables = {table},
                                            .over_pcie = over_pcie(table),
                                            .link_gb_per_s = link_gb_per_s(table)},
                                           laws));
}

/// Tables of two ranks, where NCCL's own model errs most, and of NVSwitch with NVLS.
constexpr const char* kCasesOfTheirOwn[] = {"vtrain_a100_ar2",
                                            "vtrain_v100_ar2",
                                            "aic_a100_sxm_all_gather2",
                                            "aic_h100_sxm_all_gather2",
                                            "aic_h200_sxm_all_reduce2",
                                            "aic_b200_sxm_all_reduce2_2.27.5",
                                            "aic_gb200_all_reduce2",
                                            "nv_dgxc_h100_1n",
                                            "stas_h200_1n",
                                            "stas_b200_1n",
                                            "i290_h100_1n"};

TEST(MeasuredTable, TwoRanksAndNvlsMeetTheirBounds) {
  for (const char* id : kCasesOfTheirOwn) {
    const auto table = std::find_if(tables().begin(), tables().end(), [&](const auto& t) { return t.id == id; });
    ASSERT_NE(table, tables().end()) << id;
    EXPECT_TRUE(errors_on(*table, profile_from(*table)).within_bounds()) << id;
  }
}

/// Returns the table without its i-th row.
CollectiveTable without_row(CollectiveTable table, std::size_t i) {
  table.rows.erase(table.rows.begin() + static_cast<std::ptrdiff_t>(i));
  return table;
}

TEST(MeasuredTable, RowsThatAFitNeverSawAreMet) {
  std::vector<double> errors;
  for (const CollectiveTable& table : tables()) {
    if (table.rows.size() < 10) continue;
    for (std::size_t i = 1; i + 1 < table.rows.size(); ++i) {
      if (table.rows[i].bytes < 64 << 10) continue;
      CollectiveTable one = table;
      one.rows = {table.rows[i]};
      errors.push_back(errors_on(one, profile_from(without_row(table, i))).worst);
    }
  }
  std::sort(errors.begin(), errors.end());
  const double median = errors[errors.size() / 2], p90 = errors[errors.size() * 9 / 10];
  std::printf("%zu rows left out: median %.1f %%, p90 %.1f %%\n", errors.size(), 100 * median, 100 * p90);
  EXPECT_GE(errors.size(), 1500u);
  EXPECT_LE(median, 0.05);
  EXPECT_LE(p90, 0.15);
}

TEST(MeasuredTable, ArchitecturesTimesNeverFallWithSize) {
  for (const char* architecture : {"volta", "ampere", "hopper", "blackwell"}) {
    const cost::Profile laws = general_profile(architecture, general());
    for (const CollectiveKind kind : kEveryKind)
      for (const GroupShape group :
           {GroupShape{2, 1, 2}, GroupShape{3, 1, 3}, GroupShape{4, 1, 4}, GroupShape{6, 1, 6}, GroupShape{8, 1, 8},
            GroupShape{16, 1, 16}, GroupShape{16, 2, 8}, GroupShape{24, 3, 8}, GroupShape{48, 6, 8},
            GroupShape{256, 32, 8}, GroupShape{16, 16, 1, 8}}) {
        CollectiveTable links_only;
        links_only.nic_gb_per_s = 400;
        double before = 0;
        for (double bytes = 1024; bytes < 3e10; bytes *= 1.1) {
          const double time =
              cost::collective_time({kind, Bytes(bytes), group}, links_of(links_only, 450), laws).value();
          EXPECT_GE(time, 0.995 * before) << architecture << " " << static_cast<int>(kind) << " " << group.ranks
                                          << " on " << group.nodes << " nodes, " << bytes << " bytes";
          before = time;
        }
      }
  }
}

}  // namespace
}  // namespace foretoken::fit
