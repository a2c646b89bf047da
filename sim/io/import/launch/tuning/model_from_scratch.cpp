// Makes a model that starts from no weights, as run_clm.py and run_mlm.py of transformers do.
#include "sim/io/import/launch/tuning/model_from_scratch.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "sim/base/text.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/names/overridden_model.h"

namespace foretoken::io::launch::tuning {
namespace {

/// The default configuration of a kind of model, which run_clm.py and run_mlm.py take without a name.
/// Source: huggingface/transformers, src/transformers/models/KIND/configuration_KIND.py.
struct Kind {
  std::string_view type;
  const char* config;
};
constexpr Kind kKinds[] = {
    {"gpt2", R"({"n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257})"},
    {"llama", R"({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
                  "intermediate_size": 11008, "vocab_size": 32000})"},
    {"bert", R"({"architectures": ["BertForMaskedLM"], "num_hidden_layers": 12, "hidden_size": 768,
                 "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522,
                 "max_position_embeddings": 512, "type_vocab_size": 2})"},
    {"roberta", R"({"architectures": ["RobertaForMaskedLM"], "num_hidden_layers": 12, "hidden_size": 768,
                    "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265,
                    "max_position_embeddings": 512, "type_vocab_size": 2})"}};

// --config_overrides n_embd=1024,n_layer=24: PretrainedConfig.update_from_string. Returns false for other texts.
bool override_config(const std::string& overrides, Json& config) {
  for (std::size_t at = 0; at < overrides.size();) {
    const std::size_t end = std::min(overrides.find_first_of(", ", at), overrides.size());
    const std::string one = overrides.substr(at, end - at);
    at = end + 1;
    if (one.empty()) continue;
    const std::size_t sign = one.find('=');
    if (sign == one.npos || sign == 0) return false;
    const std::string key = one.substr(0, sign), value = one.substr(sign + 1);
    config[key] = typed_value(value);
  }
  return true;
}

}  // namespace

bool map_model_from_scratch(const Settings& settings, Report& report) {
  const std::string type = settings.text({"config_name", "model_type"}).value_or("");
  const auto kind = std::ranges::find(kKinds, type, &Kind::type);
  if (kind == std::end(kKinds)) return false;
  const auto overrides = settings.text({"config_overrides"});
  if (!overrides && type == "gpt2") {
    map_named_model("gpt2", "model_type", report);
    return true;
  }
  Json config = {{"name", type + " from scratch"}, {"model_type", type}};
  config.update(Json::parse(kind->config));
  if (overrides && !override_config(*overrides, config))
    report.refuse("config_overrides", "expected KEY=VALUE,KEY=VALUE, found " + in_quotes(printable(*overrides, 60)));
  report.map("model", config, overrides ? "config_overrides" : "model_type");
  return true;
}

}  // namespace foretoken::io::launch::tuning
