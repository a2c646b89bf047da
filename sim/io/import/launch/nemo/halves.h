// Reads the halves of NeMo's encoder-decoders: T5, BART.
#pragma once

#include <string>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// Adds the files that Hydra's `defaults` put at model.encoder and model.decoder, from `folder`. Refuses one that is
/// not there.
void add_default_halves(const std::string& folder, Json& document, Report& report);

/// Returns true for a document whose name or `defaults` tell an encoder-decoder.
[[nodiscard]] bool expects_halves(const Json& document);

/// Lifts the keys that both halves share to the model. Halves of two forms are refused. Returns false where there are
/// no halves.
[[nodiscard]] bool lift_halves(Json& document, Report& report);

/// Refuses parts of the halves that are not modelled.
void check_halves(const Settings& settings);

}  // namespace foretoken::io::launch::nemo
