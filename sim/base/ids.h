// Strong indices: a task number is not a stream number.
#pragma once

#include <compare>
#include <cstdint>

namespace foretoken {

/// An index into one kind of thing. Ids of different kinds do not compare or convert.
template <class Tag>
struct Id {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace foretoken
