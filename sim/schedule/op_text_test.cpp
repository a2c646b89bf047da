// Ops as text and back.
#include "sim/schedule/op_text.h"

#include <gtest/gtest.h>

namespace foretoken::schedule {
namespace {

TEST(OpText, NamesPhaseMicrobatchAndChunk) {
  EXPECT_EQ(to_text({OpKind::kForward, 3, 0}, 1), "F3");
  EXPECT_EQ(to_text({OpKind::kForward, 3, 0}, 2), "F3.0");
  EXPECT_EQ(to_text({OpKind::kBackward, 0, 1}, 2), "B0.1");
  EXPECT_EQ(to_text({OpKind::kBackward, 0, 1}, 1), "B0.1") << "a chunk is never hidden";
  EXPECT_EQ(to_text(StageProgram{{OpKind::kForward, 0, 0}, {OpKind::kBackward, 0, 0}}, 1), "F0 B0");
  EXPECT_EQ(to_text(StageProgram{}, 1), "");
}

TEST(OpText, ReadsWhatItWrites) {
  for (const OpKind kind : {OpKind::kForward, OpKind::kBackward}) {
    for (const int microbatch : {0, 9, 10, 2147483647}) {
      for (int chunk = 0; chunk < 3; ++chunk) {
        const StageOp op{kind, microbatch, chunk};
        EXPECT_EQ(parse_op(to_text(op, 3)), op);
        EXPECT_EQ(parse_op(to_text(op, 1)), op);
      }
    }
  }
}

TEST(OpText, RefusesWhatIsNoOp) {
  for (const char* text : {"", "F", "f0", "W0", "0", "F-1", "F+1", "F 1", "F1 ", " F1", "F1.", "F.1", "F1.2.3", "F1.-1",
                           "F1x", "F0x1", "F2147483648", "F99999999999999999999"}) {
    EXPECT_EQ(parse_op(text), std::nullopt) << '"' << text << '"';
  }
}

}  // namespace
}  // namespace foretoken::schedule
