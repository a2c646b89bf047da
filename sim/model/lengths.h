// The lengths of one sample: one sequence, or one for each half of an encoder-decoder.
#pragma once

#include <cstdint>

namespace foretoken::model {

/// Tokens of one sample.
struct Lengths {
  std::int64_t sequence = 1;  ///< of an encoder-decoder: the encoder's
  std::int64_t decoder = 0;   ///< the decoder's beside an encoder; 0: as long
  constexpr Lengths(std::int64_t of_sequence, std::int64_t of_decoder = 0)
      : sequence(of_sequence), decoder(of_decoder) {}
};

}  // namespace foretoken::model
