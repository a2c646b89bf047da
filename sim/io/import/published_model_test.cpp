// Tests models that are opened by a published name.
#include "sim/io/import/published_model.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/io/json/test_text.h"
#include "sim/io/model/read_model.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io {
namespace {

/// Opens `name` as a scenario does, and returns the parameters of its model.
double parameters_of_name(const std::string& name, Findings& findings) {
  const auto document = document_of_name(kModels, name, "m", findings);
  return document ? model::total_parameters(read_model(document->root(findings), document->name)) : 0;
}

TEST(PublishedModel, OfAShippedModelsSizesIsThatModel) {
  for (const char* name : {"llama-3.1-8b", "Llama-3.1-8B-Instruct", "llama-3.1-70b"}) {
    Findings findings;
    const double shipped = std::string(name).find("70") == std::string::npos ? 8'030'261'248 : 70'553'706'496;
    EXPECT_EQ(parameters_of_name(name, findings), shipped) << name;
    EXPECT_TRUE(findings.complaints.empty());
    ASSERT_FALSE(findings.notes.assumptions.empty()) << name;
    EXPECT_NE(findings.notes.assumptions.front().find("has the sizes of \"llama-3-"), std::string::npos);
  }
}

TEST(PublishedModel, WithSizesOfItsOwnHasThem) {
  Findings findings;
  EXPECT_NEAR(parameters_of_name("qwen2.5-7b", findings) / 1e9, 7.6156, 1e-4);
  EXPECT_TRUE(findings.complaints.empty());
  ASSERT_FALSE(findings.notes.assumptions.empty());
  EXPECT_EQ(findings.notes.assumptions.front(), "model \"qwen2.5-7b\" has the sizes of its published config.json");
}

TEST(PublishedModel, OtherNamesStayUnknown) {
  for (const char* name : {"llama-3-9b", "gpt3-175", "llama-3.1-8b-awq", "Llama3-8B-Chinese-Chat"}) {
    Findings findings;
    EXPECT_EQ(parameters_of_name(name, findings), 0) << name;
    ASSERT_EQ(findings.complaints.size(), 1U) << name;
    EXPECT_NE(lines_of(findings.complaints).find("unknown model"), std::string::npos);
  }
}

}  // namespace
}  // namespace foretoken::io
