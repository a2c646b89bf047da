// PEFT compares a name of a list with the end of a module's name, and matches a text with the whole of it: huggingface/
// peft, src/peft/tuners/tuners_utils.py, check_target_module_exists. Lists of products: src/peft/utils/constants.py.
#include "sim/io/import/launch/names/adapter_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/names/small_expression.h"
#include "sim/io/import/launch/names/stored_weights.h"
#include "sim/model/tuning/fine_tuning.h"

namespace foretoken::io::launch {
namespace {

using NameList = std::vector<std::string_view>;

using NamePair = std::pair<std::string_view, std::string_view>;

// Names of lists that frameworks have for products, as a scenario has them.
constexpr NamePair kTargetLists[] = {
    {"all", "all-linear"}, {"all-linear", "all-linear"}, {"attention", "attention"}, {"mlp", "mlp"}};

// Products by the names of other families, in small letters: Llama's own code and InternLM2 (w1 the gate, w2 down, w3
// up), Qwen of 2023 (w1 and w2 the first halves, c_proj behind attention and behind the MLP), DBRX (w1 the gate, v1
// up), Baichuan (W_pack), ChatGLM, GPT-NeoX, Falcon, OPT, MPT and Phi (Wqkv, out_proj), replit (mlp_up, mlp_down of
// mosaicml/examples, examples/llm/src/models/layers/gpt_blocks.py), GPT-J (fc_in, fc_out), BERT (query, key, value),
// T5 (q, k, v, o, wi, wi_0, wi_1) and OLMo (att_proj, attn_out, ff_proj, ff_out).
constexpr NamePair kOtherNames[] = {{"wqkv", "qkv_proj"},      {"w_pack", "qkv_proj"},  {"att_proj", "qkv_proj"},
                                    {"wq", "q_proj"},          {"wk", "k_proj"},        {"wv", "v_proj"},
                                    {"query", "q_proj"},       {"key", "k_proj"},       {"value", "v_proj"},
                                    {"q", "q_proj"},           {"k", "k_proj"},         {"v", "v_proj"},
                                    {"o", "o_proj"},           {"out_proj", "o_proj"},  {"attn_out", "o_proj"},
                                    {"fc2", "down_proj"},      {"fc_out", "down_proj"}, {"dense_4h_to_h", "down_proj"},
                                    {"mlp_down", "down_proj"}, {"ff_out", "down_proj"}, {"w1", "gate_proj"},
                                    {"wi_0", "gate_proj"},     {"w3", "up_proj"},       {"v1", "up_proj"},
                                    {"wi_1", "up_proj"},       {"mlp_up", "up_proj"},   {"fc1", "linear_fc1"},
                                    {"fc_in", "linear_fc1"},   {"c_fc", "linear_fc1"},  {"dense_h_to_4h", "linear_fc1"},
                                    {"ff_proj", "linear_fc1"}, {"wi", "linear_fc1"}};

bool name_among(const NameList& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// Other names of a list decide what some names mean.
struct Neighbours {
  bool of_t5 = false;    // its wo is behind the MLP
  bool of_bert = false;  // every product of BERT but query, key and value ends in dense
  bool w2_down = false;  // w2 is behind the MLP: w3 or v1 is up
};

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('.') + 1); }

// T5 alone has a plain o beside q.
Neighbours neighbours_in(const NameList& paths) {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(paths, [&](std::string_view path) { return last_name(path) == name; });
  };
  return {.of_t5 = has("wi") || has("wi_0") || has("wi_1") || (has("o") && (has("q") || has("k") || has("v"))),
          .of_bert = has("query") || has("value"),
          .w2_down = has("w3") || has("v1")};
}

// Returns the products of one name in small letters; nothing for an unknown name.
NameList products_of_name(std::string_view name, const Neighbours& beside) {
  const auto* const list = std::ranges::find(kTargetLists, name, &NamePair::first);
  if (list != std::end(kTargetLists)) return {list->second};
  const auto* const ours = std::ranges::find(model::kTargetNames, name, &model::TargetName::key);
  if (ours != model::kTargetNames.end()) return {ours->key};
  if (name == "w2") return {beside.w2_down ? "down_proj" : "up_proj"};
  if (name == "wo") return {beside.of_t5 ? "down_proj" : "o_proj"};
  if (name == "c_proj") return {"o_proj", "down_proj"};
  if (name == "dense") return beside.of_bert ? NameList{"o_proj", "linear_fc1", "down_proj"} : NameList{"o_proj"};
  for (const auto& [other, product] : kOtherNames)
    if (other == name) return {product};
  return {};
}

