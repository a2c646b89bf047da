// Tests tables of fields: written values can be read again, and wrong values give complaints.
#include "sim/io/json/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Cable {
  std::string name{};
  BytesPerSecond rate{};
  int lanes = 1;
  double loss = 0;
};

void cable_fields(Fields& f, Cable& cable) {
  f.text("name", cable.name);
  f.gigabytes("gb_per_s", cable.rate, kPositive);
  f.whole_where(cable.lanes > 1, "lanes", cable.lanes, {.low = 2, .high = 16});
  f.number_or("loss", cable.loss, 0, kFraction);
  f.check([&](const Node& node) {
    if (cable.lanes > 1 && cable.loss > 0) node.complain("loss", "expected no loss of several lanes");
  });
}

struct Reading {
  Cable cable;
  std::vector<std::string> complaints;
};

Reading read_cable(const std::string& text) {
  Findings findings;
  const nlohmann::json value = nlohmann::json::parse(text);
  const Source source{.file = "c.json"};
  Reading reading{Fields::read_fields(Node(value, source, findings), cable_fields), {}};
  for (const Complaint& complaint : findings.complaints.listed()) reading.complaints.push_back(complaint.line());
  return reading;
}

TEST(Fields, WrittenInTheOrderOfTheTable) {
  const Cable cable{.name = "AOC", .rate = gigabytes_per_second(12.34567), .lanes = 4};
  EXPECT_EQ(Fields::written_fields(cable, cable_fields).dump(), R"({"name":"AOC","gb_per_s":12.35,"lanes":4})");
}

TEST(Fields, ReadAsTheyWereWritten) {
  const Cable written{.name = "DAC", .rate = gigabytes_per_second(25), .loss = 0.125};
  const Reading reading = read_cable(Fields::written_fields(written, cable_fields).dump());
  EXPECT_THAT(reading.complaints, IsEmpty());
  EXPECT_EQ(reading.cable.name, "DAC");
  EXPECT_EQ(reading.cable.rate, written.rate);
  EXPECT_EQ(reading.cable.lanes, 1);
  EXPECT_EQ(reading.cable.loss, 0.125);
}

TEST(Fields, UnknownKeysFirstThenValuesThenRules) {
  EXPECT_THAT(read_cable(R"({"name": "x", "gb_per_s": -1, "lane": 2})").complaints,
              ElementsAre(HasSubstr("/lane: unknown key"), HasSubstr("/gb_per_s: expected")));
  EXPECT_THAT(read_cable(R"({"name": "x", "gb_per_s": 1, "lanes": 2, "loss": 0.5})").complaints,
              ElementsAre(HasSubstr("/loss: expected no loss of several lanes")));
  EXPECT_THAT(read_cable(R"({"gb_per_s": 1})").complaints, ElementsAre(HasSubstr("/name: missing")));
}

}  // namespace
}  // namespace foretoken::io
