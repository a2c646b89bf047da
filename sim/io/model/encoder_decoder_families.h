// Lists the families of encoder-decoders.
#pragma once

#include <span>

#include "sim/io/model/model_families.h"

namespace foretoken::io {

/// Lists t5, mt5, bart, mbart, m2m_100 (NLLB, too) and pegasus. UL2 and Flan-T5 have T5's configs.
[[nodiscard]] std::span<const ModelFamily> encoder_decoder_families();

}  // namespace foretoken::io
