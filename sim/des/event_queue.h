// Future events, earliest first: a radix heap on integer time with sixteen-way digits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/base/check.h"
#include "sim/des/task_graph.h"
#include "sim/des/time.h"

namespace foretoken::des {

/// Events in order of time. The clock never goes back. Events of equal time keep their order of insertion.
///
/// Time is read as sixteen hexadecimal digits. An event waits in the bucket (level, digit): level is the highest digit
/// in which its time differs from the clock. All buckets of a level lie before all of the next. The earliest event is
/// therefore in the first occupied bucket of the lowest occupied level; two bit scans find it.
///
/// A bucket may hold several times. The clock then moves to the least of them, and the others fall to lower levels. An
/// event falls at most fifteen times, in practice two or three. Chosen by measurement: sim/des/event_queue_bench.cpp.
class EventQueue {
 public:
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] bool empty() const { return occupied_levels_ == 0; }

  /// Returns true when an event is due at the clock's own time.
  [[nodiscard]] bool more_now() const {
    return (occupied_digits_[0] >> (static_cast<std::uint64_t>(now_.ps) % kDigits) & 1U) != 0;
  }

  /// Schedules `task` for `at`, which must not lie in the past.
  void push(Instant at, TaskId task) {
    expects(at >= now_, "an event may not be scheduled in the past");
    insert({at, task});
  }

  /// Moves the clock to the earliest event and appends every task due then to `due`, in order of insertion.
  /// The queue must not be empty.
  void pop_instant(std::vector<TaskId>& due) {
    expects(!empty(), "an empty queue has no next event");
    std::vector<Event>& bucket = take_earliest_bucket();
    now_ = bucket.front().at;
    if (bucket.size() == 1) {
      due.push_back(bucket.front().task);
    } else {
      for (const Event& event : bucket) now_ = std::min(now_, event.at);
      for (const Event& event : bucket) {
        if (event.at == now_) {
          due.push_back(event.task);
        } else {
          insert(event);
        }
      }
    }
    bucket.clear();
  }

 private:
  static constexpr unsigned kDigitBits = 4;
  static constexpr unsigned kDigits = 1U << kDigitBits;
  static constexpr unsigned kLevels = 16;  // 16 x 4 bits hold every non-negative int64

  struct Event {
    Instant at;
    TaskId task;
  };

  void insert(Event event) {
    const auto at = static_cast<std::uint64_t>(event.at.ps);
    const auto differing = at ^ static_cast<std::uint64_t>(now_.ps);
    const unsigned level = static_cast<unsigned>(std::bit_width(differing | 1U) - 1) / kDigitBits;
    const unsigned digit = static_cast<unsigned>(at >> (level * kDigitBits)) % kDigits;
    occupied_levels_ |= 1U << level;
    occupied_digits_[level] |= 1U << digit;
    buckets_[level * kDigits + digit].push_back(event);
  }

  std::vector<Event>& take_earliest_bucket() {
    const auto level = static_cast<unsigned>(std::countr_zero(occupied_levels_));
    const auto digit = static_cast<unsigned>(std::countr_zero(occupied_digits_[level]));
    occupied_digits_[level] &= occupied_digits_[level] - 1;
    if (occupied_digits_[level] == 0) occupied_levels_ &= occupied_levels_ - 1;
    return buckets_[level * kDigits + digit];
  }

  Instant now_;
  std::uint32_t occupied_levels_ = 0;                     // one bit per level
  std::array<std::uint32_t, kLevels> occupied_digits_{};  // one bit per digit
  std::array<std::vector<Event>, kLevels * kDigits> buckets_;
};

}  // namespace foretoken::des
