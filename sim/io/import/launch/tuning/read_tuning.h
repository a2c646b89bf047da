// Makes scenarios of the recipes of tuning tools: axolotl, torchtune, LLaMA-Factory, and others of the Trainer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::tuning {

/// The remark on sequences that are not packed.
inline constexpr const char* kNotPacked =
    "sequences that are not packed are as long as the data; all are taken as long as stated";

[[nodiscard]] bool is_axolotl(const Json& document);
void read_axolotl(const Json& document, std::optional<std::int64_t> gpus, Report& report);

[[nodiscard]] bool is_torchtune(const Json& document);
/// `text` is the whole file: its comments state the number of GPUs.
void read_torchtune(const Json& document, std::string_view text, std::optional<std::int64_t> gpus, Report& report);

/// Returns true for arguments of Hugging Face's Trainer, as LLaMA-Factory, TRL and the alignment handbook have them.
[[nodiscard]] bool is_trainer(const Json& document);
/// The defaults that count where the arguments state nothing. Nobody knows those of a program of the user's own.
/// TRL's are in read_arguments_of_trl().
enum class Defaults : std::uint8_t { kTrainer, kUnknown };

/// `deepspeed` is the configuration that the arguments name, where it is at hand.
void read_trainer(const Json& document, std::optional<std::int64_t> gpus, Report& report,
                  const Json* deepspeed = nullptr, Defaults defaults = Defaults::kTrainer);

}  // namespace foretoken::io::launch::tuning
