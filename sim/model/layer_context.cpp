// The names of attention and recomputation in scenarios.
#include "sim/model/layer_context.h"

namespace foretoken::model {

std::string_view name_of(AttentionKind kind, FlashKernel kernel) {
  if (kind == AttentionKind::kUnfused) return "unfused";
  switch (kernel) {
    case FlashKernel::kFastest:
    case FlashKernel::kServing:
      return "flash";
    case FlashKernel::kFlash2:
      return "flash-2";
    case FlashKernel::kFlash1:
      return "flash-1";
    case FlashKernel::kTriton:
      return "flash-triton";
  }
  return "flash";
}

std::string_view name_of(Fp8Recipe recipe) {
  switch (recipe) {
    case Fp8Recipe::kDelayed:
      return "delayed";
    case Fp8Recipe::kTensorwise:
      return "tensorwise";
    case Fp8Recipe::kBlockwise:
      return "blockwise";
    case Fp8Recipe::kMxfp8:
      return "mxfp8";
  }
  return "";
}

std::string_view name_of(Dispatcher dispatcher) {
  switch (dispatcher) {
    case Dispatcher::kAllToAll:
      return "all-to-all";
    case Dispatcher::kAllGather:
      return "all-gather";
    case Dispatcher::kDeepEp:
      return "deepep";
    case Dispatcher::kHybridEp:
      return "hybridep";
  }
  return "";
}

std::string_view name_of(ContextExchange exchange) {
  switch (exchange) {
    case ContextExchange::kRing:
      return "ring";
    case ContextExchange::kAllGather:
      return "all-gather";
    case ContextExchange::kAllToAll:
      return "all-to-all";
  }
  return "";
}

std::string_view exchange_name(const LayerContext& context) {
  return context.context == 1 ? "none" : name_of(context.exchange);
}

std::string_view name_of(RecomputeGranularity granularity) {
  switch (granularity) {
    case RecomputeGranularity::kNone:
      return "none";
    case RecomputeGranularity::kSelective:
      return "selective";
    case RecomputeGranularity::kFull:
      return "full";
  }
  return "";
}

}  // namespace foretoken::model