// Returns the products of a name with its parent: "attn.c_proj" is one of the two that end in c_proj.
NameList products_of_path(std::string_view path, const Neighbours& beside) {
  const std::size_t dot = path.rfind('.');
  if (dot == path.npos) return products_of_name(path, beside);
  const std::string_view parent = path.substr(0, dot), name = path.substr(dot + 1);
  const NameList attention = {"attn", "self_attn", "self_attention", "attention"}, mlp = {"mlp", "ffn", "feed_forward"};
  if (!name_among(attention, parent) && !name_among(mlp, parent)) return {};
  if (name == "c_proj" || (name == "wo" && name_among(attention, parent)))
    return {name_among(mlp, parent) ? "down_proj" : "o_proj"};
  return products_of_name(name, beside);
}

void add_products(const NameList& products, Json& targets) {
  for (const std::string_view product : products)
    if (std::ranges::find(targets, Json(std::string(product))) == targets.end())
      targets.push_back(std::string(product));
}

// The modules of a layer in a family: their place in the model, and their names there. An expert is one of many.
struct LayerNames {
  NameList words;  // of the names of its models; none: all others
  NameList places, modules, experts;
};

// huggingface/transformers, src/transformers/models: llama, mixtral, qwen2_moe, phi3, phi, gpt2, gpt_neox, bloom, opt,
// mpt, gptj; the code beside the weights of Baichuan, InternLM2 and Qwen of 2023. The first family has the names of
// Llama, Mistral, Qwen since 1.5, Gemma, Yi and most others.
const std::vector<LayerNames>& families_of_layers() {
  static const std::vector<LayerNames> kFamilies = {
      {{},
       {"model.layers.", "model.language_model.layers.", "language_model.model.layers."},
       {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj",
        "mlp.down_proj"},
       {"mlp.experts.0.gate_proj", "mlp.experts.0.up_proj", "mlp.experts.0.down_proj", "mlp.shared_expert.gate_proj",
        "mlp.shared_expert.up_proj", "mlp.shared_expert.down_proj", "block_sparse_moe.experts.0.w1",
        "block_sparse_moe.experts.0.w2", "block_sparse_moe.experts.0.w3", "feed_forward.experts.0.w1"}},
      {{"phi-3", "phi3", "phi-4"},
       {"model.layers."},
       {"self_attn.qkv_proj", "self_attn.o_proj", "mlp.gate_up_proj", "mlp.down_proj"},
       {}},
      {{"phi-1", "phi-2", "phi1", "phi2"},
       {"model.layers."},
       {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.dense", "mlp.fc1", "mlp.fc2"},
       {}},
      {{"baichuan"},
       {"model.layers."},
       {"self_attn.W_pack", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"},
       {}},
      {{"internlm2"},
       {"model.layers."},
       {"attention.wqkv", "attention.wo", "feed_forward.w1", "feed_forward.w2", "feed_forward.w3"},
       {}},
      {{"gpt2", "gpt-2"}, {"transformer.h."}, {"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"}, {}},
      {{"qwen-7b", "qwen-14b", "qwen-72b", "qwen-1_8b"},
       {"transformer.h."},
       {"attn.c_attn", "attn.c_proj", "mlp.w1", "mlp.w2", "mlp.c_proj"},
       {}},
      {{"gpt-j", "gptj"},
       {"transformer.h."},
       {"attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.out_proj", "mlp.fc_in", "mlp.fc_out"},
       {}},
      // Falcon3 has the names of Llama: tiiuae/Falcon3-7B-Base, config.json, model_type.
      {{"falcon-", "falcon_", "falcon-rw", "falcon7b", "falcon40b", "falcon180b", "bloom", "bloomz"},
       {"transformer.h."},
       {"self_attention.query_key_value", "self_attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"},
       {}},
      {{"neox", "pythia"},
       {"gpt_neox.layers."},
       {"attention.query_key_value", "attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"},
       {}},
      {{"chatglm"},
       {"transformer.encoder.layers."},
       {"self_attention.query_key_value", "self_attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"},
       {}},
      {{"mpt"}, {"transformer.blocks."}, {"attn.Wqkv", "attn.out_proj", "ffn.up_proj", "ffn.down_proj"}, {}},
      {{"opt"},
       {"model.decoder.layers."},
       {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj", "fc1", "fc2"},
       {}}};
  return kFamilies;
}

constexpr std::int64_t kLayersTried = 128;       // of a model of unknown size: more than any that is known by its name
constexpr std::int64_t kMostLayersTried = 1024;  // keeps an expression fast, whatever a file states

// Returns true where the expression selects a module in every layer, false where it does in none; nothing where it
// tells layers from each other.
std::optional<bool> selects(const SmallExpression& expression, std::int64_t layers, std::string_view place,
                            std::string_view module) {
  std::optional<bool> all;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const bool one = expression.matches(fmt::format("{}{}.{}", place, layer, module));
    if (all && *all != one) return std::nullopt;
    all = one;
  }
  return all;
}

// The modules that an expression selects in the layers of a family. `whole` is false where it selects some layers or
// experts alone.
struct Selection {
  NameList modules{};
  bool whole = true;
};

Selection selection_of(const SmallExpression& expression, std::int64_t layers, const LayerNames& family) {
  Selection found;
  bool experts = false;
  for (const std::string_view place : family.places) {
    for (const std::string_view module : family.modules) {
      const auto one = selects(expression, layers, place, module);
      found.whole = found.whole && one.has_value();
      if (one.value_or(false) && !name_among(found.modules, module)) found.modules.push_back(module);
    }
    for (const std::string_view module : family.experts)
      experts = experts || selects(expression, layers, place, module).value_or(true);
  }
  const bool mlp = std::ranges::any_of(found.modules, [](std::string_view name) { return name.starts_with("mlp."); });
  if (experts && !mlp) found.whole = false;
  return found;
}

// Returns true where a name holds a word that no other letter continues: "opt-1.3b" has "opt", "adopted" has not.
bool names_family(const std::string& name, std::string_view word) {
  const auto is_letter = [&](std::size_t at) {
    return at < name.size() && std::isalpha(static_cast<unsigned char>(name[at])) != 0;
  };
  for (std::size_t at = name.find(word); at != name.npos; at = name.find(word, at + 1))
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
  return false;
}

// Returns the name of the report's model; empty for none.
std::string name_of_model(const Report& report) {
  const Json model = report.at("model");
  if (model.is_object() && model.contains("name") && model.at("name").is_string()) return model.at("name");
  return model.is_string() ? model.get<std::string>() : report.unknown_model;
}

// Returns the layers of the report's model, or the number to try where it is unknown.
std::int64_t layers_of_model(const Report& report) {
  const Json model = report.at("model");
  std::int64_t layers = 0;
  for (const char* key : {"num_hidden_layers", "n_layer", "num_layers"})
    if (model.is_object() && model.contains(key) && model.at(key).is_number_integer()) layers = model.at(key);
  if (const auto known = layers == 0 ? model_of_name(name_of_model(report)) : std::nullopt) layers = known->layers;
  return layers > 0 && layers <= kMostLayersTried ? layers : kLayersTried;
}

const LayerNames& family_of(const std::string& model) {
  const std::string lower = lower_case(model_in_path(model));
  const auto& all = families_of_layers();
  const auto found = std::find_if(all.begin() + 1, all.end(), [&](const LayerNames& family) {
    return std::ranges::any_of(family.words, [&](std::string_view word) { return names_family(lower, word); });
  });
  return found == all.end() ? all.front() : *found;
}

// The first place of a family is that of its plain language models.
bool has_module_named(const LayerNames& family, std::string_view text) {
  return std::ranges::any_of(family.modules, [&](std::string_view module) {
    return fmt::format("{}0.{}", family.places.front(), module).find(text) != std::string::npos;
  });
}

Json products_of_expression(const std::string& text, const std::string& from, Report& report) {
  Json targets = Json::array();
  const std::string setting = "targets " + printable(text, 120);
  const auto expression = SmallExpression::read(text);
  if (!expression) {
    report.refuse(setting, "a regular expression with parts that are not read; name the products, as in q_proj,v_proj",
                  from);
    return targets;
  }
  const LayerNames& family = family_of(name_of_model(report));
  const Selection found = selection_of(*expression, layers_of_model(report), family);
  if (found.modules.empty() || !found.whole) {
    report.refuse(setting,
                  found.whole ? "a regular expression that selects no known product of the model's layers"
                              : "a regular expression that selects some layers or experts alone; no adapter is "
                                "modelled there",
                  from);
    return targets;
  }
  const Neighbours beside = neighbours_in(family.modules);
  for (const std::string_view module : found.modules)
    add_products(products_of_path(lower_case(module), beside), targets);
  report.approximate(from, "a regular expression: it selects " + fmt::format("{}", fmt::join(found.modules, ", ")) +
                               " by the names of the family's modules");
  return targets;
}

bool is_attention_input(std::string_view product) {
  const auto* const known = std::ranges::find(model::kTargetNames, product, &model::TargetName::key);
  if (known == model::kTargetNames.end()) return false;
  const model::LoraTargets& targets = known->targets;
  return targets.queries || targets.keys || targets.values || targets.fused_qkv;
}

}  // namespace

std::string attention_inputs_of(const std::string& model) {
  const NameList& modules = family_of(model).modules;
  const Neighbours beside = neighbours_in(modules);
  NameList names;
  for (const std::string_view module : modules)
    if (std::ranges::any_of(products_of_path(lower_case(module), beside), is_attention_input))
      names.push_back(last_name(module));
  return fmt::format("{}", fmt::join(names, ","));
}

Json adapter_products(const std::string& text, const std::string& from, Report& report, Modules modules_of) {
  if (is_expression(text)) return products_of_expression(text, from, report);
  const std::string plain = lower_case(text);
  NameList all;
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t begin = plain.find_first_not_of(kBetweenNames, at);
    if (begin == plain.npos) break;
    at = std::min(plain.find_first_of(kBetweenNames, begin), plain.size());
    all.push_back(std::string_view(plain).substr(begin, at - begin));
    begins.push_back(begin);
  }
  Json targets = Json::array();
  const LayerNames& family = family_of(name_of_model(report));
  const NameList& modules = family.modules;
  // Models of the first family may have any names.
  const bool knows_all = modules_of == Modules::kOfTransformers && !family.words.empty();
  bool left_out = false;
  const Neighbours in_list = neighbours_in(all), in_family = neighbours_in(modules);
  for (std::size_t one = 0; one < all.size(); ++one) {
    // A family that has the name knows its product, whatever the list holds beside it.
    const bool of_family = std::ranges::any_of(
        modules, [&](std::string_view module) { return lower_case(last_name(module)) == last_name(all[one]); });
    const NameList products = products_of_path(all[one], of_family ? in_family : in_list);
    const bool is_list = std::ranges::find(kTargetLists, all[one], &NamePair::first) != std::end(kTargetLists);
    const std::string setting = "targets " + printable(text.substr(begins[one], all[one].size()), 40);
    if (products.empty()) {
      report.refuse(setting, "no adapter is modelled beside this product", from);
    } else if (knows_all && !of_family && !is_list) {
      report.approximate(setting, "the layers of this family have no product of that name, and PEFT leaves it out");
      left_out = true;
    } else {
      add_products(products, targets);
    }
  }
  if (left_out && targets.empty())
    report.refuse("targets", "the layers of this family have none of these products; PEFT stops there", from);
  return targets;
}

std::optional<bool> names_modules_of_layers(std::string_view text, const Report& report) {
  const LayerNames& family = family_of(name_of_model(report));
  const bool known = !family.words.empty() || model_of_name(name_of_model(report)).has_value();
  return known ? std::optional(has_module_named(family, text)) : std::nullopt;
}

}  // namespace foretoken::io::launch
