// The model flavors of torchtitan.
//
// Flavors: pytorch/torchtitan, torchtitan/models/{llama3,qwen3}/__init__.py.
#include "sim/io/import/launch/torchtitan/models.h"

namespace foretoken::io::launch::torchtitan {

std::optional<NamedModel> flavor_of(const std::string& name, const std::string& flavor) {
  const bool known = name.starts_with("llama") || name.starts_with("qwen3");
  return known && !flavor.empty() ? model_of_name(name + "-" + flavor) : std::nullopt;
}

}  // namespace foretoken::io::launch::torchtitan
