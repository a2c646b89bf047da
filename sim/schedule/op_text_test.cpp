// Tests ops written as text and read back.
#include "sim/schedule/op_text.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/schedule/test_programs.h"

namespace foretoken::schedule {
namespace {

TEST(OpText, NamesPhaseMicrobatchAndChunk) {
  EXPECT_EQ(to_text({OpKind::kForward, MicroBatch{3}, Chunk{0}}, 1), "F3");
  EXPECT_EQ(to_text({OpKind::kForward, MicroBatch{3}, Chunk{0}}, 2), "F3.0");
  EXPECT_EQ(to_text({OpKind::kBackward, MicroBatch{0}, Chunk{1}}, 2), "B0.1");
  EXPECT_EQ(to_text({OpKind::kBackward, MicroBatch{0}, Chunk{1}}, 1), "B0.1") << "a chunk is never hidden";
  EXPECT_EQ(
      to_text(StageProgram{{OpKind::kForward, MicroBatch{0}, Chunk{0}}, {OpKind::kBackward, MicroBatch{0}, Chunk{0}}},
              1),
      "F0 B0");
  EXPECT_EQ(to_text(StageProgram{}, 1), "");
}

TEST(OpText, EveryKindHasARowAndALetterOfItsOwn) {
  std::set<char> letters;
  for (std::size_t at = 0; at < kOpKinds; ++at) {
    EXPECT_EQ(static_cast<std::size_t>(kOpTraits[at].kind), at);
    letters.insert(kOpTraits[at].letter);
    EXPECT_EQ(traits(unpaired(kOpTraits[at].kind)).letter, kOpTraits[at].letter) << "a pair has those of its passes";
  }
  EXPECT_EQ(letters.size(), kOpKinds - 2);
  EXPECT_EQ(to_text({OpKind::kBackwardWeight, MicroBatch{7}, Chunk{1}}, 2), "W7.1");
}

TEST(OpText, ReadsItsOwnTexts) {
  for (const OpTraits& one : kOpTraits) {
    if (unpaired(one.kind) != one.kind) continue;  // a pair is read from the sign between its passes
    for (const std::uint32_t microbatch : {0U, 9U, 10U, 2147483647U}) {
      for (std::uint32_t chunk = 0; chunk < 3; ++chunk) {
        const StageOp op{one.kind, MicroBatch{microbatch}, Chunk{chunk}};
        EXPECT_EQ(parse_op(to_text(op, 3)), op);
        EXPECT_EQ(parse_op(to_text(op, 1)), op);
      }
    }
  }
}

TEST(OpText, RefusesOtherTexts) {
  for (const char* text : {"", "F", "f0", "X0", "0", "F-1", "F+1", "F 1", "F1 ", " F1", "F1.", "F.1", "F1.2.3", "F1.-1",
                           "F1x", "F0x1", "F2147483648", "F99999999999999999999"}) {
    EXPECT_EQ(parse_op(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(OpText, LettersAreThoseOfTheProgram) {
  const Placement one = Placement::looped(1, 1);
  EXPECT_EQ(letters_text(program_of(one, {"F0 B0"})), "F forward, B backward");
  EXPECT_EQ(letters_text(program_of(one, {"F0 I0 W0"})), "F forward, I backward for input, W backward for weight");
}

}  // namespace
}  // namespace foretoken::schedule
