// Reads the halves of NeMo's encoder-decoders.
//
// Names: NVIDIA/NeMo v1.23, examples/nlp/language_modeling/conf/megatron_{t5,bart,ul2}_config.yaml. `defaults`:
// Hydra 1.3, "The Defaults List"; a file at a package adds what the document itself does not state.
#include "sim/io/import/launch/nemo/halves.h"

#include <fmt/format.h>

#include "sim/base/text.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::nemo {
namespace {

bool is_section(const Json& model, const char* name) { return model.contains(name) && model.at(name).is_object(); }

// "encoder" of ".@model.encoder", a file beside the document; "" for other entries.
std::string half_of(const std::string& entry) {
  for (const char* half : {"encoder", "decoder"})
    if (entry == std::string(".@model.") + half || entry == std::string("@model.") + half) return half;
  return "";
}

template <class Visit>
void for_each_half(const Json& document, const Visit& visit) {
  const auto defaults = document.find("defaults");
  if (defaults == document.end() || !defaults->is_array()) return;
  for (const Json& entry : *defaults) {
    if (!entry.is_object()) continue;
    for (const auto& [place, file] : entry.items())
      if (const std::string half = half_of(place); !half.empty() && file.is_string())
        visit(half, file.template get<std::string>());
  }
}

std::optional<Json> section_in(const std::string& name, const std::string& folder) {
  const auto path = near_file(name, folder);
  Findings unread;
  const auto text = path ? read_text_file(*path, path->string(), unread) : std::nullopt;
  auto section = text ? read_yaml(*text, name, unread) : std::nullopt;
  if (!section || !section->is_object()) return std::nullopt;
  return section;
}

// BART's decoder sees the whole sequence: nemo/collections/nlp/data/language_modeling/megatron/bart_dataset.py.
void lift_length_of_bart(Json& model) {
  for (const char* key : {"seq_length", "encoder_seq_length"})
    if (model.contains(key)) model["data"]["seq_length_dec"] = model.at(key);
}

void lift_length_of_decoder(Json& model, Report& report) {
  Json& data = model["data"];
  if (!data.is_object()) data = Json::object();
  if (data.contains("seq_length_dec")) return;
  if (data.value("dataset_type", Json()) == "bart") return lift_length_of_bart(model);
  data["seq_length_dec"] = "128";
  report.approximate("model.data.seq_length_dec", "128 tokens, the default of megatron_t5_config.yaml");
}

}  // namespace

void add_default_halves(const std::string& folder, Json& document, Report& report) {
  for_each_half(document, [&](const std::string& half, const std::string& option) {
    const std::string name = option.ends_with(".yaml") ? option : option + ".yaml";
    const auto section = section_in(name, folder);
    if (!section)
      return report.refuse(printable(name, 80),
                           fmt::format("incomplete: defaults puts this file at model.{}, and it is not there", half));
    Json& model = document.at("model");
    if (!is_section(model, half.c_str())) model[half] = Json::object();
    for (const auto& [key, value] : section->items())
      if (!model.at(half).contains(key)) model[half][key] = value;
  });
}

bool expects_halves(const Json& document) {
  bool expects = false;
  for_each_half(document, [&](const std::string&, const std::string&) { expects = true; });
  const auto name = document.find("name");
  if (name == document.end() || !name->is_string()) return expects;
  for (const char* kind : {"megatron_t5", "megatron_bart", "megatron_ul2"})
    expects = expects || name->get_ref<const std::string&>().starts_with(kind);
  return expects;
}

bool lift_halves(Json& document, Report& report) {
  Json& model = document.at("model");
  if (!is_section(model, "encoder") || !is_section(model, "decoder")) return false;
  const Json encoder = model.at("encoder"), decoder = model.at("decoder");
  model["encoder_num_layers"] = encoder.value("num_layers", Json());
  model["decoder_num_layers"] = decoder.value("num_layers", Json());
  for (const auto& [key, value] : encoder.items()) {
    if (key == "num_layers") continue;
    if (decoder.value(key, Json()) != value)
      report.refuse("T5", "the encoder and the decoder differ in " + printable(key, 60));
    if (!model.contains(key)) model[key] = value;
  }
  for (const auto& [key, value] : decoder.items())
    if (!encoder.contains(key)) report.refuse("T5", "the decoder alone states " + printable(key, 60));
  model.erase("encoder");
  model.erase("decoder");
  lift_length_of_decoder(model, report);
  return true;
}

void check_halves(const Settings& settings) {
  Report& report = settings.report();
  const auto is_off = [&](const char* key) { return settings.has({key}) && !settings.on({key}); };
  if (is_off("model.share_token_embeddings"))
    report.refuse("model.share_token_embeddings", "two tables of embeddings are not modelled");
  const char* const kSelfOnly = "model.relative_position_bias_self_attention_only";
  if (is_off(kSelfOnly)) report.refuse(kSelfOnly, "relative positions of cross-attention are not modelled");
  if (const auto arch = settings.text({"model.arch"}); arch && *arch != "transformer")
    report.refuse("model.arch", in_quotes(*arch) + " is not modelled");
}

}  // namespace foretoken::io::launch::nemo
