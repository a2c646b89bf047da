// Reads recompute_layer_ids: exactly the listed layers are recomputed, counted from 0 over the whole model.
//
// Rules: AMD-AGI/Primus, primus/backends/megatron/patches/recompute_layer_patches.py.
#include "sim/io/import/launch/megatron/recomputed_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

using Layers = std::vector<std::int64_t>;

// "0,3,4", or a list. Nothing for a text that is none.
std::optional<std::set<std::int64_t>> listed_layers(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::string_view(",[]").find(c) != std::string_view::npos; }, ' ');
  std::set<std::int64_t> layers;
  for (std::size_t at = text.find_first_not_of(' '); at != std::string::npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const auto layer = whole_of(text.substr(at, end - at));
    if (!layer || *layer < 0) return std::nullopt;
    layers.insert(*layer);
    at = text.find_first_not_of(' ', end);
  }
  return layers.empty() ? std::nullopt : std::optional(layers);
}

// Returns the layers of every chunk in the order of the model; nothing where other keys part them unevenly.
std::optional<Layers> layers_of_chunks(const Settings& settings) {
  if (const auto layout = settings.text({"pipeline_model_parallel_layout"})) return layers_of_layout(*layout);
  for (const char* uneven : {"decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers",
                             "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"})
    if (settings.on({uneven})) return std::nullopt;
  const std::int64_t layers = settings.whole({"num_layers"}).value_or(0),
                     stages = std::max<std::int64_t>(settings.whole({"pipeline_model_parallel_size"}).value_or(1), 1);
  std::int64_t chunks = stages * settings.whole({"num_virtual_stages_per_pipeline_rank"}).value_or(1);
  if (const auto each = settings.whole({"num_layers_per_virtual_pipeline_stage"}); each && *each > 0)
    chunks = layers / *each;
  if (layers < 1 || chunks < 1 || chunks > layers || layers % chunks != 0) return std::nullopt;
  return Layers(static_cast<std::size_t>(chunks), layers / chunks);
}

// Returns the layers that every chunk recomputes from its first on, as the method "block" does. Layers of one kind may
// stand anywhere in a chunk.
std::optional<std::int64_t> first_layers(const std::set<std::int64_t>& listed, const Layers& chunks, bool one_kind) {
  std::optional<std::int64_t> all;
  std::int64_t start = 0;
  for (const std::int64_t count : chunks) {
    std::int64_t inside = 0, leading = 0;
    for (std::int64_t layer = 0; layer < count; ++layer) {
      if (!listed.contains(start + layer)) continue;
      leading += layer == inside ? 1 : 0;
      ++inside;
    }
    start += count;
    if ((all && *all != inside) || (!one_kind && leading != inside)) return std::nullopt;
    all = inside;
  }
  return all;
}

}  // namespace

void put_recomputed_layers(const Settings& settings, std::vector<Argument>& arguments) {
  Report& report = settings.report();
  const auto refuse = [&](std::string because) { report.refuse(kRecomputedLayers, std::move(because)); };
  const std::string text = settings.text({kRecomputedLayers}).value_or("");
  const auto listed = listed_layers(text);
  if (!listed) return refuse("expected numbers of layers, found " + in_quotes(text));
  if (settings.text({"recompute_granularity"}).value_or("") != "full" || settings.has({"recompute_method"}))
    return refuse("Primus takes it with recompute_granularity full and without recompute_method");
  const std::int64_t layers = settings.whole({"num_layers"}).value_or(0);
  const auto put = [&](const char* method, std::int64_t count) {
    arguments.push_back({"recompute-method", {method}, kRecomputedLayers});
    arguments.push_back({"recompute-num-layers", {std::to_string(count)}, kRecomputedLayers});
  };
  // Layers of multi-token prediction have the numbers behind those of the decoder.
  const std::int64_t predictions = settings.whole({"mtp_num_layers"}).value_or(0);
  if (layers > 0 && std::cmp_equal(listed->size(), layers + predictions) && *listed->rbegin() < layers + predictions)
    return put("uniform", 1);
  const auto chunks = predictions == 0 ? layers_of_chunks(settings) : std::nullopt;
  const auto each = chunks ? first_layers(*listed, *chunks, !settings.has({"num_experts"})) : std::nullopt;
  if (!each || *each == 0 || *listed->rbegin() >= layers)
    return refuse(
        fmt::format("{} of {} layers are recomputed by their numbers; a scenario has the first layers of every "
                    "stage, as many in each",
                    listed->size(), layers));
  put("block", *each);
}

}  // namespace foretoken::io::launch::megatron
