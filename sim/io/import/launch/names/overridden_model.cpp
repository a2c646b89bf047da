// Puts overrides over the configuration of a named model.
#include "sim/io/import/launch/names/overridden_model.h"

#include <optional>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/json/document.h"
#include "sim/io/model/other_keys.h"
#include "sim/io/model/read_model.h"

namespace foretoken::io::launch {
namespace {

// The configuration itself, or the one of a shipped model.
std::optional<Json> config_of(const NamedModel& model, Findings& findings) {
  if (model.model.is_object()) return model.model;
  const std::string name = model.model.get<std::string>();
  const auto document = document_of_name(kModels, name, name, findings);
  return document ? std::optional<Json>(document->value) : std::nullopt;
}

std::string wrong_in_model(const Json& config, const std::string& name) {
  Findings wrong;
  const auto document = document_from_text(config.dump(), name, wrong);
  if (document) (void)read_model(document->root(wrong), name);
  return wrong.complaints.empty() ? "" : wrong.complaints.listed().front().line();
}

// A switch that the model does not know, and that changes no shape, chooses kernels: "use_fused_loss".
bool is_other_switch(const std::string& key, const Json& value, Json config) {
  if (!value.is_boolean()) return false;
  if (!config.contains(key) && !is_off(value) && changes_no_shape(key, value)) return true;
  config[key] = value;
  return !wrong_in_model(config, "").empty();
}

// Members of a section count where the model states the same section and member. The others choose kernels.
bool put_over(const Json& overrides, Json& config) {
  const Json before = config;
  for (const auto& [key, value] : overrides.items()) {
    if (key == "use_cache") continue;
    const Json own = value.is_string() ? typed_value(value.get<std::string>()) : value;
    if (is_other_switch(key, own, config)) continue;
    if (value.is_null())
      config.erase(key);
    else if (!value.is_object())
      config[key] = own;
    else if (config.contains(key) && config.at(key).is_object())
      for (const auto& [inner, member] : value.items())
        if (config.at(key).contains(inner) && member.is_string())
          config[key][inner] = typed_value(member.get<std::string>());
  }
  return config != before;
}

}  // namespace

Json typed_value(const std::string& text) {
  if (const auto whole = whole_of(text)) return *whole;
  if (const auto number = number_of_text(text)) return *number;
  const std::string low = lower_case(text);
  if (low == "true" || low == "false") return low == "true";
  return text;
}

void override_named_model(std::string_view name, const Json& overrides, const Overrides& places, Report& report) {
  const auto known = model_of_name(name);
  Findings findings;
  auto config = known ? config_of(*known, findings) : std::nullopt;
  if (!config || !put_over(overrides, *config)) return;
  config->erase("source");
  (*config)["name"] = printable(name, 80) + " with overrides";
  if (const std::string wrong = wrong_in_model(*config, printable(name, 80)); !wrong.empty())
    return report.refuse(places.overrides_from, "the model cannot be read with them: " + wrong);
  report.map("model", *config, places.from + " with " + places.overrides_from);
}

}  // namespace foretoken::io::launch
