// Buckets: weights of blocks that are reduced or gathered together.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace foretoken::step {

/// Weights of blocks of one chunk that are reduced or gathered in one collective.
struct Bucket {
  std::size_t first = 0;  ///< block
  double parameters = 0;
};

/// Fills buckets with the weights of blocks, in the order in which the blocks run.
class Buckets {
 public:
  /// A bucket is full with `size` parameters.
  Buckets(std::vector<double> blocks, double size) : blocks_(std::move(blocks)), size_(size) {
    last_ = blocks_.size();
    while (last_ > 1 && blocks_[last_ - 1] == 0) --last_;
  }
  /// Adds the next block. Returns the bucket that it fills or ends.
  std::optional<Bucket> add_block() {
    if (next_ == last_) return std::nullopt;
    if (filling_.parameters == 0) filling_.first = next_;
    filling_.parameters += blocks_[next_++];
    if (filling_.parameters < size_ && next_ < last_) return std::nullopt;
    return std::exchange(filling_, {});
  }

 private:
  std::vector<double> blocks_;
  double size_;
  std::size_t next_ = 0, last_ = 0;  // the last block with weights, one past it
  Bucket filling_;
};

}  // namespace foretoken::step
