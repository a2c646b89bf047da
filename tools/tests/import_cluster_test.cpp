// Tests `foretoken clusters import` from outside: written files, complaints, and runs on a written cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMachines = FORETOKEN_SOURCE_DIR "/sim/io/testdata/machines/";

std::string machine(const std::string& name) { return kMachines + name; }

TEST(ImportCluster, AMatrixBecomesAClusterThatSimulateTakes) {
  const TemporaryFolder folder;
  const std::string file = folder.file("mine.json");
  const Ran ran = run_foretoken({"clusters", "import", machine("dgx-a100.txt"), "--gpu", "a100-sxm4-80gb",
                                 "--nic-gb-per-s", "25", "--fabric", "dgx-a100-80gb-hdr", "-o", file});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Left out, every GPU has a nearer one: mlx5_4, mlx5_5, mlx5_10,"));
  const json cluster = json::parse(contents(file));
  EXPECT_EQ(cluster.at("name"), "dgx-a100");
  EXPECT_EQ(cluster.at("node").at("nics"), (json{{"count", 8}, {"gb_per_s", 25}}));
  EXPECT_EQ(cluster.at("node").at("nvlink").at("gb_per_s_per_gpu"), 300);
  EXPECT_EQ(cluster.at("node").at("sockets")[2], json::parse(R"({"switches": [{"gpus": [4, 5], "nics": [4, 5]}]})"));
  // The imported cluster has the numbers of the shipped one. Only curves measured on the shipped one differ.
  const auto step_time = [](const std::string& of) {
    const Ran simulated = run_foretoken({"simulate", "gpt-22b-8-a100-full", "--json", "--set", "cluster=" + of});
    EXPECT_EQ(simulated.status, 0) << simulated.err;
    return json::parse(simulated.out).at("step_time_s").get<double>();
  };
  EXPECT_EQ(step_time(file), step_time(R"({"base": "dgx-a100-80gb-hdr", "measured_collectives": null})"));
  EXPECT_EQ(run_foretoken({"clusters", "show", file, "--svg", folder.file("a.svg")}).status, 0);
}

TEST(ImportCluster, StandardInputAndOutput) {
  const Ran ran =
      run_foretoken({"clusters", "import", "-", "--gpu", "a100-pcie-80gb", "--fabric", "aws-p4d", "--name", "vm"},
                    contents(machine("azure-ncv4.xml")));
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json cluster = json::parse(ran.out);
  EXPECT_EQ(cluster.at("name"), "vm");
  EXPECT_EQ(cluster.at("node").at("nvlink").at("cables"), json::parse("[[0, 1, 12], [2, 3, 12]]"));
  EXPECT_EQ(cluster.at("node").at("nics").at("gb_per_s"), 12.5);
}

std::vector<Wrong> wrong_machines(const TemporaryFolder& folder) {
  const std::string cut = folder.put("cut.txt", contents(machine("hgx-h100.txt")).substr(0, 600));
  const std::string binary = folder.put("binary", std::string("\x7f"
                                                              "ELF\0\1\2\3",
                                                              8));
  return {
      {"no GPU", {machine("hgx-h100.txt")}, "--gpu is required"},
      {"unknown GPU",
       {machine("hgx-h100.txt"), "--gpu", "h100-sxm"},
       "unknown GPU \"h100-sxm\"; did you mean \"h100-sxm5-80gb\"?"},
      {"no rate",
       {machine("hgx-h100.txt"), "--gpu", "h100-sxm5-80gb", "--fabric", "dgx-h100-ndr"},
       "give --nic-gb-per-s"},
      {"no network", {machine("hgx-h100.txt"), "--gpu", "h100-sxm5-80gb", "--nic-gb-per-s", "50"}, "--fabric CLUSTER"},
      {"cut off", {cut, "--gpu", "h100-sxm5-80gb"}, "is the text cut off?"},
      {"binary", {binary, "--gpu", "h100-sxm5-80gb"}, "expected what nvidia-smi topo -m prints"},
      {"no file", {folder.file("none"), "--gpu", "h100-sxm5-80gb"}, "none: "},
      {"another GPU",
       {machine("ibm-h100.xml"), "--gpu", "b200-sxm-180gb", "--fabric", "dgx-h100-ndr"},
       "name the right one with --gpu"}};
}

std::vector<Wrong> wrong_fabrics(const TemporaryFolder& folder) {
  std::string mixed_text = contents(machine("azure-ncv4.xml"));
  mixed_text.replace(mixed_text.rfind("sm=\"80\""), 7, "sm=\"90\"");
  const std::string mixed = folder.put("mixed.xml", mixed_text), list = folder.put("list.json", "[1]"),
                    number = folder.put("number.json", R"({"fabric": 3})"),
                    without_nvlink = folder.put("alone.txt", "\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n");
  return {
      {"a rate of nothing",
       {machine("hgx-h100.txt"), "--gpu", "h100-sxm5-80gb", "--nic-gb-per-s", "0"},
       "expected a number"},
      {"GPUs of two kinds",
       {mixed, "--gpu", "a100-pcie-80gb", "--fabric", "aws-p4d"},
       "GPU 3 is sm 90, others are sm 80; expected GPUs of one kind"},
      {"a fabric in a list", {machine("azure-ncv4.xml"), "--gpu", "a100-pcie-80gb", "--fabric", list}, "list.json: "},
      {"a fabric that is none",
       {machine("azure-ncv4.xml"), "--gpu", "a100-pcie-80gb", "--fabric", number},
       "/fabric: expected an object, found 3"},
      {"a domain without NVLink",
       {without_nvlink, "--gpu", "a100-pcie-80gb", "--domain-gpus", "8"},
       "shows no NVLink, but --domain-gpus asks for an NVLink domain of 8"},
      {"a domain of bridged nodes",
       {machine("azure-ncv4.xml"), "--gpu", "a100-pcie-80gb", "--fabric", "aws-p4d", "--domain-gpus", "8"},
       "only an NVLink switch joins several nodes, found 8"},
      {"a domain of parts",
       {machine("hgx-h100.txt"), "--gpu", "h100-sxm5-80gb", "--nic-gb-per-s", "50", "--fabric", "dgx-h100-ndr",
        "--domain-gpus", "12"},
       "expected a multiple of the node's 8 GPUs, found 12"}};
}

TEST(ImportCluster, WhatIsWrongIsOneLineAndNoFile) {
  const TemporaryFolder folder;
  std::vector<Wrong> cases = wrong_machines(folder);
  for (const Wrong& c : wrong_fabrics(folder)) cases.push_back(c);
  for (Wrong& wrong : cases) {
    const std::vector<std::string> command = {"clusters", "import", "-o", folder.file("out.json")};
    wrong.arguments.insert(wrong.arguments.begin(), command.begin(), command.end());
    expect_refused(wrong);
  }
  EXPECT_THAT(folder.names(),
              testing::UnorderedElementsAre("cut.txt", "binary", "mixed.xml", "list.json", "number.json", "alone.txt"));
}

}  // namespace
}  // namespace foretoken::tools
