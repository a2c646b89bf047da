// Compares imports of real launch files with an expert's reading, where FORETOKEN_LAUNCH_FILES names a folder that
// holds them and an expected.json. None of them stands in this repository.
//
// {"entries": [{"file", "framework", "outcome": "translate" or "refuse", "row", "variant", and fields}]}. Fields that
// are absent or null are not compared.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;

struct Count {
  int files = 0, translated = 0, refused = 0, taken = 0, unread = 0, fields = 0, wrong = 0;
};

json at_path(const json& object, const std::string& path) {
  const json* place = &object;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    if (!place->is_object() || !place->contains(key)) return nullptr;
    place = &place->at(key);
    begin = end + 1;
  }
  return *place;
}

json first_in(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (object.is_object() && object.contains(name) && !object.at(name).is_null()) return object.at(name);
  return nullptr;
}

/// Compares the fields of one entry.
class Comparison {
 public:
  Comparison(const json& entry, const json& scenario, Count& count)
      : entry_(entry), scenario_(scenario), count_(count) {}

  // The expert's `true` beside a number is a flag whose value only the command line of the script states.
  void field(const std::string& name, const json& ours, const json& theirs) {
    if (theirs.is_null() || (theirs == true && !ours.is_boolean())) return;
    ++count_.fields;
    if (ours == theirs) return;
    ++count_.wrong;
    differences_ += fmt::format(" {}: {} for {};", name, ours.dump(), theirs.dump());
  }

  // A key of the scenario beside a field of the entry.
  void key(const std::string& field_path, const std::string& key_path, const json& absent = nullptr) {
    const json ours = at_path(scenario_, key_path);
    field(field_path, ours.is_null() ? absent : ours, at_path(entry_, field_path));
  }

  [[nodiscard]] const std::string& differences() const { return differences_; }

 private:
  const json& entry_;
  const json& scenario_;
  Count& count_;
  std::string differences_;
};

void compare_run(const json& entry, const json& scenario, Comparison& all) {
  for (const char* degree : {"tensor", "pipeline", "virtual_pipeline", "expert"})
    all.key(degree, std::string("parallelism.") + degree, 1);
  // Ulysses splits the sequence as an all-to-all context degree does; entries state it under its own name.
  all.key(at_path(entry, "ulysses").is_number() ? "ulysses" : "context", "parallelism.context", 1);
  all.key("sequence_parallel", "parallelism.sequence_parallel", false);
  for (const char* size : {"micro", "global"})
    if (at_path(entry, size).is_number()) all.key(size, std::string("batch.") + size);
  all.key("gpus", "gpus");
  all.key("seq", "batch.sequence_length");
  // zero_effective: what the software makes of the stated stage.
  all.key(!at_path(entry, "zero_effective").is_null() ? "zero_effective" : "zero", "optimizer.zero_stage");
  const json precision = at_path(entry, "precision");
  const bool narrow = !at_path(entry, "fp8").is_null() || !at_path(entry, "fp4").is_null();
  const bool plain = precision == "bf16" || precision == "fp16" || precision == "fp8";
  if (plain && !narrow) all.key("precision", "precision");
  if (narrow) {
    const json ours = at_path(scenario, "precision");
    all.field("low precision", ours == "fp8" || ours == "mxfp8" || ours == "nvfp4", true);
  }
  if (at_path(entry, "grad_dtype").is_string()) all.key("grad_dtype", "precision_recipe.gradients");
}

void compare_execution(const json& entry, const json& scenario, Comparison& all) {
  // torchtitan's selection by op is what `selective` means under its runtime.
  if (at_path(entry, "recompute.granularity") == "selective_op")
    all.field("recompute.granularity", at_path(scenario, "recompute.granularity"), "selective");
  else
    all.key("recompute.granularity", "recompute.granularity", "none");
  if (at_path(entry, "recompute.granularity") == "full") {
    all.key("recompute.method", "recompute.method");
    if (at_path(entry, "recompute.layers").is_number()) all.key("recompute.layers", "recompute.layers", 1);
  }
  constexpr std::pair<const char*, const char*> kOverlaps[] = {{"grad_reduce", "overlap.grad_reduce"},
                                                               {"param_gather", "overlap.param_gather"},
                                                               {"p2p", "overlap.p2p"},
                                                               {"moe_a2a", "moe.overlap"}};
  for (const auto& [name, key] : kOverlaps) all.key(std::string("overlap.") + name, key, false);
  if (entry.at("framework") != "nanotron") all.key("overlap.tp_comm", "overlap.tensor_parallel", false);
  const json attention = at_path(entry, "attention");
  if (attention == "unfused") all.key("attention", "attention");
  if (attention == "flash") {
    const json ours = at_path(scenario, "attention");
    all.field("attention", ours.is_string() && ours.get<std::string>().starts_with("flash"), true);
  }
}

json model_in(const json& scenario) {
  const json model = at_path(scenario, "model");
  if (!model.is_string()) return model;
  std::ifstream file(std::string(FORETOKEN_SOURCE_DIR "/models/") + model.get<std::string>() + ".json");
  return json::parse(file, nullptr, false);
}

