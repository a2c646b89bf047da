// Makes a scenario of a NeMo 1 configuration: Megatron GPT, Llama, BERT and their kin (Hydra YAML).
#pragma once

#include <string>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::nemo {

/// Returns true for a document with NeMo's trainer and a Megatron model.
[[nodiscard]] bool is_nemo(const Json& document);

/// `path` is the file with its folders: those of T5 and BERT have their name in it.
void read_nemo(const Json& document, const std::string& path, Report& report);

}  // namespace foretoken::io::launch::nemo
