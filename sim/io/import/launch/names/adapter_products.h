// The products beside which LoRA stands, by the names that families of models give them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// The characters that part the names of a list: q_proj,v_proj or ['q_proj', 'v_proj'].
inline constexpr std::string_view kBetweenNames = ", []'\"";

/// The modules that names are compared with: those of Hugging Face's models, or of the program's own.
enum class Modules : std::uint8_t { kOfTransformers, kOwn };

/// Returns the products of a text as a scenario states them: a list parted by spaces or commas, "all", or one regular
/// expression of PEFT, which is matched against the names of the layers' modules. Refuses products beside which no
/// adapter is modelled, and expressions that cannot be matched. Leaves out names that no module of a known family has,
/// as PEFT does.
[[nodiscard]] Json adapter_products(const std::string& text, const std::string& from, Report& report,
                                    Modules modules_of = Modules::kOfTransformers);

/// Returns the names of the products of attention's inputs in the family of a model by its name: "q_proj,k_proj,v_proj"
/// or "c_attn".
[[nodiscard]] std::string attention_inputs_of(const std::string& model);

/// Returns true where modules of the layers of the report's model have the text in their whole names, as
/// "decoder.layers." is in "model.decoder.layers.0.fc1". Nothing where the family of the model is not known.
[[nodiscard]] std::optional<bool> names_modules_of_layers(std::string_view text, const Report& report);

}  // namespace foretoken::io::launch
