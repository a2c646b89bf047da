// Binary and four-ary heaps, kept only to be measured beside the one the engine uses.
#pragma once

#include <algorithm>
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

}  // namespace foretoken::des::contenders
