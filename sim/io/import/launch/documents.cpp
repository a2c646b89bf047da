// Finds the framework of a document by its sections, and reads it.
#include "sim/io/import/launch/documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/io/import/launch/bridge/read_bridge.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/llm_foundry/read_llm_foundry.h"
#include "sim/io/import/launch/megatron/flagscale.h"
#include "sim/io/import/launch/megatron/key_files.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/nanotron/read_nanotron.h"
#include "sim/io/import/launch/nemo/automodel.h"
#include "sim/io/import/launch/nemo/read_nemo.h"
#include "sim/io/import/launch/neox/read_neox.h"
#include "sim/io/import/launch/olmo/read_olmo.h"
#include "sim/io/import/launch/torchtitan/primus.h"
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/tuning/trainer_sharding.h"
#include "sim/io/import/launch/tuning/trl.h"

namespace foretoken::io::launch {
namespace {

bool is_functional_test(const Json& content) { return content.is_object() && content.contains("MODEL_ARGS"); }

void read_nanotron_file(const Document& document, Report& report) {
  nanotron::read_nanotron(document.content, report);
  const auto degrees = report.whole("gpus");
  if (document.gpus && degrees && *document.gpus != *degrees)
    report.refuse("parallelism", fmt::format("the degrees make up {} GPUs, found {}", *degrees, *document.gpus));
}

Json with_deepspeed_file(const Document& document) {
  Json arguments = document.content;
  deepspeed::open_deepspeed_file(document.path.parent_path().string(), arguments);
  return arguments;
}

void read_trainer_document(const Document& document, Report& report) {
  Json arguments = with_deepspeed_file(document);
  const auto inside = deepspeed::take_deepspeed_object(arguments);
  const Json* const deepspeed = inside ? &*inside : nullptr;
  if (tuning::is_document_of_trl(arguments))
    tuning::read_arguments_of_trl(arguments, document.gpus, deepspeed, report);
  else
    tuning::read_trainer(arguments, document.gpus, report, deepspeed);
  if (!inside) tuning::ask_for_sharding_of_handbook(arguments, document.gpus, report);
}

struct DocumentReader {
  bool (*is)(const Json& content);
  void (*read)(const Document& document, Report& report);
};

/// The first reader that knows a document reads it: later ones ask for less.
constexpr DocumentReader kDocumentReaders[] = {
    {is_functional_test,
     [](const Document& one, Report& report) { megatron::read_functional_test(one.content, one.place(), report); }},
    {torchtitan::is_primus,
     [](const Document& one, Report& report) {
       torchtitan::read_torchtitan(torchtitan::unwrapped(one.content, one.path, one.environment, report), one.gpus,
                                   report);
     }},
    {megatron::is_primus_megatron,
     [](const Document& one, Report& report) {
       megatron::read_primus_megatron(one.content, one.path, one.environment, report);
     }},
    {megatron::is_yaml_arguments,
     [](const Document& one, Report& report) { megatron::read_yaml_arguments(one.content, report); }},
    {megatron::is_flagscale_experiment,
     [](const Document& one, Report& report) {
       megatron::read_flagscale_experiment(one.content, one.path, one.environment, one.gpus, report);
     }},
    {megatron::is_flagscale,
     [](const Document& one, Report& report) { megatron::read_yaml_arguments(one.content, report); }},
    {nanotron::is_nanotron, read_nanotron_file},
    {nemo::is_nemo, [](const Document& one, Report& report) { nemo::read_nemo(one.content, one.place(), report); }},
    {nemo::is_automodel,
     [](const Document& one, Report& report) { nemo::read_automodel(one.content, one.gpus, report); }},
    {bridge::is_bridge,
     [](const Document& one, Report& report) {
       bridge::read_bridge(one.content, {one.path.stem().string(), one.row}, report);
     }},
    {tuning::is_axolotl,
     [](const Document& one, Report& report) { tuning::read_axolotl(with_deepspeed_file(one), one.gpus, report); }},
    {tuning::is_torchtune,
     [](const Document& one, Report& report) { tuning::read_torchtune(one.content, one.text, one.gpus, report); }},
    {tuning::is_trainer, read_trainer_document},
    {llm_foundry::is_llm_foundry,
     [](const Document& one, Report& report) { llm_foundry::read_llm_foundry(one.content, one.gpus, report); }},
    {olmo::is_olmo, [](const Document& one, Report& report) { olmo::read_olmo(one.content, one.gpus, report); }},
    {deepspeed::is_accelerate,
     [](const Document& one, Report& report) { deepspeed::read_accelerate(one.content, one.path, one.gpus, report); }},
    {neox::is_neox,
     [](const Document& one, Report& report) { neox::read_neox(neox::merged_neox({one.content}), one.gpus, report); }},
    {deepspeed::is_deepspeed,
     [](const Document& one, Report& report) { deepspeed::read_deepspeed(one.content, one.gpus, report); }}};

/// TOML has one framework, whose sections other languages' documents may share.
constexpr DocumentReader kOfToml = {torchtitan::is_torchtitan, [](const Document& one, Report& report) {
                                      torchtitan::read_torchtitan(one.content, one.gpus, report);
                                    }};

}  // namespace

std::string Document::place() const { return std::filesystem::absolute(path).lexically_normal().generic_string(); }

bool is_known_document(const Json& content, bool toml) {
  if (toml) return kOfToml.is(content);
  return std::ranges::any_of(kDocumentReaders, [&](const DocumentReader& reader) { return reader.is(content); });
}

bool read_known_document(const Document& document, Report& report) {
  if (document.path.extension() == ".toml") {
    const bool known = kOfToml.is(document.content);
    if (known) kOfToml.read(document, report);
    return known;
  }
  const auto* const reader =
      std::ranges::find_if(kDocumentReaders, [&](const DocumentReader& one) { return one.is(document.content); });
  if (reader == std::end(kDocumentReaders)) return false;
  reader->read(document, report);
  return true;
}

}  // namespace foretoken::io::launch
