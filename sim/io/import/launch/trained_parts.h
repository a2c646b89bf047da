// Tells by a name whether a setting chooses the weights that train.
#pragma once

#include <string_view>

namespace foretoken::io::launch {

/// Returns true for a switch that says which part of a model trains: train_router, tune_llm, update_embeddings. Off, it
/// says that the part stands still. freeze_llm is none: off, it changes nothing.
[[nodiscard]] bool says_what_trains(std::string_view name);

}  // namespace foretoken::io::launch
