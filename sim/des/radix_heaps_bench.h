// Other radix heaps, kept only to be measured beside the one the engine uses.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/des/queue_contenders_bench.h"

namespace foretoken::des::contenders {

/// Radix heap with one bucket per bit: an event waits at the highest bit in which it differs from the clock.
class BinaryRadixHeap {
 public:
  void push(Event event) {
    const unsigned bucket = bucket_of(event.at);
    buckets_[bucket].push_back(event);
    occupied_ |= std::uint64_t{1} << bucket;
  }
  Event pop() {
    if ((occupied_ & 1U) == 0) refill();
    const Event event = buckets_[0].back();
    buckets_[0].pop_back();
    if (buckets_[0].empty()) occupied_ &= ~std::uint64_t{1};
    return event;
  }

 private:
  unsigned bucket_of(std::int64_t at) const {
    return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(at ^ now_)));
  }
  void refill() {
    std::vector<Event>& bucket = buckets_[static_cast<unsigned>(std::countr_zero(occupied_))];
    occupied_ &= occupied_ - 1;
    now_ =
        std::min_element(bucket.begin(), bucket.end(), [](const Event& a, const Event& b) { return a.at < b.at; })->at;
    for (const Event& event : bucket) push(event);
    bucket.clear();
  }
  std::int64_t now_ = 0;
  std::uint64_t occupied_ = 0;
  std::array<std::vector<Event>, 64> buckets_;
};

/// Radix heap with digits of kDigitBits bits and a vector for each bucket.
template <unsigned kDigitBits>
class DigitRadixHeap {
 public:
  void push(Event event) {
    const auto differing = static_cast<std::uint64_t>(event.at ^ now_);
    const unsigned level = static_cast<unsigned>(std::bit_width(differing | 1U) - 1) / kDigitBits;
    const unsigned digit =
        static_cast<unsigned>(static_cast<std::uint64_t>(event.at) >> (level * kDigitBits)) % kDigits;
    occupied_levels_ |= std::uint64_t{1} << level;
    occupied_[level] |= std::uint64_t{1} << digit;
    buckets_[level * kDigits + digit].push_back(event);
  }
  Event pop() {
    if (next_ == due_.size()) refill();
    return due_[next_++];
  }

 private:
  static constexpr unsigned kDigits = 1U << kDigitBits;
  static constexpr unsigned kLevels = (62 + kDigitBits) / kDigitBits;
  void refill() {
    due_.clear();
    next_ = 0;
    const auto level = static_cast<unsigned>(std::countr_zero(occupied_levels_));
    const auto digit = static_cast<unsigned>(std::countr_zero(occupied_[level]));
    occupied_[level] &= occupied_[level] - 1;
    if (occupied_[level] == 0) occupied_levels_ &= occupied_levels_ - 1;
    std::vector<Event>& bucket = buckets_[level * kDigits + digit];
    now_ = bucket.front().at;
    for (const Event& event : bucket) now_ = std::min(now_, event.at);
    for (const Event& event : bucket) {
      if (event.at == now_) {
        due_.push_back(event);
      } else {
        push(event);
      }
    }
    bucket.clear();
  }
  std::int64_t now_ = 0;
  std::uint64_t occupied_levels_ = 0;
  std::array<std::uint64_t, kLevels> occupied_{};
  std::array<std::vector<Event>, kLevels * kDigits> buckets_;
  std::vector<Event> due_;
  std::size_t next_ = 0;
};

}  // namespace foretoken::des::contenders
