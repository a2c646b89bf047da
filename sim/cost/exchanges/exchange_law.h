// The law of one exchange of tokens: a time to launch, the work of the kernel, and the links that it fills.
#pragma once

#include <optional>

#include "sim/base/exchange.h"
#include "sim/cost/evidence.h"

namespace foretoken::cost {

/// Between nodes a kernel forwards tokens that NICs bring, so it has constants of its own.
struct ExchangeAcross {
  Seconds launch{};               ///< between two nodes
  Seconds launch_per_doubling{};  ///< of the nodes
  BytesPerSecond rate{};          ///< of the kernel's work; of one multiprocessor where the law says so
  double network_rows = 0;        ///< work of each copy that leaves the node, in rows
  double nic_efficiency = 1;      ///< highest part of the NIC rate
  double sharpness = 1;
  Evidence evidence{};
};

/// Constants of one phase of a library on one kind of GPU.
struct ExchangeLaw {
  ExchangeLibrary library = ExchangeLibrary::kDeepEp;
  ExchangePhase phase = ExchangePhase::kDispatch;
  Seconds launch{};
  bool by_multiprocessor = false;  ///< the caller chooses the multiprocessors, and `rate` is that of one
  BytesPerSecond rate{};           ///< of the kernel's work
  BytesPerSecond link{};           ///< of the rows that a rank sends to others
  double sharpness = 1;            ///< p: sharpness of the bend where the links take over; 1: the two times add up
  double copy_bytes = 0;           ///< work of each copy beyond its row
  double token_bytes = 0;          ///< work of each token, whatever its row
  double token_rows = 0;           ///< work of each token, in rows: it is read, or summed up and written, once
  std::optional<ExchangeAcross> across{};  ///< none: the law holds inside a node only
  Evidence evidence{};
};

}  // namespace foretoken::cost
