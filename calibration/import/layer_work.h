// The kernels of one transformer layer, in order. The measurement runs this list; a check of a profile adds it up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "calibration/import/samples.h"

namespace foretoken::measured {

/// The state of a tensor before the layer runs.
enum class Holds : std::uint8_t {
  kNothing,      ///< the layer writes it before it reads it
  kActivations,  ///< normal numbers with a standard deviation of 1
  kWeights,      ///< normal numbers with a standard deviation of 1/64
  kGradients,    ///< fp32 sums that begin at zero
  kMask          ///< one byte per element, 1
};

/// A tensor of the layer, by rows.
struct LayerTensor {
  std::string name;
  std::int64_t elements = 0;
  int bytes = 2;  ///< of one element
  Holds holds = Holds::kNothing;
};

/// One kernel and the tensors that it reads and writes: indices into LayerWork::tensors.
///
/// A product reads X and W and writes Y. Other kernels read and write in the order of their arguments in
/// calibration/measure/gpu/kernels/kernels.h.
struct LayerPart {
  std::variant<GemmSample, KernelSample> work;
  std::vector<std::size_t> reads, writes;
};

struct LayerWork {
  std::vector<LayerTensor> tensors;
  std::vector<LayerPart> parts;
};

/// Returns the kernels of the layer. Biases other than GeLU's, rotary embeddings and all communication are left out.
[[nodiscard]] LayerWork layer_work(const LayerSample& sample);

/// Returns the operations of the layer's products. The masked half of the scores counts, because it is computed.
[[nodiscard]] Flop flop_of(const LayerWork& work);

}  // namespace foretoken::measured
