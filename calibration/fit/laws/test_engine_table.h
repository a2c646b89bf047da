// A table of an engine of inference, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "calibration/import/samples.h"

namespace foretoken::fit {

/// The kernels of a table: one head dimension, full attention or a window.
struct EngineTable {
  std::string kernel{};
  std::int64_t head_dim = 64, window = 0;
  std::vector<std::int64_t> kv_heads{1, 2, 4, 8}, batches{1, 2, 4, 7};
};

/// Returns kernels of causal attention of 1,024 to 8,192 tokens with 4 to 32 heads, each beside a kernel that writes
/// its 16-bit keys and values into a cache. `time_of` gives each its time.
template <class TimeOf>
measured::Samples engine_table(const EngineTable& table, const TimeOf& time_of) {
  measured::Samples samples;
  samples.origins.push_back({.source = table.kernel, .gpu = "", .facts = {}});
  for (const std::int64_t length : {1024, 2048, 4096, 8192})
    for (const std::int64_t heads : {4, 8, 16, 32})
      for (const std::int64_t kv_heads : table.kv_heads)
        for (const std::int64_t batch : table.batches) {
          if (kv_heads > heads) continue;
          measured::AttentionSample sample;
          sample.shape = {.batch = batch,
                          .heads = heads,
                          .kv_heads = kv_heads,
                          .q_length = length,
                          .kv_length = length,
                          .head_dim = table.head_dim,
                          .window = table.window};
          sample.implementation = table.kernel;
          constexpr double kBytes = 8;  // of an element of keys and one of values, each read and written
          sample.beside = Bytes(kBytes * static_cast<double>(table.head_dim * batch * length * kv_heads));
          sample.time.median = time_of(std::as_const(sample));
          samples.add(sample);
        }
  return samples;
}

}  // namespace foretoken::fit
