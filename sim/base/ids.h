// Strong indices: a stage is not a rank, a task number is not a stream number.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace foretoken {

/// An index into one kind of thing. Ids of different kinds do not compare or convert.
template <class Tag>
struct Id {
  std::uint32_t value = 0;
  [[nodiscard]] constexpr std::size_t index() const { return value; }
  [[nodiscard]] constexpr int number() const { return static_cast<int>(value); }  ///< for arithmetic and texts
  [[nodiscard]] constexpr Id next() const { return {value + 1}; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

/// The id with this number. Precondition: `number` >= 0.
template <class Id>
[[nodiscard]] constexpr Id id_of(int number) {
  return Id{static_cast<std::uint32_t>(number)};
}

using Stage = Id<struct StageTag>;          ///< pipeline stage, of one device each
using Chunk = Id<struct ChunkTag>;          ///< model chunk of a stage
using Rank = Id<struct RankTag>;            ///< number of a process in the job
using StageRank = Id<struct StageRankTag>;  ///< number of a process within its pipeline stage
using Gpu = Id<struct GpuTag>;              ///< position of a GPU in the job's part of the cluster, node by node
using NodeId = Id<struct NodeTag>;          ///< a node (NVLink domain) of the job
using HostId = Id<struct HostTag>;          ///< a host of the job; one NVLink domain may span several

/// All ids below `count`, to iterate over: for (const Stage stage : ids<Stage>(stages)).
template <class Id>
class IdRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(std::uint32_t at) : at_(at) {}
    constexpr Id operator*() const { return {at_}; }
    constexpr Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    std::uint32_t at_;
  };
  constexpr explicit IdRange(std::uint32_t count) : count_(count) {}
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(0); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(count_); }

 private:
  std::uint32_t count_;
};

template <class Id, class Count>
[[nodiscard]] constexpr IdRange<Id> ids(Count count) {
  return IdRange<Id>(static_cast<std::uint32_t>(count));
}

}  // namespace foretoken
