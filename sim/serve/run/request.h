// Requests of a run: their lengths, their arrivals, and the times that the run gives them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/des/time.h"
#include "sim/serve/service.h"

namespace foretoken::serve {

/// One request. Times that have not come are kNever.
struct Request {
  des::Instant arrival = des::kNever, first = des::kNever, finish = des::kNever;
  std::int32_t input = 1, output = 1;
  std::int32_t prefix = 0;     ///< tokens of the prompt that every request shares, held in the cache once
  std::int32_t generated = 0;  ///< tokens, up to the last time that it joined or left a batch
  std::int32_t prefilled = 0;  ///< tokens behind the prefix that passes have written to the cache
  std::int32_t lane = 0;       ///< in which it decodes
  std::int64_t joined = -1;    ///< step of its lane at which it began to decode; -1: it does not
  bool cached = false;         ///< its keys and values came from another instance

  /// Returns the tokens that it must write before it can go on: the prompt behind the prefix, and all it generated.
  [[nodiscard]] std::int64_t own_tokens() const { return std::int64_t{input} - prefix + generated; }
};

/// Returns the requests of a run. Users of a closed loop send theirs later: those have no arrival yet, but for the
/// first of every user.
[[nodiscard]] std::vector<Request> requests_of(const Service& service);

}  // namespace foretoken::serve
