// Decides about the types of products, weights and states of the Trainer's arguments.
#include "sim/io/import/launch/tuning/trainer_precision.h"

#include <string>

#include "sim/io/import/launch/data_parallel.h"

namespace foretoken::io::launch::tuning {
namespace {

// Returns the key that says that the weights are loaded in bf16; empty for none.
std::string type_of_weights(const Settings& settings) {
  if (settings.on({"pure_bf16"})) return "pure_bf16";
  const std::string key = settings.from({"torch_dtype", "dtype"});
  const std::string type = settings.text({"torch_dtype", "dtype"}).value_or("");
  // dtype alone may be the type of the products.
  const bool of_weights = key == "torch_dtype" || settings.on({"bf16"});
  return of_weights && (type == "bfloat16" || type == "bf16" || type == "torch.bfloat16") ? key : "";
}

}  // namespace

void map_trainer_precision(const Settings& settings, Report& report) {
  const Names kTypes = {"torch_dtype", "dtype", "mixed_precision", "precision"};
  const std::string type = settings.text(kTypes).value_or("");
  const auto has = [&](std::string_view word) { return type.find(word) != type.npos; };
  const bool half = settings.on({"fp16"}), brain = settings.on({"bf16", "pure_bf16"});
  if (brain || (half && !has("bfloat16") && !has("bf16")))
    return report.map("precision", brain ? "bf16" : "fp16", brain ? "bf16" : "fp16");
  if (has("bfloat16") || has("bf16")) return report.map("precision", "bf16", settings.from(kTypes));
  // Weights that are loaded in fp16 train in fp32 parts under AMP only where fp16 is on, too.
  if (!settings.has({"torch_dtype"}) && (has("fp16") || has("float16")))
    return report.map("precision", "fp16", settings.from(kTypes));
  report.ask("precision", "the arguments state neither bf16 nor fp16");
}

// Source: transformers, modeling_utils.py, from_pretrained(torch_dtype); torch.optim makes states of the weights' type.
void map_trainer_weights(const Settings& settings, Report& report) {
  const std::string type = type_of_weights(settings);
  // DeepSpeed, and FSDP beside accelerate's mixed precision, keep weights of fp32.
  const bool mixed = settings.on({"bf16"}) || settings.on({"fp16"}) || settings.on({"mixed_precision"});
  const bool copied = settings.has({"deepspeed"}) || (report.whole("optimizer.zero_stage") != 0 && mixed);
  if (copied) return;
  if (!type.empty()) map_weights_of_16_bits(type, report);
  const bool open = settings.text({"torch_dtype"}) == "auto" && !report.has("training");
  if (open && report.at("precision") == "bf16" && !report.names("torch_dtype"))
    report.approximate(
        "torch_dtype",
        "\"auto\" is the type in the model's config.json; a copy in fp32 is taken, as of weights in fp32");
}

}  // namespace foretoken::io::launch::tuning
