// Times what encoders in integers of 8 bits do beside products and attention. The kernels are FasterTransformer's
// (df4a753).
#include "sim/cost/costs.h"
#include "sim/serve/passes.h"

namespace foretoken::serve {
namespace {

/// Returns true when integer products write 32 bits, and the layer's inputs stay in 16 bits beside them.
bool has_wide_outputs(const Service& service) {
  return service.precision == WeightPrecision::kW8a8 && service.engine.int8_mode == 1;
}

}  // namespace

// Kernels between products in 8 bits read and write 8 bits, where the ops count 16.
Seconds PassTimes::memory_bound(MemoryBoundShape kernel) const {
  if (service_.precision == WeightPrecision::kW8a8) kernel.bytes = kernel.bytes / 2;
  return service_.engine.kernel + cost::memory_bound_time(kernel, job_.profile);
}

// Integer products of cuBLASLt read tiles of 32 columns. One more kernel puts attention's outputs into them
// (FusedAttentionLayerINT8.cu, invokeRowMajorToCOL32).
Seconds PassTimes::tiled_outputs(const Core& core, std::int64_t tokens) const {
  constexpr double kReadAndWritten = 2 * 2;  // bytes of an element in 16 bits
  const double width = real(core.whole.output_width()) / degrees_.tensor;
  return memory_bound({Bytes(kReadAndWritten * real(tokens) * width)});
}

// In mode 1 each output has 4 bytes, not 1, when the product writes it and when the next kernel reads it
// (FusedAttentionLayerINT8.cu, Q_int_buf_ and invokeTrtAddQkvBiasInt32Iint8O).
Seconds PassTimes::integer_outputs(const GemmShape& product) const {
  if (!has_wide_outputs(service_)) return Seconds(0);
  constexpr double kBeyond8Bits = 4 - 1;
  return traffic(2 * kBeyond8Bits * real(product.batch) * real(product.m) * real(product.n));
}

// In mode 1 both norms of a layer read and write their residual in 16 bits. Before each half of the layer one more
// kernel reads it and writes 8 bits for the product (BertLayerINT8.cc).
Seconds PassTimes::quantized_inputs(std::int64_t tokens) const {
  if (!has_wide_outputs(service_)) return Seconds(0);
  constexpr double kBeyond8Bits = 2 - 1, kQuantized = 2 + 1;  // bytes of an element
  const double elements = real(tokens) * real(job_.model.hidden);
  return 2 * (traffic(2 * kBeyond8Bits * elements) + service_.engine.kernel +
              cost::memory_bound_time({Bytes(kQuantized * elements)}, job_.profile));
}

}  // namespace foretoken::serve
