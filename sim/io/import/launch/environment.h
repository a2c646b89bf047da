// Variables of the environment that configurations read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

using Environment = std::vector<std::pair<std::string, std::string>>;  ///< the last value of a name counts

/// Puts the values of variables in place of the expressions that read them: "${NAME:default}" of Primus,
/// "${oc.env:NAME,default}" of OmegaConf, and "${NAME}" where the document has no key of that name. Expressions with
/// other names stay as they are, and so do all behind 16 MB of values.
void put_environment(const Environment& environment, Json& document);

}  // namespace foretoken::io::launch
