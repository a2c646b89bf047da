// A ladder queue, kept only to be measured beside the queue the engine uses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/des/queue_contenders_bench.h"

namespace foretoken::des::contenders {

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
