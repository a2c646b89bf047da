// Other event queues, kept only to be measured beside the one the engine uses.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

namespace foretoken::des::contenders {

struct Event {
  std::int64_t at;
  std::uint32_t task;
};
struct Later {
  bool operator()(const Event& a, const Event& b) const { return a.at > b.at; }
};

/// std::priority_queue.
class BinaryHeap {
 public:
  void push(Event event) { heap_.push(event); }
  Event pop() {
    const Event top = heap_.top();
    heap_.pop();
    return top;
  }

 private:
  std::priority_queue<Event, std::vector<Event>, Later> heap_;
};

/// A heap with four children per node: half the depth, and siblings share a cache line.
class QuaternaryHeap {
 public:
  void push(Event event) {
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (heap_[parent].at <= event.at) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }
  Event pop() {
    const Event top = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
    return top;
  }

 private:
  void sift_down(Event event) {
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size; child = 4 * hole + 1) {
      std::size_t least = child;
      for (std::size_t other = child + 1; other < std::min(child + 4, size); ++other)
        least = heap_[other].at < heap_[least].at ? other : least;
      if (heap_[least].at >= event.at) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = event;
  }
  std::vector<Event> heap_;
};

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

/// Ladder queue (Tang, Goh, Thng, ACM TOMACS 15(3), 2005): an unsorted top, rungs of buckets, a short sorted bottom.
class LadderQueue {
 public:
  void push(Event event) {
    if (event.at >= top_start_) {
      top_min_ = top_.empty() ? event.at : std::min(top_min_, event.at);
      top_max_ = top_.empty() ? event.at : std::max(top_max_, event.at);
      top_.push_back(event);
      return;
    }
    for (std::size_t i = 0; i < depth_; ++i)
      if (event.at >= rungs_[i].current()) return rungs_[i].add(event);
    if (bottom_.size() >= 2 * kThreshold && depth_ < kMaxRungs && bottom_.front().at > bottom_.back().at)
      spread_bottom();
    if (depth_ > 0 && event.at >= rungs_[depth_ - 1].current()) return rungs_[depth_ - 1].add(event);
    insert_into_bottom(event);
  }

  Event pop() {
    if (bottom_.empty()) refill_bottom();
    const Event event = bottom_.back();
    bottom_.pop_back();
    return event;
  }

 private:
  static constexpr std::size_t kThreshold = 50;  // the paper's THRES
  static constexpr std::size_t kMaxRungs = 8;    // the paper's MAX_RUNGS

  struct Rung {
    std::int64_t start = 0, width = 1;
    std::size_t cursor = 0, used = 0, events = 0;
    std::vector<std::vector<Event>> buckets;

    [[nodiscard]] std::int64_t current() const { return start + static_cast<std::int64_t>(cursor) * width; }
    void open(std::int64_t from, std::int64_t to, std::size_t count) {
      start = from;
      width = std::max<std::int64_t>(1, (to - from) / static_cast<std::int64_t>(count) + 1);
      used = static_cast<std::size_t>((to - from) / width) + 1;
      cursor = events = 0;
      if (buckets.size() < used) buckets.resize(used);
    }
    void add(Event event) {
      const auto bucket = static_cast<std::size_t>((event.at - start) / width);
      buckets[std::min(bucket, used - 1)].push_back(event);
      ++events;
    }
  };

  void insert_into_bottom(Event event) {
    bottom_.insert(std::upper_bound(bottom_.begin(), bottom_.end(), event, Later{}), event);
  }

  void spread_bottom() {
    const std::vector<Event> events = std::move(bottom_);
    bottom_.clear();
    open_rung(events.back().at, depth_ > 0 ? rungs_[depth_ - 1].current() - 1 : top_start_ - 1, events);
  }

  void open_rung(std::int64_t from, std::int64_t to, const std::vector<Event>& events) {
    if (rungs_.size() == depth_) rungs_.emplace_back();
    rungs_[depth_].open(from, to, events.size());
    for (const Event& event : events) rungs_[depth_].add(event);
    ++depth_;
  }

  void refill_bottom() {
    while (true) {
      while (depth_ > 0 && rungs_[depth_ - 1].events == 0) --depth_;
      if (depth_ == 0) {
        std::vector<Event> events;
        events.swap(top_);
        top_start_ = top_max_ + 1;
        open_rung(top_min_, top_max_, events);
        events.clear();
        if (top_.empty()) top_.swap(events);
      }
      Rung& rung = rungs_[depth_ - 1];
      while (rung.buckets[rung.cursor].empty()) ++rung.cursor;
      std::vector<Event>& bucket = rung.buckets[rung.cursor];
      const std::int64_t from = rung.current(), to = from + rung.width - 1;
      rung.events -= bucket.size();
      ++rung.cursor;
      if (bucket.size() <= kThreshold || depth_ == kMaxRungs || rung.width == 1) {
        bottom_.assign(bucket.begin(), bucket.end());
        bucket.clear();
        std::stable_sort(bottom_.begin(), bottom_.end(), Later{});
        return;
      }
      std::vector<Event> events;
      events.swap(bucket);
      open_rung(from, to, events);
    }
  }

  std::vector<Event> top_, bottom_;  // bottom: latest first, popped from the back
  std::int64_t top_start_ = 0, top_min_ = 0, top_max_ = 0;
  std::vector<Rung> rungs_;
  std::size_t depth_ = 0;
};

}  // namespace foretoken::des::contenders
