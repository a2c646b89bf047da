// Tells layers of Transformer Engine from those of NeMo and of Megatron-Core itself.
//
// A GPT of mcore_gpt has the layers that get_specs returns: those of model.name, Transformer Engine's with
// transformer_engine, else Megatron-Core's own with plain attention. transformer_engine is off by default. Source:
// NVIDIA/NeMo, nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py at commit b1f5aa3a (get_specs,
// MegatronGPTModel). fp8 belongs to Transformer Engine: "To use fp8, please set `transformer_engine=True` and
// `fp8=True`" (examples/nlp/language_modeling/conf/megatron_gpt_config.yaml).
#include "sim/io/import/launch/nemo/kernels.h"

#include <algorithm>
#include <string>

#include "sim/io/import/launch/nemo/restored.h"

namespace foretoken::io::launch::nemo {
namespace {

constexpr const char *kEngine = "model.transformer_engine", *kCore = "model.mcore_gpt", *kName = "model.name",
                     *kFlash = "model.use_flash_attention", *kFp8 = "model.fp8";

bool has_layers_of_engine(const Settings& settings) {
  return settings.on({kEngine}) || (settings.on({kCore}) && settings.has({kName}));
}

// The layers of Megatron-Core itself do not read use_flash_attention.
bool states_flash(const Settings& settings) { return settings.on({kFlash}) && !settings.on({kCore}); }

void add_attention(const Settings& settings, OwnAttention own, std::vector<Argument>& arguments) {
  const bool flash = states_flash(settings), engine = has_layers_of_engine(settings);
  const bool off = settings.has({kEngine}) && !engine;
  // NeMo's own BERT takes neither: model_provider_func of megatron_bert_model.py.
  if (own == OwnAttention::kOfBert && !settings.on({"model.mcore_bert"}))
    arguments.push_back({"transformer-impl", {"local"}, "model.mcore_bert"});
  else if (flash || engine)
    arguments.push_back({"use-flash-attn", {}, flash ? kFlash : settings.on({kEngine}) ? kEngine : kName});
  else if (off || (own == OwnAttention::kOfHalves && !settings.on({"model.mcore_t5"})))
    arguments.push_back({"transformer-impl", {"local"}, kEngine});
}

void add_fp8(const Settings& settings, std::vector<Argument>& arguments) {
  const bool hybrid = settings.on({"model.fp8_hybrid"}), narrow = settings.on({"model.fp8_e4m3"});
  if (!settings.on({kFp8}) || (!hybrid && !narrow)) return;
  if (has_layers_of_engine(settings) || restores_model(settings))
    return arguments.push_back({hybrid ? "fp8-hybrid" : "fp8-e4m3", {}, kFp8});
  settings.report().refuse(kFp8, std::string("fp8 is on and transformer_engine ") +
                                     (settings.has({kEngine}) ? "is off" : "is not stated, which is off") +
                                     ": layers without Transformer Engine compute in 16 bits; set transformer_engine: "
                                     "true or fp8: false, or allow this for 16 bits");
}

}  // namespace

void add_kernels(const Settings& settings, OwnAttention own, std::vector<Argument>& arguments) {
  add_attention(settings, own, arguments);
  add_fp8(settings, arguments);
}

void settle_attention(const Settings& settings, OwnAttention own) {
  Report& report = settings.report();
  const bool stated = settings.has({kEngine}) || states_flash(settings) || has_layers_of_engine(settings);
  if (stated || own != OwnAttention::kOfGpt || report.at("attention") != "flash" || restores_model(settings)) return;
  if (settings.on({kCore}))
    return report.ask_over_default("attention",
                                   std::string(kEngine) +
                                       " is not stated beside mcore_gpt: later versions of NeMo 1 take plain "
                                       "attention then, earlier ones do not ask for it; state --set "
                                       "attention=unfused or --set attention=flash");
  report.assume("attention", "unfused",
                std::string(kEngine) + " and " + kFlash + " are not stated, and both are off by default");
}

}  // namespace foretoken::io::launch::nemo
