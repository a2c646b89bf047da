// Tests wrong residuals of services: one clear complaint each.
#include "sim/io/serve/served_residuals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

std::string served_complaint(const char* text) {
  Findings findings;
  const auto document = document_from_text(text, "r.json", findings);
  if (document) (void)read_served_residuals(document->root(findings));
  return findings.complaints.empty() ? "" : findings.complaints.front().line();
}

TEST(ServedResiduals, AreReadAsWritten) {
  const trust::ServedEvidence shipped = read_shipped_served_residuals();
  EXPECT_EQ(shipped.widths.size(), 4U);
  EXPECT_GT(shipped.cases.size(), 200U);
}

TEST(ServedResiduals, WrongFilesAreComplainedAbout) {
  const auto group = [&](const std::string& text) {
    return served_complaint(
        (R"({"widths": [], "groups": [{"set": "s", "title": "t", "all": {}, )" + text + "}]}").c_str());
  };
  EXPECT_THAT(group(R"("keys": ["colour"], "quantities": [], "cases": [])"),
              testing::HasSubstr("/groups/0/keys/0: expected a key of a service"));
  EXPECT_THAT(group(R"("keys": ["input"], "quantities": ["tpot"], "cases": [[1, 2]])"),
              testing::HasSubstr("/groups/0/cases/0: expected the values of keys"));
  EXPECT_THAT(group(R"("keys": ["input"], "quantities": ["tpot"], "cases": [[1, 2, -3]])"),
              testing::HasSubstr("/groups/0/cases/0/2: expected a number from"));
  EXPECT_THAT(group(R"("keys": [], "quantities": ["speed"], "cases": [])"), testing::HasSubstr("ttft"));
  EXPECT_THAT(served_complaint(R"({"groups": []})"), testing::HasSubstr("widths"));
}

}  // namespace
}  // namespace foretoken::io
