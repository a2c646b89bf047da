// The parts of an encoder-decoder beside its layers: positions, tables and norms of both halves.
#pragma once

#include <cstdint>

namespace foretoken::model {

/// An encoder, and a decoder that attends to the encoder's output (cross-attention). T5 (arXiv:1910.10683), mT5
/// (arXiv:2010.11934), UL2 (arXiv:2205.05131) and BART (arXiv:1910.13461) differ in the fields below. The first
/// `encoder_layers` of the model's layers are the encoder's.
struct EncoderDecoder {
  std::int64_t encoder_layers = 1;
  /// Rows of each table of relative positions: one in the encoder, one in the decoder. All layers of a half share its
  /// table, which adds one number a head to every score of self-attention. 0: positions are not relative.
  std::int64_t position_buckets = 0;
  /// BART: the decoder has a table of learned positions of its own. Megatron-LM: both halves share one.
  bool decoder_positions = false;
  bool final_norms = true;  ///< behind the last layer of each half; BART has none

  [[nodiscard]] bool relative() const { return position_buckets > 0; }
};

/// The half of an encoder-decoder that a layer stands in. Models of one half have the plain kind.
enum class Half : std::uint8_t { kNone, kEncoder, kDecoder };

}  // namespace foretoken::model
