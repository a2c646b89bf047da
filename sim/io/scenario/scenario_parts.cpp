// Reads each part of a scenario as stated. The rules of sim/job fill in the rest.
#include "sim/io/scenario/scenario_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/parse_count.h"
#include "sim/base/text.h"
#include "sim/io/import/read_schedule.h"
#include "sim/io/json/data_path.h"
#include "sim/io/scenario/attention_choice.h"
#include "sim/io/scenario/dispatcher_choice.h"
#include "sim/schedule/catalogue.h"
#include "sim/schedule/made/make_schedule.h"

namespace foretoken::io {
namespace {

using job::Question;
using model::RecomputeGranularity;

// The limits are far beyond any job, and small enough that products of three degrees stay exact.
constexpr WholeRange kDegree{.low = 1, .high = 1 << 20};
constexpr WholeRange kLayersOfStage{.low = 0, .high = 1 << 20};  // the embedding or the head may stand alone
constexpr WholeRange kStages{.low = 1, .high = 10'000};          // of one pipeline, and chunks of one stage
constexpr WholeRange kSequence{.low = 1, .high = 1 << 28, .thousand = kBinaryThousand};
constexpr WholeRange kMicroBatch{.low = 1, .high = 1 << 20};
constexpr WholeRange kGlobalBatch{.low = 1, .high = 1 << 30, .thousand = kThousand};

/// Reads a whole number, if it is stated. A missing one is noted as a default, which the rules choose.
std::optional<int> find_degree(const Node& node, std::string_view key, WholeRange range = kDegree) {
  const auto value = static_cast<int>(node.whole_or(key, 1, range));
  return node.has(key) ? std::optional(value) : std::nullopt;
}

std::optional<bool> find_switch(const Node& node, std::string_view key) {
  const bool value = node.boolean_or(key, false);
  return node.has(key) ? std::optional(value) : std::nullopt;
}

/// Reads the bytes of one element: a number, or the name of a format. Returns nothing when it is not stated.
std::optional<double> find_element_bytes(const Node& node, std::string_view key, Range range) {
  if (node.child(key).is_text())
    return node.one_of<double>(key, {{"fp32", 4}, {"fp16", 2}, {"bf16", 2}, {"fp8", 1}, {"none", 0}});
  const double value = node.number_or(key, range.low, range);
  return node.has(key) ? std::optional(value) : std::nullopt;
}

RecomputeGranularity read_granularity(const Node& node) {
  return node.as_one_of<RecomputeGranularity>({{"none", RecomputeGranularity::kNone},
                                               {"selective", RecomputeGranularity::kSelective},
                                               {"full", RecomputeGranularity::kFull}});
}

model::SelectiveModules read_modules(const Node& recompute) {
  model::SelectiveModules modules;
  const auto named = recompute.find_array("modules");
  if (!named) return modules;
  modules.core_attention = false;
  if (named->empty()) recompute.complain("modules", "expected at least one module, found an empty array");
  std::vector<std::string> keys;
  for (const model::ModuleName& module : model::kModules) keys.emplace_back(module.key);
  for (const Node& name : *named) modules.*model::kModules.at(static_cast<std::size_t>(name.as_choice(keys))).on = true;
  return modules;
}

}  // namespace

void read_parallelism(const Node& root, Question& question) {
  const Node node = root.object_or_empty("parallelism");
  std::vector<std::string> keys;
  for (const auto& [axis, degree] : job::kDegrees) keys.emplace_back(name_of(axis));
  for (const char* key : {"virtual_pipeline", "context_exchange"}) keys.emplace_back(key);
  for (const auto& [axis, degree] : job::kExpertDegrees) keys.emplace_back(name_of(axis));
  for (const char* key : {"sequence_parallel", "embedding_and_head_as_layers", "layers_per_stage", "encoder_pipeline"})
    keys.emplace_back(key);
  node.allow_only(keys);
  job::AskedParallelism& parallelism = question.choices.parallelism;
  for (const auto& [axis, degree] : job::kDegrees)
    parallelism.degrees[axis] = find_degree(node, name_of(axis), axis == Axis::kPipeline ? kStages : kDegree);
  parallelism.virtual_pipeline = find_degree(node, "virtual_pipeline", kStages);
  parallelism.exchange = node.one_of_or("context_exchange", model::ContextExchange::kRing,
                                        {{"ring", model::ContextExchange::kRing},
                                         {"all-gather", model::ContextExchange::kAllGather},
                                         {"all-to-all", model::ContextExchange::kAllToAll}});
  parallelism.degrees[Axis::kExpert] = find_degree(node, "expert");
  if (const auto tensor = node.find_whole("expert_tensor", kDegree))  // its default depends on the runtime
    parallelism.degrees[Axis::kExpertTensor] = static_cast<int>(*tensor);
  parallelism.sequence_parallel = find_switch(node, "sequence_parallel");
  parallelism.embedding_and_head_as_layers = node.boolean_or("embedding_and_head_as_layers", false);
  if (const auto stated = node.find_array("layers_per_stage"))
    for (const Node& layers : *stated)
      parallelism.layers_per_stage.push_back(static_cast<int>(layers.as_whole(kLayersOfStage)));
  if (const auto stages = node.find_whole("encoder_pipeline", kStages))
    parallelism.encoder_pipeline = static_cast<int>(*stages);
}

void read_routing(const Node& root, Question& question) {
  const std::optional<Node> node = root.find_object("moe");
  if (!node) return;
  node->allow_only({"dispatcher", "overlap", "shared_expert_overlap", "capacity_factor", "imbalance"});
  job::Routing& routing = question.routing.emplace();
  const auto dispatcher = node->one_of_or("dispatcher", routing.dispatcher, kDispatcherNames);
  if (node->has("dispatcher")) question.choices.dispatcher = dispatcher;
  routing.capacity_factor = node->find_number("capacity_factor", {.low = 0, .high = 1024, .above_low = true});
  routing.imbalance = node->find_number("imbalance", {.low = 1, .high = 1 << 20});
  routing.shared_expert_overlap = node->boolean_or("shared_expert_overlap", false);
  question.choices.overlap.exchanges = find_switch(*node, "overlap");
}

void read_batch(const Node& root, Question& question) {
  const Node node = root.object("batch");
  node.allow_only({"micro", "global", "sequence_length", "decoder_sequence_length", "microbatch_group",
                   "masked_fraction", "packed"});
  job::AskedBatch& batch = question.choices.batch;
  const std::int64_t micro = node.whole_or("micro", 1, kMicroBatch);
  if (node.has("micro")) batch.micro = micro;
  batch.global = node.whole("global", kGlobalBatch);
  batch.sequence_length = node.whole("sequence_length", kSequence);
  batch.decoder_sequence_length = node.find_whole("decoder_sequence_length", kSequence);
  if (const auto group = node.find_whole("microbatch_group", kDegree))
    batch.microbatch_group = static_cast<int>(*group);
  if (const auto packed = node.find_number("packed", {.low = 1, .high = 1 << 28})) batch.packed = std::llround(*packed);
  batch.masked_fraction = node.find_number("masked_fraction", {.low = 0, .high = 1, .above_low = true});
}

void read_recompute(const Node& root, Question& question) {
  std::optional<job::Recompute>& recompute = question.choices.recompute;
  if (root.has("recompute")) recompute.emplace();
  if (!root.has("recompute") || root.child("recompute").is_text()) {
    const bool stated = root.text_or("recompute", "none") != "none";
    if (stated) recompute->granularity = read_granularity(root.child("recompute"));
    return;
  }
  const Node node = root.child("recompute").as_object();
  node.allow_only({"granularity", "method", "layers", "modules"});
  recompute->granularity = read_granularity(node.child("granularity"));
  recompute->block = node.one_of_or("method", false, {{"uniform", false}, {"block", true}});
  recompute->layers = static_cast<int>(node.whole_or("layers", 1, kDegree));
  recompute->modules = read_modules(node);
  const bool full = recompute->granularity == RecomputeGranularity::kFull;
  const bool selective = recompute->granularity == RecomputeGranularity::kSelective;
  for (const char* key : {"method", "layers"})
    if (!full && node.has(key)) node.complain(key, "expected only with granularity \"full\"");
  if (!selective && node.has("modules")) node.complain("modules", "expected only with granularity \"selective\"");
}

void read_optimizer(const Node& root, Question& question) {
  const Node node = root.object_or_empty("optimizer");
  node.allow_only({"name", "zero_stage", "post_validation"});
  const auto name = node.one_of_or<std::string>("name", "adam",
                                                {{"adam", "adam"},
                                                 {"adamw", "adam"},
                                                 {"lamb", "lamb"},
                                                 {"adafactor", "adafactor"},
                                                 {"paged-adam", "paged"},
                                                 {"paged-adamw", "paged"}});
  question.paged_optimizer = name == "paged";
  question.optimizer = question.paged_optimizer ? "adam" : name;
  question.choices.zero_stage = find_degree(node, "zero_stage", {.low = 0, .high = 3});
  question.post_validation = node.boolean_or("post_validation", false);
}

namespace {

/// Reads the tokens of a run: stated, or epochs over examples. An example fills a sequence, or has the mean length of
/// packed ones.
double read_tokens(const Node& run, const job::AskedBatch& batch) {
  constexpr Range kCount{.low = 1, .high = 1e18, .thousand = kThousand};
  const bool counts = run.has("epochs") || run.has("examples");
  if (!counts) return run.number("tokens", kCount);
  if (run.has("tokens")) run.complain("tokens", "expected tokens, or epochs and examples, not both; remove one");
  const double epochs = run.number("epochs", {.low = 0, .high = 1e6, .above_low = true});
  return epochs * run.number("examples", kCount) * static_cast<double>(batch.packed.value_or(batch.sequence_length));
}

}  // namespace

void read_run(const Node& root, Question& question) {
  const std::optional<Node> node = root.find_object("run");
  if (!node) return;
  node->allow_only({"tokens", "epochs", "examples", "price_per_gpu_hour", "currency"});
  job::TrainingRun run;
  run.tokens = read_tokens(*node, question.choices.batch);
  run.price_per_gpu_hour = node->find_number("price_per_gpu_hour", {.low = 0, .high = 1e6});
  run.currency = node->text_or("currency", "USD");
  question.run = run;
}

namespace {

using model::Fp8Recipe;

/// Reads the bytes that a recipe states. An absent one is the runtime's.
void read_recipe_bytes(const Node& stated, job::AskedRecipe& recipe) {
  constexpr Range kElement{.low = 1, .high = 8};
  recipe.weight_bytes = find_element_bytes(stated, "weights", kElement);
  if (stated.has("gradients")) recipe.gradient_bytes = find_element_bytes(stated, "gradients", kElement);
  if (const double kept = recipe.gradient_bytes.value_or(0); kept > 4 && kept != 6)
    stated.complain("gradients",
                    fmt::format("expected at most 4 bytes, or 6 (fp32 and a 16-bit copy), found {:g}", kept));
  recipe.reduce_bytes = find_element_bytes(stated, "reduce", {.low = 1, .high = 4});
  recipe.master_bytes = find_element_bytes(stated, "master", {.low = 0, .high = 8});
  if (const auto moment = find_element_bytes(stated, "moments", kElement)) recipe.moment_bytes = 2 * *moment;
}

/// Reads the source of fp8 scales. Precision mxfp8 states it already.
void read_fp8_recipe(const Node& stated, bool has_precision, bool mxfp8, job::AskedRecipe& recipe) {
  const Fp8Recipe fp8 = stated.one_of_or("fp8_recipe", Fp8Recipe::kDelayed,
                                         {{"delayed", Fp8Recipe::kDelayed},
                                          {"tensorwise", Fp8Recipe::kTensorwise},
                                          {"blockwise", Fp8Recipe::kBlockwise},
                                          {"mxfp8", Fp8Recipe::kMxfp8}});
  if (!stated.has("fp8_recipe")) return;
  recipe.fp8 = fp8;
  if (!has_precision) stated.complain("fp8_recipe", "expected only with precision \"fp8\"");
  if (mxfp8 && fp8 != Fp8Recipe::kMxfp8)
    stated.complain("fp8_recipe", "expected \"mxfp8\" or none with precision \"mxfp8\"");
}

}  // namespace

void read_precision(const Node& root, Question& question) {
  const bool mxfp8 = root.child("precision").is_text() && root.text_or("precision", "bf16") == "mxfp8";
  const Precision precision = root.one_of_or("precision", Precision::kBf16,
                                             {{"fp16", Precision::kFp16},
                                              {"bf16", Precision::kBf16},
                                              {"fp8", Precision::kFp8},
                                              {"mxfp8", Precision::kFp8},
                                              {"nvfp4", Precision::kNvfp4},
                                              {"tf32", Precision::kTf32},
                                              {"fp32", Precision::kFp32}});
  if (root.has("precision")) question.choices.precision = precision;
  const std::optional<Node> stated = root.find_object("precision_recipe");
  if (mxfp8 || stated) question.choices.recipe.emplace();
  if (mxfp8) question.choices.recipe->fp8 = Fp8Recipe::kMxfp8;
  if (!stated) return;
  stated->allow_only({"weights", "gradients", "reduce", "master", "moments", "fp8_recipe", "attention"});
  job::AskedRecipe& recipe = *question.choices.recipe;
  read_recipe_bytes(*stated, recipe);
  read_fp8_recipe(*stated, root.has("precision"), mxfp8, recipe);
  const bool narrow = stated->one_of_or("attention", false, {{"bf16", false}, {"fp8", true}});
  if (stated->has("attention")) recipe.fp8_attention = narrow;
}

void read_execution(const Node& root, Question& question) {
  using job::CudaGraphs;
  question.cuda_graphs =
      root.one_of_or("cuda_graphs", CudaGraphs::kNone,
                     {{"none", CudaGraphs::kNone}, {"layer", CudaGraphs::kLayer}, {"full", CudaGraphs::kFull}});
  question.compile = root.boolean_or("compile", false);
}

void read_attention(const Node& root, Question& question) {
  const job::AttentionChoice attention = attention_or(root, "attention", {});
  if (root.has("attention")) question.attention = attention;
  question.dropout = root.find_number("dropout", kFraction);
}

void read_overlap(const Node& root, Question& question) {
  const Node node = root.object_or_empty("overlap");
  node.allow_only({"grad_reduce", "param_gather", "tensor_parallel", "p2p"});
  job::AskedOverlap& overlap = question.choices.overlap;
  overlap.grad_reduce = find_switch(node, "grad_reduce");
  overlap.param_gather = find_switch(node, "param_gather");
  overlap.p2p = find_switch(node, "p2p");
  overlap.tensor_parallel = find_switch(node, "tensor_parallel");
}

void read_schedule(const Node& root, Question& question) {
  const Node stated = root.child("schedule");
  if (stated.value().is_object() && stated.has("search")) {
    stated.allow_only({"search"});
    if (stated.boolean("search"))
      question.choices.schedule = schedule::schedule_to_make();
    else
      stated.complain("search", "expected true, found false; try the name of a schedule");
    return;
  }
  if (stated.value().is_object()) {
    question.choices.schedule = read_own_schedule(stated);
    return;
  }
  if (root.has("schedule") && !stated.is_text())
    return stated.expected("the name of a schedule, {\"file\": PATH}, or {\"search\": true}");
  const std::string name = root.text_or("schedule", "");
  if (!stated.is_text()) return;
  question.choices.schedule = schedule::find_schedule(name);
  if (question.choices.schedule) return;
  std::vector<std::string> names;
  for (const schedule::Schedule& known : schedule::all_schedules()) names.emplace_back(known.name);
  const bool is_file = is_path(name) || name.ends_with(".csv");
  root.complain("schedule", fmt::format("unknown schedule {}{}", in_quotes(name),
                                        is_file ? "; for a file write {\"file\": PATH}"
                                                : meant_or_known(name, names, "foretoken schedule list")));
}

}  // namespace foretoken::io
