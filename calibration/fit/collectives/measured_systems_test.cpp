// Compares the shipped curves of measured systems, and curves of a user, with every measured table.
#include "calibration/fit/collectives/measured_systems.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "calibration/fit/collectives/check_collectives.h"
#include "calibration/fit/collectives/collective_samples.h"
#include "calibration/fit/profiles/fit_profile.h"
#include "calibration/fit/test_sources.h"
#include "sim/io/hardware/collectives.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/json/document.h"

namespace foretoken::fit {
namespace {

std::filesystem::path file_of(const std::string& system) {
  return kSource / "calibration/collectives" / (system + ".json");
}

template <class Read>
auto shipped(const std::filesystem::path& path, Read read) {
  io::Findings findings;
  const auto document = io::document_from_file(path, findings);
  findings.throw_if_wrong();
  auto value = read(document->root(findings));
  findings.throw_if_wrong();
  return value;
}

/// The profile that a table's GPU takes. L40S, RTX PRO 6000 and MI300X have no fitted one: their tables are
/// measured where the profile of another GPU has no part (PCIe), or is capped by it (NVLink across nodes).
cost::Profile profile_of(const std::string& gpu) {
  const std::map<std::string, std::string> stands_on{{"b300", "b200-sxm-180gb"},
                                                     {"gb300", "gb200-186gb"},
                                                     {"l40s", "a100-pcie-80gb"},
                                                     {"rtx-pro-6000", "b200-sxm-180gb"},
                                                     {"mi300x", "h100-sxm5-80gb"}};
  const auto other = stands_on.find(gpu);
  const std::string name = other == stands_on.end() ? gpu : other->second;
  return shipped(kSource / "calibration/profiles" / (name + ".json"), io::read_profile);
}

TEST(MeasuredSystems, ShippedCurvesMeetEveryTable) {
  std::size_t count = 0;
  for (const CollectiveTable& table : tables()) {
    const auto measured = shipped(file_of(table.system), io::read_measured_collectives);
    const TableErrors errors = errors_on(table, cost::with_measured(profile_of(table.gpu), measured));
    EXPECT_TRUE(errors.within_bounds()) << table.id << ": median " << errors.median << ", p90 " << errors.p90
                                        << ", worst " << errors.worst;
    EXPECT_GT(errors.rows, 0u) << table.id;
    ++count;
  }
  EXPECT_EQ(count, 133u);
}

measured::Collective collective_of(const CollectiveTable& table) {
  using enum measured::Collective;
  if (table.message) return kSendRecv;
  constexpr measured::Collective kKinds[] = {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kReduce};
  return kKinds[static_cast<std::size_t>(table.kind)];
}

TEST(MeasuredSystems, AUsersOwnTableIsMetByTheProfileFittedOnIt) {
  for (const CollectiveTable& table : tables()) {
    measured::Samples samples;
    samples.origins.emplace_back().source = "own table";
    for (const auto& row : table.rows) {
      measured::CollectiveSample sample;
      sample.kind = collective_of(table);
      sample.bytes = Bytes(row.bytes);
      sample.group = {.ranks = table.ranks, .nodes = table.nodes, .ranks_per_node = table.ranks_per_node};
      sample.time = {Seconds(row.seconds), Seconds(row.seconds), Seconds(row.seconds), 0};
      samples.add(sample);
    }
    const double link = links_of(table, link_gb_per_s(table)).nvlink_per_gpu.value() / 1e9;
    const cost::Profile own = fit_profile(samples, {.gpu = "own",
                                                    .base = profile_of(table.gpu),
                                                    .over_pcie = over_pcie(table),
                                                    .link_gb_per_s = link,
                                                    .nic_gb_per_s = table.nic_gb_per_s});
    EXPECT_TRUE(errors_on(table, own).within_bounds()) << table.id;
  }
}

TEST(MeasuredSystems, TheSameTablesGiveTheShippedFiles) {
  const auto all = tables();
  std::set<std::string> names;
  for (const cost::MeasuredCollectives& system : measured_systems(all, fit_general_laws(all))) {
    std::ostringstream text;
    text << std::ifstream(file_of(system.name)).rdbuf();
    EXPECT_EQ(text.str(), io::to_json_text(system)) << system.name;
    names.insert(system.name + ".json");
  }
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "calibration/collectives"))
    EXPECT_EQ(names.count(entry.path().filename().string()), 1u) << entry.path();
}

TEST(MeasuredSystems, OneTableForEachKindAndShape) {
  std::set<std::string> shapes;
  for (const CollectiveTable& t : tables())
    EXPECT_TRUE(shapes
                    .insert(t.system + std::to_string(static_cast<int>(t.kind)) + (t.message ? "m" : " ") +
                            std::to_string(t.ranks) + "/" + std::to_string(t.nodes))
                    .second)
        << t.id;
}

}  // namespace
}  // namespace foretoken::fit
