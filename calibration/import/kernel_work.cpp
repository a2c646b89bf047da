// Lists what each measured kernel reads and writes.
#include "calibration/import/kernel_work.h"

#include <array>
#include <stdexcept>
#include <string>

namespace foretoken::measured {
namespace {

/// Bytes that a kernel moves for one element, and for one column once (weights and biases of a row).
struct Traffic {
  std::string_view kernel;
  double per_element, per_column;
};
// Activations have 16 bits, a dropout mask one byte, optimizer states 32 bits, and the logits' gradient 16 bits. The
// masked softmax is causal over square scores: it reads the lower half and writes all. Adam reads fp32 gradient, master
// weight and two moments. It writes the last three and the 16-bit weight. The gradients of norm weights are fp32 sums.
constexpr std::array kTraffic{Traffic{"copy", 4, 0},
                              Traffic{"cast_from_fp32", 6, 0},
                              Traffic{"layer_norm", 4, 4},
                              Traffic{"rms_norm", 4, 2},
                              Traffic{"bias_gelu", 4, 2},
                              Traffic{"swiglu", 6, 0},
                              Traffic{"masked_softmax", 3, 0},
                              Traffic{"dropout_add", 7, 0},
                              Traffic{"cross_entropy", 4, 0},
                              Traffic{"adam", 30, 0},
                              Traffic{"add", 6, 0},
                              Traffic{"split_heads", 4, 0},
                              Traffic{"merge_heads", 4, 0},
                              Traffic{"dropout_backward", 5, 0},
                              Traffic{"gelu_backward", 6, 2},
                              Traffic{"swiglu_backward", 10, 0},
                              Traffic{"softmax_backward", 6, 0},
                              Traffic{"layer_norm_backward", 6, 18},
                              Traffic{"rms_norm_backward", 6, 10}};

const Traffic& traffic_of(std::string_view kernel) {
  for (const Traffic& traffic : kTraffic)
    if (traffic.kernel == kernel) return traffic;
  throw std::invalid_argument("unknown kernel " + std::string(kernel));
}

}  // namespace

Bytes kernel_bytes(std::string_view kernel, std::int64_t rows, std::int64_t columns) {
  const Traffic& traffic = traffic_of(kernel);
  const auto width = static_cast<double>(columns);
  return Bytes(traffic.per_element * static_cast<double>(rows) * width + traffic.per_column * width);
}

double bytes_per_element(std::string_view kernel) { return traffic_of(kernel).per_element; }

}  // namespace foretoken::measured
