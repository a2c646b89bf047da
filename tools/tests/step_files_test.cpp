// Tests the traces that `simulate` writes for other programs: they read back as the step that they came from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;

constexpr const char* kStepQuestion = R"({"model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 16,
  "parallelism": {"tensor": 2, "pipeline": 2}, "batch": {"micro": 1, "global": 16, "sequence_length": 4096}})";

// A field of a protocol buffer: a number, or bytes.
struct Field {
  std::uint64_t number = 0, whole = 0;
  std::string_view bytes;
};

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

std::string_view take_bytes(std::string_view& bytes) {
  const std::uint64_t length = take_varint(bytes);
  EXPECT_LE(length, bytes.size());
  const std::string_view taken = bytes.substr(0, length);
  bytes.remove_prefix(taken.size());
  return taken;
}

std::vector<Field> fields_of(std::string_view message) {
  std::vector<Field> fields;
  while (!message.empty()) {
    const std::uint64_t tag = take_varint(message);
    Field field{tag >> 3U, 0, {}};
    if ((tag & 7U) == 2)
      field.bytes = take_bytes(message);
    else
      field.whole = take_varint(message);
    fields.push_back(field);
  }
  return fields;
}

// A node of a Chakra trace (et_def.proto): type 4 computes, 5 sends, 6 receives, 7 is a collective.
struct ChakraNode {
  std::uint64_t id = 0, type = 0, duration = 0;
  std::vector<std::uint64_t> after;
  std::map<std::string, std::uint64_t> wholes;
  std::string group;
};

ChakraNode node_in(std::string_view message) {
  ChakraNode node;
  for (const Field& field : fields_of(message)) {
    if (field.number == 1) node.id = field.whole;
    if (field.number == 3) node.type = field.whole;
    if (field.number == 5) node.after.push_back(field.whole);
    if (field.number == 7) node.duration = field.whole;
    if (field.number != 10) continue;
    const std::vector<Field> attribute = fields_of(field.bytes);
    if (attribute.back().number == 29)
      node.group = std::string(attribute.back().bytes);
    else
      node.wholes[std::string(attribute.front().bytes)] = attribute.back().whole;
  }
  return node;
}

std::vector<ChakraNode> nodes_in(const std::string& trace) {
  std::string_view rest = trace;
  const std::string_view metadata = take_bytes(rest);
  EXPECT_EQ(fields_of(metadata).front().bytes, "0.0.4");
  std::vector<ChakraNode> nodes;
  while (!rest.empty()) nodes.push_back(node_in(take_bytes(rest)));
  return nodes;
}

TEST(StepFiles, ChakraTracesOfAllRanksFitTogether) {
  const TemporaryFolder folder;
  const std::string out = folder.file("et");
  ASSERT_EQ(run_foretoken({"simulate", folder.put("my.json", kStepQuestion), "--chakra", out}).status, 0);
  const json groups = json::parse(contents(out + "/step.groups.json"));
  std::multiset<std::vector<std::uint64_t>> sent, received;  // from, to, tag, bytes
  for (int rank = 0; rank < 16; ++rank) {
    SCOPED_TRACE(rank);
    const std::vector<ChakraNode> nodes = nodes_in(contents(out + "/step." + std::to_string(rank) + ".et"));
    std::set<std::uint64_t> ids;
    for (const ChakraNode& node : nodes) EXPECT_TRUE(ids.insert(node.id).second);
    for (const ChakraNode& node : nodes) {
      for (const std::uint64_t before : node.after) EXPECT_EQ(ids.count(before), 1U);
      if (node.type == 5 || node.type == 6)
        (node.type == 5 ? sent : received)
            .insert({node.wholes.at("comm_src"), node.wholes.at("comm_dst"), node.wholes.at("comm_tag"),
                     node.wholes.at("comm_size")});
      if (node.type == 5) {
        EXPECT_EQ(node.wholes.at("comm_src"), static_cast<std::uint64_t>(rank));
      }
      if (node.type == 7) {
        EXPECT_THAT(groups.at(node.group).get<std::vector<int>>(), testing::Contains(rank));
      }
    }
  }
  EXPECT_FALSE(sent.empty());
  EXPECT_EQ(sent, received);
}

constexpr const char* kExpertsQuestion =
    R"({"model": "mixtral-8x7b", "cluster": "dgx-h100-ndr", "gpus": 16, "parallelism": {"expert": 8, "pipeline": 2},
        "batch": {"micro": 1, "global": 32, "sequence_length": 4096}})";

TEST(StepFiles, KinetoTracesReadBackAsTheStep) {
  for (const char* const text : {kStepQuestion, kExpertsQuestion}) {
    const TemporaryFolder folder;
    const std::string question = folder.put("my.json", text), out = folder.file("kineto");
    const Ran simulated = run_foretoken({"simulate", question, "--fidelity", "kernel", "--kineto", out, "--json"});
    ASSERT_EQ(simulated.status, 0) << simulated.err;
    EXPECT_THAT(folder.names(), testing::Contains("kineto"));
    const json step = json::parse(simulated.out);
    for (const char* rank : {"/rank-0.json", "/rank-8.json"}) {
      const Ran ran = run_foretoken({"diagnose", out + rank, question, "--json"});
      ASSERT_EQ(ran.status, 0) << ran.err;
      const json answer = json::parse(ran.out);
      const double simulated_step = step.at("simulated_step_time_s").get<double>();
      const double bias = step.at("step_time_s").get<double>() / simulated_step;
      EXPECT_NEAR(answer.at("step_time_s").get<double>() / simulated_step, 1, 1e-6);
      for (const json& kind : answer.at("kinds")) {
        ASSERT_TRUE(kind.at("predicted_s").is_number()) << kind;
        EXPECT_NEAR(kind.at("measured_s").get<double>() * bias / kind.at("predicted_s").get<double>(), 1, 1e-3) << kind;
      }
    }
  }
}

TEST(StepFiles, TheSameSeedWritesTheSameLog) {
  const TemporaryFolder folder;
  const std::string question = folder.put("my.json", kStepQuestion);
  const auto log_of = [&](const char* seed) {
    const std::string file = folder.file(std::string("log") + seed);
    EXPECT_EQ(run_foretoken({"simulate", question, "--log", file, "--log-seed", seed}).status, 0);
    return contents(file);
  };
  const std::string one = log_of("1");
  EXPECT_EQ(one, log_of("1"));
  EXPECT_NE(one, log_of("2"));
}

}  // namespace
}  // namespace foretoken::tools
