// Lists the families of encoders.
#pragma once

#include <span>

#include "sim/io/model/model_families.h"

namespace foretoken::io {

/// Lists bert, roberta, electra and distilbert. Their heads follow from `architectures`.
[[nodiscard]] std::span<const ModelFamily> encoder_families();

}  // namespace foretoken::io
