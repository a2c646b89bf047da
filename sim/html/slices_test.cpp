// Tests that packed bars read back unchanged, and cost a few bytes each.
#include "sim/html/slices.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

namespace foretoken::html {
namespace {

using report::Activity;
using report::GanttBar;

// Reads packed bars as timeline_data.js does.
class Reader {
 public:
  explicit Reader(const std::string& base64) {
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0, held = 0;
    for (const char c : base64) {
      if (c == '=') break;
      bits = bits << 6U | static_cast<unsigned>(digits.find(c));
      held += 6;
      if (held < 8) continue;
      held -= 8;
      bytes_.push_back(static_cast<std::uint8_t>(bits >> held & 255U));
    }
  }
  std::vector<GanttBar> lane(std::int64_t unit) {
    std::vector<GanttBar> bars(number());
    std::array<Chunk, 16> chunk_of{};
    std::map<std::pair<unsigned, Chunk>, std::pair<int, std::int64_t>> rhythms;
    std::int64_t end = 0;
    for (GanttBar& bar : bars) {
      const unsigned flags = bytes_[at_++], activity = (flags & 7U) | (flags >> 4U & 8U);
      bar.activity = static_cast<Activity>(activity);
      bar.chunk = (flags & 8U) != 0 ? chunk_of[activity] : Chunk{static_cast<std::uint32_t>(number())};
      auto [rhythm, is_new] = rhythms.try_emplace({activity, bar.chunk}, -1, 0);
      auto& [microbatch, duration] = rhythm->second;
      microbatch = (flags & 16U) != 0 ? microbatch + 1 : static_cast<int>(number());
      bar.microbatch = id_of<schedule::MicroBatch>(microbatch);
      const std::int64_t begin = end + ((flags & 32U) != 0 ? 0 : signed_number());
      duration += (flags & 64U) != 0 ? 0 : signed_number();
      end = begin + duration;
      bar.begin = des::Instant{begin * unit};
      bar.end = des::Instant{end * unit};
      chunk_of[activity] = bar.chunk;
    }
    return bars;
  }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = bytes_[at_++];
      value |= static_cast<std::uint64_t>(byte & 127U) << shift;
      if (byte < 128) return value;
    }
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
  }
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

void expect_equal(const std::vector<GanttBar>& read, const std::vector<GanttBar>& written) {
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].begin, written[i].begin) << i;
    EXPECT_EQ(read[i].end, written[i].end) << i;
    EXPECT_EQ(read[i].activity, written[i].activity) << i;
    EXPECT_EQ(read[i].microbatch, written[i].microbatch) << i;
    EXPECT_EQ(read[i].chunk, written[i].chunk) << i;
  }
}

TEST(PackedSlices, ReadBackAsTheyWere) {
  std::mt19937 random(7);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  report::Gantt gantt;
  for (int row = 0; row < 5; ++row) {
    report::GanttRow& lanes = gantt.rows.emplace_back();
    for (auto* lane : {&lanes.work, &lanes.communication}) {
      std::int64_t begin = 0;
      for (int i = below(200); i > 0; --i) {
        begin += below(1 << below(24));
        lane->push_back({des::Instant{begin}, des::Instant{begin + below(1 << 20)}, static_cast<Activity>(below(9)),
                         id_of<schedule::MicroBatch>(below(70000)), id_of<Chunk>(below(12))});
      }
    }
  }
  Reader reader(packed_slices(gantt, des::Duration{1}));
  for (const report::GanttRow& row : gantt.rows) {
    expect_equal(reader.lane(1), row.work);
    expect_equal(reader.lane(1), row.communication);
  }
  EXPECT_TRUE(reader.at_end());
}

TEST(PackedSlices, ASteadyRhythmCostsOneByteABar) {
  report::Gantt gantt;
  std::vector<GanttBar>& work = gantt.rows.emplace_back().work;
  for (int m = 0; m < 500; ++m) {
    const std::int64_t begin = 3000 * m;
    const auto microbatch = id_of<schedule::MicroBatch>(m);
    work.push_back({des::Instant{begin}, des::Instant{begin + 1000}, Activity::kForward, microbatch});
    work.push_back({des::Instant{begin + 1000}, des::Instant{begin + 3000}, Activity::kBackward, microbatch});
  }
  EXPECT_LE(Reader(packed_slices(gantt, des::Duration{1})).size(), work.size() + 10);
}

TEST(SliceUnit, IsFineEnoughAndAPowerOfTen) {
  EXPECT_EQ(slice_unit(des::Duration{1000}).ps, 1);
  EXPECT_EQ(slice_unit(des::Duration{22'000'000'000'000}).ps, 100000);
}

}  // namespace
}  // namespace foretoken::html
