// Reads tables of decode attention and of an engine's own all-reduce.
#include "calibration/import/inference/decode_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "sim/base/text.h"

namespace foretoken::measured {
namespace {

constexpr int kLatentNumbers = 512 + 64;  // DeepSeek-V2, arXiv:2405.04434: compressed keys and values, and rotary part

Timing timed(const CsvRow& row) {
  const Seconds time = microseconds(row.number("time_us"));
  return {.median = time, .p10 = time, .p90 = time};
}

Precision cache_width(const CsvRow& row) {
  const std::string& name = row.text("kv_dtype");
  if (name == "bfloat16" || name == "float16") return Precision::kBf16;
  if (name == "fp8") return Precision::kFp8;
  throw std::invalid_argument(fmt::format("kv_dtype: expected bfloat16, float16 or fp8, found {}", in_quotes(name)));
}

/// TensorRT-LLM's tables name no kernel of its own choice. SGLang's name the backend of attention.
std::string engine_of_kernel(const std::string& kernel) {
  if (kernel.starts_with("vllm")) return "vllm";
  return kernel.starts_with("torch_flow") || kernel == "default" ? "trt-llm" : "sglang";
}

void add_decode(const CsvRow& row, bool latent, Samples& samples) {
  if (row.has("kernel") && row.text("kernel").find("triton") != std::string::npos) return;
  DecodeSample s;
  s.cache = cache_width(row);
  s.latent = latent;
  if (row.has("kernel")) s.engine = engine_of_kernel(row.text("kernel"));
  double keys = static_cast<double>(row.dimension("kv_len"));
  if (row.has("window") && row.text("window") != "0") {
    const double window = row.number("window");
    s.windowed = window < keys;
    keys = std::min(keys, window);
  }
  s.shape = {.sequences = row.dimension("batch"), .heads = row.dimension("heads")};
  s.shape.cached_tokens = keys * static_cast<double>(s.shape.sequences);
  s.shape.cache_bytes = bytes_per_element(s.cache);
  s.shape.kv_heads = latent ? 1 : row.dimension("kv_heads");
  s.shape.key_dim = latent ? kLatentNumbers : row.dimension("head_dim");
  s.shape.value_dim = latent ? 0 : s.shape.key_dim;  // latent values are a part of the keys
  s.time = timed(row);
  samples.add(s);
}

void add_all_reduce(const CsvRow& row, Samples& samples) {
  const std::string& implementation = row.text("implementation");
  if (implementation.ends_with("_eager")) return;
  samples.add(SmallAllReduceSample{.implementation = implementation,
                                   .ranks = static_cast<int>(std::min<std::int64_t>(row.dimension("ranks"), 1 << 20)),
                                   .bytes = Bytes(row.number("bytes")),
                                   .time = timed(row)});
}

}  // namespace

bool is_decode_csv(std::string_view header) {
  const std::vector<std::string> columns = split_csv(header);
  const auto has = [&](const char* name) { return std::find(columns.begin(), columns.end(), name) != columns.end(); };
  return (has("kv_len") && has("kv_dtype")) || (has("implementation") && has("ranks") && has("bytes"));
}

Samples parse_decode_csv(std::string_view text, const std::string& file, const RowChoice& choice) {
  Samples samples;
  samples.origins.push_back({.source = file, .gpu = "", .facts = {{"tool", "table of kernels of inference"}}});
  bool all_reduce = false, latent = false;
  read_csv(
      text, file,
      [&](const Columns& columns) {
        all_reduce = columns.contains("implementation");
        latent = columns.contains("mla_dtype");
      },
      [&](const CsvRow& row) {
        if (row.passes(choice)) all_reduce ? add_all_reduce(row, samples) : add_decode(row, latent, samples);
      });
  return samples;
}

}  // namespace foretoken::measured
