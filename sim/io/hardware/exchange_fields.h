// Lists the fields of laws of exchanges of tokens, an entry of a profile's "exchanges".
#pragma once

#include <vector>

#include "sim/cost/exchanges/exchange_law.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

class Fields;

/// The table of one law.
void exchange_fields(Fields& f, cost::ExchangeLaw& law);

/// Complains about two laws of one phase of a library. `node` is the whole profile.
void want_each_exchange_once(const Node& node, const std::vector<cost::ExchangeLaw>& laws);

}  // namespace foretoken::io
