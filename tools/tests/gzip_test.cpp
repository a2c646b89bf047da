// Tests compressed output.
#include "tools/output/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

std::string unpacked(const std::string& file) {
  gzFile in = ::gzopen(file.c_str(), "rb");
  std::string text;
  std::array<char, 4096> piece{};
  for (int n = 0; (n = ::gzread(in, piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(n));
  EXPECT_EQ(::gzclose(in), Z_OK);
  return text;
}

TEST(Gzip, PiecesBecomeOneStream) {
  const TemporaryFolder folder;
  Gzip gzip;
  std::string packed, whole;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece = std::to_string(i * i) + std::string(static_cast<std::size_t>(i), 'x');
    packed += gzip.add(piece);
    whole += piece;
  }
  packed += gzip.finish();
  EXPECT_LT(packed.size(), whole.size() / 10);
  EXPECT_EQ(unpacked(folder.put("t.gz", packed)), whole);
}

TEST(Gzip, ATraceWithTheNameOfAnArchiveIsCompressed) {
  const TemporaryFolder folder;
  const std::string plain = folder.file("t.json"), packed = folder.file("t.json.gz");
  EXPECT_EQ(run_foretoken({"simulate", "gpt3-175b-1024-a100", "--trace", plain}).status, 0);
  EXPECT_EQ(run_foretoken({"simulate", "gpt3-175b-1024-a100", "--trace", packed}).status, 0);
  EXPECT_EQ(unpacked(packed), contents(plain));
  EXPECT_LT(contents(packed).size(), contents(plain).size() / 4);
}

}  // namespace
}  // namespace foretoken::tools
