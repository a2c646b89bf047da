// The head of a profile: its name and its GPU. The laws are read where the cost structures are defined.
#include "sim/io/read_profile.h"

namespace foretoken::io {

cost::Profile read_profile(const Node& node) {
  cost::Profile profile;
  profile.name = node.text("name");
  profile.gpu = node.text("gpu");
  return profile;
}

}  // namespace foretoken::io
