// Tests paths as text of JSON, also paths that are not UTF-8.
#include "sim/io/json/data_path.h"

#include <gtest/gtest.h>

#include "sim/base/text.h"

namespace foretoken::io {
namespace {

TEST(TextOfPath, IsUtf8AndLeadsBackToTheSamePath) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every += static_cast<char>(byte);
  for (const std::string& path : {std::string("models/plain.json"), std::string("\xc3\xa9/\xe2\x82\xac.json"),
                                  std::string("/tmp/\xff\x80/a.json"), std::string("cut \xe2\x82"), every,
                                  std::string("private \xee\xbe\x80 and \xee\xbf\xbf, \xee\x80\x80"), std::string()}) {
    const std::string text = text_of_path(path);
    EXPECT_FALSE(invalid_utf8(text)) << text;
    EXPECT_EQ(path_of_text(text).native(), path);
  }
  EXPECT_EQ(text_of_path("models/\xc3\xa9.json"), "models/\xc3\xa9.json");
}

}  // namespace
}  // namespace foretoken::io
