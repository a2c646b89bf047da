// Writes the commands that start a service: vLLM, SGLang and TensorRT-LLM.
#pragma once

#include <string>
#include <vector>

#include "sim/serve/service.h"

namespace foretoken::io {

/// One kind of process of a service.
struct ServiceLaunch {
  std::string role;                ///< "prefill" or "decode"; empty: the whole service
  int instances = 1;               ///< processes of this kind
  std::vector<std::string> words;  ///< of the command, each as a shell has it after quoting
};

/// The commands of a service, and what they cannot say.
struct ServiceCommands {
  std::vector<ServiceLaunch> launches;  ///< empty: no command is known here, or a remark says why there is none
  std::vector<std::string> remarks;
};

/// Returns the commands of the service's engine. The model is the name of its file: put the path of its weights there.
/// Flags are those of vLLM 0.11 (`vllm serve --help`), SGLang 0.5 (docs/advanced_features/server_arguments.md) and
/// TensorRT-LLM 1.0 (`trtllm-serve --help`).
[[nodiscard]] ServiceCommands commands_of(const serve::Service& service);

}  // namespace foretoken::io
