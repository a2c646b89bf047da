// The work of one GPU as the PyTorch profiler (Kineto) recorded it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/node.h"

namespace foretoken::io::trace {

/// The kinds of work that kernels are sorted into by their names.
enum class Work : std::uint8_t {
  kProduct,
  kAttention,
  kNorm,
  kElementwise,  ///< activations, sums, casts
  kEmbedding,
  kLoss,
  kRouting,  ///< permuting tokens and choosing experts
  kOptimizer,
  kCommunication,
  kCopy,
  kConvolution,
  kOther,
};
inline constexpr std::size_t kWorks = 12;

/// Returns "matrix products" and so on.
[[nodiscard]] std::string_view name_of(Work work);

/// Sorts a kernel by its name. Libraries name their kernels by what they do: cuBLAS "gemm" or "nvjet", FlashAttention
/// "flash_fwd", NCCL "ncclDevKernel".
[[nodiscard]] Work work_of(std::string_view kernel);

/// One kernel or copy. Times are nanoseconds since the start of the trace.
struct Span {
  std::int64_t begin = 0, end = 0;
  std::uint32_t name = 0;  ///< place in GpuTrace::names
  std::int32_t device = 0;
  Work work = Work::kOther;
};

struct GpuTrace {
  std::vector<std::string> names;
  std::vector<Span> spans;  ///< of the GPU with the most of them
  std::vector<Span> steps;  ///< ProfilerStep#N, as the host saw them; in order
  std::optional<std::int64_t> rank, world_size;
  std::string gpu;  ///< its name, if the trace states it
};

/// The most spans that are read.
inline constexpr std::size_t kMostSpans = 1'500'000;

/// Returns true for a file that may be a trace: JSON, perhaps compressed.
[[nodiscard]] bool looks_like_trace(const std::filesystem::path& path);

/// Reads a trace. Returns nothing, and complains with one line, when it is none, or has no work of a GPU.
[[nodiscard]] std::optional<GpuTrace> read_trace_text(std::string_view text, const std::string& file,
                                                      Findings& findings);
[[nodiscard]] std::optional<GpuTrace> read_trace_file(const std::filesystem::path& path, Findings& findings);

}  // namespace foretoken::io::trace
