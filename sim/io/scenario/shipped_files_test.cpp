// Tests that every shipped data file can be read, and has the name of its file. A file with a base and nothing else is
// a second name of its base.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sim/io/hardware/collectives.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/hardware/read_cluster.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/test_text.h"
#include "sim/io/model/read_model.h"
#include "sim/io/scenario/read_runtime.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

/// Reads every shipped file of a kind with `read`, which returns the name in the file.
template <class Read>
void read_all(const DataKind& kind, std::size_t at_least, Read read) {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(FORETOKEN_SOURCE_DIR) / kind.folder)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().string());
    Findings findings;
    auto document = document_from_file(entry.path(), findings);
    const bool second_name = document && document->value.size() == 1 && document->value.contains("base");
    if (document) document = with_bases(std::move(*document), kind, findings);
    const std::string name = document ? read(document->root(findings)) : "";
    EXPECT_NE(name, "");
    EXPECT_TRUE(name == entry.path().stem().string() || (second_name && entry.path().stem().string().starts_with(name)))
        << name;
    EXPECT_EQ(lines_of(findings.complaints), "");
    ++count;
  }
  EXPECT_GE(count, at_least);
}

TEST(ShippedFiles, Models) {
  read_all(kModels, 30, [](const Node& root) { return read_model(root).name; });
}

TEST(ShippedFiles, Gpus) {
  read_all(kGpus, 8, [](const Node& root) { return read_gpu(root).name; });
}

TEST(ShippedFiles, Clusters) {
  read_all(kClusters, 12, [](const Node& root) { return read_cluster(root).name; });
}

TEST(ShippedFiles, Profiles) {
  read_all(kProfiles, 6, [](const Node& root) { return read_profile(root).name; });
}

TEST(ShippedFiles, MeasuredCollectives) {
  read_all(kMeasuredCollectives, 40, [](const Node& root) { return read_measured_collectives(root).name; });
}

TEST(ShippedFiles, Runtimes) {
  read_all(kRuntimes, 4, [](const Node& root) { return read_runtime(root).name; });
}

TEST(ShippedFiles, Scenarios) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FORETOKEN_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().string());
    EXPECT_EQ(thrown_by([&] { (void)read_scenario_file(entry.path()); }), "");
    ++count;
  }
  EXPECT_GE(count, 20u);
}

}  // namespace
}  // namespace foretoken::io
