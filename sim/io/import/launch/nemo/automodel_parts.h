// The parts of a recipe of NeMo AutoModel that precision and memory follow from.
#pragma once

#include <cstdint>
#include <string>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// The classes that share a model out to the data ranks.
enum class Strategy : std::uint8_t { kFsdp2, kMegatronFsdp, kDdp };

/// The layout of the weights on the data ranks.
struct Sharding {
  Strategy strategy = Strategy::kFsdp2;
  bool piped = false, alone = false;
  bool replicated = false;   ///< each shard has one rank: DDP
  bool manager = false;      ///< FSDP2Manager of 2025 has other defaults than FSDP2Config
  bool experts = false;      ///< components/moe/parallelizer.py shards the model
  bool of_deepseek = false;  ///< its forerunner, moe/deepseek_v3/parallelizer.py, does
};

/// Returns the last part of a dotted name.
[[nodiscard]] std::string last_part(const std::string& name);

/// Reads the strategy by its name, or by the class of its configuration. Refuses others by name. Runs after
/// the degrees.
[[nodiscard]] Sharding sharding_of(const Settings& settings, Report& report);

/// Maps LoRA, beside the products that the recipe names. Runs before the precision: frozen weights keep theirs.
void map_automodel_method(const Settings& settings, const std::string& runtime, Report& report);

/// Maps the type of products, of the kept weights and of reduced gradients.
void map_automodel_precision(const Settings& settings, const Sharding& sharding, Report& report);

/// Maps recomputing, sharding, offload and the optimizer.
void map_automodel_memory(const Settings& settings, const Sharding& sharding, Report& report);

/// Maps the exchange of tokens and the balance of experts.
void map_automodel_experts(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::nemo
