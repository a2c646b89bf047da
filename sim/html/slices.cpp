// Packs bars. Passes follow a rhythm: the next micro-batch of the same chunk follows at once, and takes equally long.
// Each of these expectations that a bar meets costs one bit.
#include "sim/html/slices.h"

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "sim/report/gantt_bins.h"

namespace foretoken::html {
namespace {

// Flags of a bar: a set flag means "as expected", and the value is not written.
static_assert(report::kActivities <= 16,
              "the lower three bits of a bar's first byte, and the highest, hold its activity");
constexpr unsigned kSameChunk = 8, kNextMicrobatch = 16, kNoGap = 32, kSameDuration = 64;

class Packer {
 public:
  explicit Packer(des::Duration unit) : unit_(unit.ps) {}

  void lane(const std::vector<report::GanttBar>& bars) {
    number(bars.size());
    std::int64_t end = 0;
    std::array<Chunk, 16> chunk_of{};
    std::map<std::pair<unsigned, Chunk>, Rhythm> rhythms;
    for (const report::GanttBar& bar : bars) {
      const auto activity = static_cast<unsigned>(bar.activity);
      Rhythm& rhythm = rhythms[{activity, bar.chunk}];
      const std::int64_t begin = rounded(bar.begin), duration = rounded(bar.end) - begin;
      const unsigned flags = (bar.chunk == chunk_of[activity] ? kSameChunk : 0) |
                             (bar.microbatch.number() == rhythm.microbatch + 1 ? kNextMicrobatch : 0) |
                             (begin == end ? kNoGap : 0) | (duration == rhythm.duration ? kSameDuration : 0);
      bytes_.push_back(static_cast<std::uint8_t>((activity & 7U) | (activity & 8U) << 4U | flags));
      if ((flags & kSameChunk) == 0) number(bar.chunk.value);
      if ((flags & kNextMicrobatch) == 0) number(bar.microbatch.value);
      if ((flags & kNoGap) == 0) signed_number(begin - end);
      if ((flags & kSameDuration) == 0) signed_number(duration - rhythm.duration);
      chunk_of[activity] = bar.chunk;
      rhythm = {bar.microbatch.number(), duration};
      end = begin + duration;
    }
  }

  [[nodiscard]] std::string base64() const {
    constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes_.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes_.size(); i += 3) {
      const std::size_t have = std::min<std::size_t>(3, bytes_.size() - i);
      unsigned bits = 0;
      for (std::size_t k = 0; k < 3; ++k) bits = bits << 8U | (k < have ? bytes_[i + k] : 0U);
      for (std::size_t k = 0; k < 4; ++k) text += k <= have ? kDigits[bits >> (18 - 6 * k) & 63U] : '=';
    }
    return text;
  }

 private:
  struct Rhythm {
    int microbatch = -1;
    std::int64_t duration = 0;
  };
  [[nodiscard]] std::int64_t rounded(des::Instant at) const { return (at.ps + unit_ / 2) / unit_; }
  void number(std::uint64_t value) {
    for (; value >= 128; value >>= 7U) bytes_.push_back(static_cast<std::uint8_t>(value | 128U));
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  void signed_number(std::int64_t value) {
    number(static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63));
  }

  std::int64_t unit_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

std::string packed_slices(const report::Gantt& gantt, des::Duration unit) {
  Packer packer(unit);
  for (const report::GanttRow& row : gantt.rows) {
    packer.lane(row.work);
    packer.lane(row.communication);
  }
  return packer.base64();
}

des::Duration slice_unit(des::Duration length) {
  std::int64_t unit = 1;
  while (length.ps / (unit * 10) >= std::int64_t{1} << 26) unit *= 10;
  return des::Duration{unit};
}

}  // namespace foretoken::html
