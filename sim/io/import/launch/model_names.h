// Models that launch files name instead of stating their sizes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

struct NamedModel {
  Json model;  ///< the name of a shipped model, or its config.json
  std::int64_t layers = 0;
  std::string base{};  ///< the model that the beginning of a name states; empty where the whole name is known
};

/// Returns the model of a name such as "meta-llama/Llama-2-7b-hf", "lora_llama3_8b" or "llama3_70b"; nothing for a name
/// that is not known here. Spelling, organisation and endings such as -instruct do not matter.
[[nodiscard]] std::optional<NamedModel> model_of_name(std::string_view name);

/// Maps the model of a name, or asks for it. `from` is the setting that names it.
void map_named_model(std::string_view name, const std::string& from, Report& report);

}  // namespace foretoken::io::launch
