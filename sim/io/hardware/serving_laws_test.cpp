// Tests the shipped laws of serving: their evidence, their order and their errors.
#include "sim/io/hardware/serving_laws.h"

#include <gtest/gtest.h>

#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

cost::ServingLaws shipped_laws(const std::string& name) {
  Findings findings;
  const auto document = document_from_file(*find_data_file(kServingLaws, name), findings);
  cost::ServingLaws laws = read_serving_laws(document->root(findings));
  findings.throw_if_wrong();
  return laws;
}

TEST(ServingLaws, AreFittedOnSevenGpusWithinTenPercentOfHeldOutShapes) {
  const std::vector<std::string> names = list_names(kServingLaws);
  EXPECT_EQ(names.size(), 7U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const cost::ServingLaws laws = shipped_laws(name);
    EXPECT_EQ(laws.gpu, name);
    for (const cost::DecodeLaw* const law : {&laws.decode16, &laws.decode8}) {
      EXPECT_GT(law->evidence.held_out, 100);
      EXPECT_LE(law->evidence.median_error, 0.1);
      EXPECT_GT(law->launch, Seconds(0));
    }
    EXPECT_GE(laws.all_reduces.size(), 2U) << "two and four ranks";
  }
}

TEST(ServingLaws, WiderCachesNeverReadFaster) {
  for (const std::string& name : list_names(kServingLaws)) {
    const cost::ServingLaws laws = shipped_laws(name);
    const cost::DecodeShape wide{.sequences = 64, .cached_tokens = 64 * 8192, .heads = 8, .kv_heads = 1};
    cost::DecodeShape narrow = wide;
    narrow.cache_bytes = 1;
    EXPECT_LT(decode_attention_time(narrow, laws.decode8), decode_attention_time(wide, laws.decode16)) << name;
  }
}

}  // namespace
}  // namespace foretoken::io
