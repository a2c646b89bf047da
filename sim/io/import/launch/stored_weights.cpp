// Reads the format of a model's stored weights from its config.json.
//
// Source: transformers v4.46, trainer.py (Trainer.__init__ refuses a quantised model without adapters, and methods that
// do not support training) and utils/quantization_config.py (BitsAndBytesConfig).
#include "sim/io/import/launch/stored_weights.h"

#include <fmt/format.h>

#include "sim/base/text.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"

namespace foretoken::io::launch {
namespace {

bool is_on(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

void settle_stored_weights(const Json& config, const std::string& place, Report& report) {
  if (report.framework != "Hugging Face Trainer" && report.framework != "axolotl") return;
  const bool nested = config.is_object() && config.contains("text_config") && !config.contains("quantization_config");
  if (nested) return settle_stored_weights(config.at("text_config"), place, report);
  const auto found = config.is_object() ? config.find("quantization_config") : config.end();
  if (found == config.end() || !found->is_object() || found->empty()) return;
  const std::string from = fmt::format("quantization_config of {}", printable(place, 80));
  const auto method = found->find("quant_method");
  const bool four = is_on(*found, "load_in_4bit"), eight = is_on(*found, "load_in_8bit");
  const std::string stated = method != found->end() && method->is_string() ? method->get<std::string>() : "";
  const bool of_library = stated == "bitsandbytes" || (stated.empty() && (four || eight));
  if (of_library && !four && !eight) return;
  const std::string format =
      of_library ? (four ? "4 bits by bitsandbytes" : "8 bits by bitsandbytes")
                 : fmt::format("the format {}", stated.empty() ? "of an unknown method" : in_quotes(stated));
  if (!report.has("training.method"))
    return report.refuse("quantization_config",
                         fmt::format("the weights are stored in {}, and no adapter trains beside them: the Trainer "
                                     "stops",
                                     format),
                         from);
  if (of_library) return report.map("training.method", four ? "qlora" : "lora-int8", from);
  report.refuse(
      "quantization_config",
      fmt::format("LoRA beside frozen weights in {} is not modelled; allowed, it is LoRA beside 16 bits", format),
      from);
}

void settle_weights_of_scenario(Report& report) {
  Findings wrong;
  const auto scenario = document_from_text(report.scenario.dump(), "scenario", wrong);
  if (!scenario || !report.has("model")) return;
  const auto document = open_reference(scenario->root(wrong).child("model"), kModels);
  const Json model = report.at("model");
  const std::string place = model.is_string() ? model.get<std::string>() : "the stated model";
  if (document) settle_stored_weights(document->value, place, report);
}

}  // namespace foretoken::io::launch