void compare_model(const json& entry, const json& scenario, Comparison& all) {
  const json expected = at_path(entry, "model");
  if (!expected.is_object()) return;
  const json model = model_in(scenario);
  const json heads = first_in(model, {"num_attention_heads", "n_heads", "n_head"});
  const json groups = first_in(model, {"num_query_groups", "num_key_value_heads"});
  all.field("layers", first_in(model, {"num_layers", "num_hidden_layers", "n_layers", "n_layer", "encoder_num_layers"}),
            at_path(expected, "layers"));
  all.field("hidden", first_in(model, {"hidden_size", "d_model", "n_embd"}), at_path(expected, "hidden"));
  all.field("heads", heads, at_path(expected, "heads"));
  all.field("kv_heads", groups.is_null() ? heads : groups, at_path(expected, "kv_heads"));
  all.field("vocab", first_in(model, {"vocab_size"}), at_path(expected, "vocab"));
  all.field("seq", at_path(scenario, "batch.sequence_length"), at_path(expected, "seq"));
  const json width = first_in(model, {"ffn_hidden_size", "intermediate_size"});
  if (!width.is_null()) all.field("ffn_hidden", width, at_path(expected, "ffn_hidden"));
  if (!at_path(expected, "experts").is_null()) {
    all.field("experts", first_in(model, {"num_experts", "num_local_experts", "n_routed_experts"}),
              at_path(expected, "experts"));
    all.field("topk", first_in(model, {"moe_router_topk", "num_experts_per_tok"}), at_path(expected, "topk"));
  }
  if (model.is_object() && model.value("model_type", "") == "megatron")
    all.field("tied_embeddings", !model.value("untie_embeddings_and_output_weights", false),
              at_path(expected, "tied_embeddings"));
}

std::vector<std::string> command_of(const std::string& folder, const json& entry) {
  std::vector<std::string> words = {"import", folder + "/" + entry.at("file").get<std::string>(), "--json"};
  const json row = at_path(entry, "row"), variant = at_path(entry, "variant");
  if (!row.is_null()) words.insert(words.end(), {"--row", row.is_string() ? row.get<std::string>() : row.dump()});
  if (variant.is_number()) words.insert(words.end(), {"--row", std::to_string(variant.get<int>() + 1)});
  if (variant.is_object())
    for (const auto& [name, value] : variant.items())
      words.insert(words.end(), {"--env", name + "=" + value.get<std::string>()});
  return words;
}

void compare_entry(const std::string& folder, const json& entry, Count& count) {
  ++count.files;
  const Ran ran = run_foretoken(command_of(folder, entry));
  EXPECT_TRUE(ran.status >= 0 && ran.status <= 2) << ran.err;
  const bool must_refuse = entry.at("outcome") == "refuse";
  if (ran.status == 2) {
    EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
    ++(must_refuse ? count.refused : count.unread);
    return;
  }
  const json answer = json::parse(ran.out);
  const bool refused = !answer.at("refused").empty();
  if (refused)
    ++count.refused;
  else
    ++(must_refuse ? count.taken : count.translated);
  if (must_refuse) return;
  const json scenario = answer.at("scenario");
  Comparison all(entry, scenario, count);
  compare_run(entry, scenario, all);
  compare_execution(entry, scenario, all);
  compare_model(entry, scenario, all);
  if (!all.differences().empty()) fmt::print("{}{}\n", entry.at("file").get<std::string>(), all.differences());
  for (const json& one : answer.at("refused"))
    fmt::print("{} refused: {}: {}\n", entry.at("file").get<std::string>(), one.at("setting").get<std::string>(),
               one.at("because").get<std::string>());
}

TEST(Import, RealFilesAgreeWithAnExpert) {
  const char* const folder = std::getenv("FORETOKEN_LAUNCH_FILES");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_LAUNCH_FILES names no folder";
  std::ifstream file(std::string(folder) + "/expected.json");
  if (!file) GTEST_SKIP() << "the folder has no expected.json";
  std::map<std::string, Count> counts;
  const json expected = json::parse(file);
  for (const json& entry : expected.at("entries"))
    compare_entry(folder, entry, counts[entry.at("framework").get<std::string>()]);
  Count all;
  for (const auto& [framework, count] : counts) {
    fmt::print(
        "{}: {} files, {} translated, {} refused, {} taken but to be refused, {} unread, {} of {} fields differ\n",
        framework, count.files, count.translated, count.refused, count.taken, count.unread, count.wrong, count.fields);
    all.files += count.files;
    all.taken += count.taken;
    all.unread += count.unread;
    all.fields += count.fields;
    all.wrong += count.wrong;
  }
  EXPECT_EQ(all.files, static_cast<int>(expected.at("entries").size()));
  EXPECT_GT(all.fields, 10 * all.files) << "the fields of an entry";
  EXPECT_LE(all.taken + all.unread, all.files / 20) << "95 % are imported or rightly refused";
  EXPECT_LE(all.wrong, all.fields / 100) << "at most 1 % of the fields differ";
}

}  // namespace
}  // namespace foretoken::tools
