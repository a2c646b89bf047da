// Explains the colours of drawn pipelines. Charts with other numbers of chunks share one legend.
#include "sim/draw/gantt_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/draw/palette.h"

namespace foretoken::draw {

using report::Activity;
using report::Gantt;

std::string_view colour_name(Activity activity) {
  switch (activity) {
    case Activity::kForward:
      return "forward";
    case Activity::kBackward:
      return "backward";
    case Activity::kBackwardInput:
      return "backward-input";
    case Activity::kBackwardWeight:
      return "backward-weight";
    case Activity::kRecompute:
      return "recompute";
    case Activity::kStepEnd:
      return "optimizer";
    case Activity::kMessage:
      return "pipeline";
    case Activity::kDataParallel:
      return "data";
    case Activity::kHostCopy:
      return "offload";
  }
  return "other";
}

std::string density_words() {
  return fmt::format("Passes narrower than {:g} pixels: heights are shares of time", kLeastPassPixels);
}

std::vector<Key> gantt_keys(std::span<const Gantt> charts) {
  int chunks = 1;
  bool is_same = true;
  for (const Gantt& chart : charts) {
    is_same = is_same && (chart.chunks == chunks || chunks == 1);
    chunks = std::max(chunks, chart.chunks);
  }
  std::vector<Key> keys;
  for (const report::PassKind& kind : report::passes_in(charts)) {
    Key key{.classes = {}, .words = std::string(kind.name)};
    const int shades = std::min(chunks, kShades);
    for (const Chunk square : ids<Chunk>(shades))
      key.classes.push_back(colour_class(colour_name(kind.activity), shade_of(square, shades)));
    if (chunks > 1)
      key.words += is_same ? fmt::format(", chunk 0 to {}", chunks - 1) : std::string(", first to last chunk");
    keys.push_back(std::move(key));
  }
  keys.push_back({{"c-optimizer"}, "optimizer, step end"});
  keys.push_back({{"c-pipeline"}, "pipeline message"});
  keys.push_back({{"c-data"}, "data-parallel communication"});
  if (report::copies_to_host(charts)) keys.push_back({{"c-offload"}, "copies and updates on the host"});
  return keys;
}

}  // namespace foretoken::draw
