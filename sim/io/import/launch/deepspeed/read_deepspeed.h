// Makes a scenario of a DeepSpeed configuration, and of accelerate's.
#pragma once

#include <filesystem>
#include <optional>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::deepspeed {

inline constexpr const char* kBrainWithoutZero = "bf16 without ZeRO: BF16_Optimizer shards its states as stage 1 does";

/// Returns true for a DeepSpeed configuration (JSON).
[[nodiscard]] bool is_deepspeed(const Json& document);
void read_deepspeed(const Json& document, std::optional<std::int64_t> gpus, Report& report);

/// Maps ZeRO, precision and offload of a DeepSpeed configuration, and refuses what changes the answer. "auto" is asked
/// for. Batches are left to the caller.
void map_deepspeed(const Settings& settings, Report& report);

/// The communication of ZeRO that runs beside the passes.
struct Overlaps {
  bool gradients = false;   ///< they are reduced during the backward pass
  bool parameters = false;  ///< the next ones are gathered ahead, at stage 3
};
[[nodiscard]] Overlaps overlaps_of(const Settings& settings, std::int64_t stage);

/// Why bf16 without ZeRO adds gradients up in fp32, which the reports of its optimizer say.
inline constexpr const char* kSumsOfBrain =
    "BF16_Optimizer adds the gradients up in fp32; its copy in bf16 is left out, and --set "
    "precision_recipe.gradients=6 "
    "counts it";

/// Maps the gradients that DeepSpeed keeps where BF16_Optimizer runs, or where data_types.grad_accum_dtype states them.
/// The precision of `report` counts.
void map_kept_gradients(const Settings& settings, Report& report);

/// Maps the sections and the old keys of ZeRO that move states and parameters to the host.
void map_offloads(const Settings& settings, std::int64_t stage, Report& report);

/// Takes the configuration out of a file of arguments that holds it as an object under `key`. Nothing is taken where
/// there is none, or a name of a file.
[[nodiscard]] std::optional<Json> take_deepspeed_object(Json& document, const char* key = "deepspeed");

/// Puts the content of the DeepSpeed file that arguments in `folder` name under "deepspeed" in the place of its name.
/// Looks below the folder, beside the arguments, and in the folders above. Leaves a file that is not there as it is.
void open_deepspeed_file(const std::string& folder, Json& document);

/// Returns true for a configuration of accelerate (YAML).
[[nodiscard]] bool is_accelerate(const Json& document);
/// A DeepSpeed file that it names is looked for beside `path`.
void read_accelerate(const Json& document, const std::filesystem::path& path, std::optional<std::int64_t> gpus,
                     Report& report);

}  // namespace foretoken::io::launch::deepspeed
