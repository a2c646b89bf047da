// Reads NeMo's recomputation as flags of Megatron-LM.
//
// Names: NVIDIA/NeMo v1.23 to v2.0, examples/nlp/language_modeling/conf/megatron_gpt_config.yaml.
#include "sim/io/import/launch/nemo/recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::nemo {
namespace {

constexpr const char *kGranularity = "model.activations_checkpoint_granularity",
                     *kMethod = "model.activations_checkpoint_method",
                     *kLayers = "model.activations_checkpoint_num_layers";

struct Cut {
  std::int64_t stages, chunks;
};

Cut cut_of(const Settings& settings) {
  const auto degree = [&](std::string_view key) {
    return std::clamp<std::int64_t>(settings.whole({key}).value_or(1), 1, kMostCount);
  };
  return {degree("model.pipeline_model_parallel_size"), degree("model.virtual_pipeline_model_parallel_size")};
}

// In all but the given number of micro-batches in flight every layer is recomputed, in the others those of the method:
// megatron/core/pipeline_parallel/schedules.py (num_microbatches_with_partial_activation_checkpoints).
void refuse_partial_recompute(const Settings& settings, bool block) {
  const auto [stages, chunks] = cut_of(settings);
  const Names kPartial = {"model.num_micro_batches_with_partial_activation_checkpoints"};
  const std::int64_t in_flight = chunks > 1 ? 2 * (stages - 1) + (chunks - 1) * stages + 1 : stages;
  if (const auto partial = settings.whole(kPartial); partial && stages > 1 && *partial < in_flight)
    settings.report().refuse(settings.from(kPartial), "layers are recomputed in some of the micro-batches in flight");
  const Names kFewer = {"model.activations_checkpoint_layers_per_pipeline"};
  if (settings.whole(kFewer).value_or(0) != 0 && stages > 1 && block)
    settings.report().refuse(settings.from(kFewer), "later stages recompute fewer layers");
}

// NeMo's own layers recompute the core of attention in the first layers of a stage, and in all of them in versions that
// say "forces all layers": ParallelTransformer of nemo/collections/nlp/modules/common/megatron/transformer.py.
void note_selective_block(const Settings& settings, std::int64_t recomputed) {
  const auto [stages, chunks] = cut_of(settings);
  const std::int64_t layers = settings.whole({"model.num_layers"}).value_or(0) / (stages * chunks);
  if (recomputed < layers)
    settings.report().approximate(
        kLayers,
        fmt::format("the core of attention is recomputed in all {} layers of a stage, as by some versions of NeMo; the "
                    "others recompute {} of them, which takes more memory and less time",
                    layers, recomputed));
}

// The first 0 layers of a stage are none.
bool recomputes_no_layer(const Settings& settings) {
  return settings.text({kGranularity}) &&
         megatron::recomputes_nothing(settings.text({kMethod}).value_or(""), settings.whole({kLayers}));
}

}  // namespace

void add_recompute(const Settings& settings, std::vector<Argument>& arguments) {
  const auto granularity = settings.text({kGranularity}), method = settings.text({kMethod}),
             layers = settings.text({kLayers});
  for (const char* part : {"model.num_micro_batches_with_partial_activation_checkpoints",
                           "model.activations_checkpoint_layers_per_pipeline"})
    (void)settings.at(part);  // without a granularity they have no effect
  if (!granularity) return;
  const bool block = method == "block";
  refuse_partial_recompute(settings, block);
  if (recomputes_no_layer(settings)) return;
  if (block && granularity == "selective" && layers)
    note_selective_block(settings, settings.whole({kLayers}).value_or(0));
  arguments.push_back({"recompute-granularity", {*granularity}, kGranularity});
  if (method) arguments.push_back({"recompute-method", {*method}, kMethod});
  if (layers) arguments.push_back({"recompute-num-layers", {*layers}, kLayers});
}

void settle_recompute(const Settings& settings) {
  Report& report = settings.report();
  if (recomputes_no_layer(settings))
    return report.map("recompute.granularity", "none", std::string(kLayers) + "; " + megatron::kNoBlock);
  if (!settings.text({kGranularity}))
    report.assume("recompute.granularity", "none", std::string(kGranularity) + " is not stated");
}

}  // namespace foretoken::io::launch::nemo
