// Compares the messages that stages post and wait for with call sequences recorded from Megatron-Core.
#include "sim/step/pipeline/messages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::step {
namespace {

using schedule::Neighbour;

// The messages posted and waited for between two passes of one stage, by direction.
struct Between {
  std::multiset<std::string> posted, waited;
  friend bool operator==(const Between&, const Between&) = default;
};

std::ostream& operator<<(std::ostream& out, const Between& between) {
  for (const auto& word : between.posted) out << word << ' ';
  out << '|';
  for (const auto& word : between.waited) out << ' ' << word;
  return out;
}

// Returns the recorded words before, between and after the passes. A plain call posts and waits. isend and irecv only
// post. The i of a batch covers the whole batch.
std::vector<Between> recorded(const std::string& calls) {
  std::vector<Between> result(1);
  std::istringstream words(calls);
  for (std::string word; words >> word;) {
    if (word[0] == 'F' || word[0] == 'B') {
      result.emplace_back();
      continue;
    }
    if (word.starts_with("wait:")) {
      result.back().waited.insert(word.substr(5));
      continue;
    }
    const bool asynchronous = word[0] == 'i';
    std::istringstream batch(asynchronous ? word.substr(1) : word);
    for (std::string one; std::getline(batch, one, '+');) {
      result.back().posted.insert(one);
      const bool next = one == "send_fwd" || one == "recv_bwd";
      if (!asynchronous)
        result.back().waited.insert((one.starts_with("send") ? "send_" : "recv_") +
                                    std::string(next ? "next" : "prev"));
    }
  }
  return result;
}

std::vector<Between> ours(const std::vector<Action>& actions, Stage stage) {
  std::vector<Between> result(1);
  for (const Action& action : actions) {
    if (action.kind() == ActionKind::kCompute) {
      result.emplace_back();
      continue;
    }
    const bool send = action.message().sender.stage == stage;
    const bool forward = action.message().to == Neighbour::kNext;
    if (action.kind() == ActionKind::kPost) {
      result.back().posted.insert(std::string(send ? "send_" : "recv_") + (forward ? "fwd" : "bwd"));
    } else {
      result.back().waited.insert(std::string(send ? "send_" : "recv_") + (send == forward ? "next" : "prev"));
    }
  }
  return result;
}

TEST(Messages, BlockingMessagesEqualTheRecordedOnes) {
  std::ifstream file(FORETOKEN_SOURCE_DIR "/sim/step/testdata/megatron_call_sequences.json");
  int compared = 0;
  const nlohmann::json calls = nlohmann::json::parse(file);
  for (const auto& run : calls.at("runs")) {
    const bool interleaved = run.at("schedule") == "interleaved";
    const schedule::PipelineShape shape{run.at("p"), run.at("m"), run.at("v"),
                                        interleaved ? run.at("group").get<int>() : 0};
    const auto program = schedule::find_schedule(interleaved ? "interleaved-1f1b" : "1f1b")->build(shape);
    const MessagePolicy policy =
        run.at("overlap_p2p").get<bool>() ? MessagePolicy::kOverlapped : MessagePolicy::kBlocking;
    for (const Stage stage : program.stages.ids()) {
      SCOPED_TRACE(testing::Message() << run.at("schedule") << " p " << shape.stages << " stage " << stage.number());
      const auto issued = ours(stage_actions(program, stage, policy), stage);
      const auto expected = recorded(run.at("calls").at(stage.index()));
      ASSERT_EQ(issued.size(), expected.size());
      for (std::size_t i = 0; i < issued.size(); ++i) {
        EXPECT_EQ(issued[i].posted, expected[i].posted)
            << "posted before pass " << i << ": ours " << issued[i] << ", Megatron's " << expected[i];
        if (policy == MessagePolicy::kBlocking) {
          EXPECT_EQ(issued[i], expected[i]) << "before pass " << i;
        }
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 14);
}

TEST(Messages, AsProducedAnInputIsWaitedForAndAResultPosted) {
  const schedule::Program program = schedule::split_v({.stages = 2, .microbatches = 1, .chunks = 2});
  std::vector<ActionKind> last_stage;
  for (const Action& action : stage_actions(program, Stage{1}, MessagePolicy::kAsProduced))
    last_stage.push_back(action.kind());
  using enum ActionKind;
  const std::vector<ActionKind> expected{kWait,    kCompute,   // F0.0
                                         kCompute, kPost,      // F0.1, whose input stays here
                                         kWait,    kCompute,   // I0.1
                                         kCompute, kPost,      // I0.0
                                         kCompute, kCompute};  // W0.1 W0.0
  EXPECT_EQ(last_stage, expected);
}

TEST(Messages, TakeTheLinkToTheStageThatReceivesThem) {
  const auto link = [](const schedule::Placement& placement, std::uint32_t stage, std::uint32_t chunk, Neighbour to) {
    return link_of(placement, {{Stage{stage}, Chunk{chunk}}, {}, to});
  };
  const auto loop = schedule::Placement::looped(4, 2), v = schedule::Placement::v_shaped(4);
  EXPECT_EQ(link(loop, 3, 0, Neighbour::kNext), Neighbour::kNext) << "around the ring";
  EXPECT_EQ(link(loop, 0, 1, Neighbour::kPrevious), Neighbour::kPrevious) << "and back";
  EXPECT_EQ(link(v, 1, 0, Neighbour::kNext), Neighbour::kNext);
  EXPECT_EQ(link(v, 1, 1, Neighbour::kNext), Neighbour::kPrevious) << "the second chunk goes back over the stages";
  EXPECT_EQ(link(v, 1, 1, Neighbour::kPrevious), Neighbour::kNext);
}

}  // namespace
}  // namespace foretoken::step
