// Makes the laws of exchanges of tokens: those of another GPU, replaced where this one was measured.
#include <fmt/format.h>

#include "calibration/fit/laws/fit_exchanges.h"
#include "calibration/fit/profiles/lend.h"
#include "calibration/fit/shipped/fitting.h"

namespace foretoken::fit {

std::vector<cost::ExchangeLaw> make_exchanges(const Recipe& recipe, Fitting& fitting) {
  if (!recipe.exchanges && recipe.exchange_tables.empty()) return {};
  cost::Profile profile{.gpu = recipe.gpu.name};
  profile.nvlink.reference = fitting.nvlink({recipe.name, recipe.place}).reference;
  if (recipe.exchanges) {
    profile.exchanges = fitting.exchanges(*recipe.exchanges);
    lend_exchanges(profile.exchanges, recipe.exchanges->profile, profile.nvlink.reference,
                   fitting.nvlink(*recipe.exchanges).reference);
  }
  measured::Samples samples;
  for (const Rows& rows : recipe.exchange_tables) samples.append(fitting.tables().kernels(recipe, rows));
  fit_exchanges(profile, samples);
  return profile.exchanges;
}

}  // namespace foretoken::fit
