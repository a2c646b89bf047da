// All-to-alls of experts as flows.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "sim/ranks/wires.h"

namespace foretoken::ranks {

/// Lays out all-to-alls over the links of a cluster. Every pair of ranks has a message in each direction, over the NICs
/// near its sender. The ranks go on when all messages have arrived, so only the bytes of each link matter: links that
/// pass equally many messages become one flow. It moves at the rate of its slowest link.
class AllToAlls {
 public:
  /// `wires` must outlive this object.
  explicit AllToAlls(Wires& wires) : wires_(wires) {}

  /// Makes an all-to-all over `gpus` (ascending). It takes `transfer` without other traffic. `alone` belongs to the
  /// kind of group, and is the same in every call for these GPUs. Precondition: at least two GPUs.
  [[nodiscard]] std::vector<Leg> legs(std::span<const net::FabricGpu> gpus, Seconds transfer, Alone alone);

 private:
  /// The flows where every message has one byte, and their time without other traffic.
  struct OneByte {
    std::vector<Leg> legs;
    Seconds time;
  };
  [[nodiscard]] OneByte one_byte(std::span<const net::FabricGpu> gpus, Alone alone);

  Wires& wires_;
  std::map<std::vector<net::FabricGpu>, OneByte> known_;
};

}  // namespace foretoken::ranks
