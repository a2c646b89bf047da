// Tests that an exported launch imports back to the same job, and that what it cannot say is named.
#include "sim/io/export/launch/write_launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

using testing::HasSubstr;
using testing::Not;

ExportedLaunch exported_as(const char* format, const std::string& scenario, std::vector<std::string> sets = {}) {
  const job::Made made = read_scenario_file(scenario, sets);
  return export_launch(*launch_format_named(format), made.job,
                       nlohmann::json::parse(merged_scenario_file(scenario, sets)));
}

std::string losses_of(const ExportedLaunch& exported) {
  std::string text;
  for (const Difference& one : exported.lost) text += one.key + " " + one.before + " " + one.after + "\n";
  for (const std::string& one : exported.unread) text += one + "\n";
  return text;
}

struct KeptCase {
  const char *what, *format, *scenario;
  const char *set = nullptr, *second = nullptr;
};

constexpr KeptCase kKeptCases[] = {
    {"a dense GPT in fp16", "megatron", "gpt3-175b-1024-a100"},
    {"Llama with context parallelism and chunks", "megatron", "llama-3-70b-256-h100"},
    {"latent attention, experts and a further token", "megatron", "deepseek-v3-2048-h800"},
    {"squared ReLU", "megatron", "nemotron-4-15b-64-h100"},
    {"nodes of two kinds", "megatron", "llama-3-8b-16-a100-h100"},
    {"the same by Megatron-Bridge", "bridge", "llama-3-70b-256-h100"},
    {"experts by Megatron-Bridge", "bridge", "deepseek-v3-2048-h800"},
    {"a T5 on two stages", "megatron", "t5-41b-320-a100", "model.activation=gelu"},
    {"a T5 with relative positions", "megatron", "t5-41b-320-a100",
     "model={\"base\": \"nemo-t5-3b\", \"position_embedding_type\": \"relative\", \"activation\": \"swiglu\"}"},
    {"an optimizer on the host", "megatron", "llama-3-70b-256-h100", "offload.optimizer=cpu"},
    {"half of it", "megatron", "llama-3-70b-256-h100", "offload.optimizer=0.5"},
    {"a T5 with gated GELUs", "megatron", "t5-41b-320-a100"},
    {"a further T5", "megatron", "mt5-3b-160-a100"},
    {"a BERT without next sentences", "megatron", "bert-large-1-a100", "batch.masked_fraction=null"},
    {"ALiBi and a norm behind the embedding", "deepspeed", "bloom-176b-384-a100"},
    {"an optimizer on the host of DeepSpeed", "deepspeed", "gpt3-175b-384-a100-zero3",
     R"(offload={"optimizer": "cpu", "parameters": "cpu"})", "runtime=deepspeed"},
    {"ZeRO-3", "deepspeed", "gpt3-175b-384-a100-zero3"}};

TEST(ExportLaunch, ReadingItBackIsTheIdentity) {
  for (const KeptCase& one : kKeptCases) {
    SCOPED_TRACE(one.what);
    std::vector<std::string> sets;
    for (const char* set : {one.set, one.second})
      if (set != nullptr) sets.emplace_back(set);
    EXPECT_EQ(losses_of(exported_as(one.format, one.scenario, sets)), "");
  }
}

const std::vector<std::string> kPlainRun = {"runtime=megatron-deepspeed-2022",
                                            "parallelism.virtual_pipeline=1",
                                            "parallelism.context=1",
                                            "parallelism.data=null",
                                            "schedule=1f1b",
                                            "overlap.p2p=false",
                                            "overlap.param_gather=false",
                                            "overlap.grad_reduce=false"};

std::vector<std::string> plain_run(std::initializer_list<const char*> more) {
  std::vector<std::string> sets = kPlainRun;
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

// Source: deepspeedai/Megatron-DeepSpeed, megatron/arguments.py.
TEST(ExportLaunch, DeepSpeedHasFlagsOfItsOwn) {
  const ExportedLaunch llama = exported_as("deepspeed", "llama-3-70b-256-h100", plain_run({}));
  EXPECT_EQ(losses_of(llama), "");
  for (const char* flag : {"--num-key-value-heads 8 ", "--use-rotary-position-embeddings ", "--normalization rmsnorm ",
                           "--use-flash-attn-v2 ", "--swiglu ", "--sequence-parallel ", "--zero-stage 1\n"})
    EXPECT_THAT(llama.text, HasSubstr(flag));
  for (const char* flag : {"query-group", "--position-embedding-type", "RMSNorm", "--overlap", "--attention-backend",
                           "--use-distributed-optimizer", "--num-virtual-stages"})
    EXPECT_THAT(llama.text, Not(HasSubstr(flag)));
  EXPECT_THAT(losses_of(exported_as("deepspeed", "llama-3-70b-256-h100")),
              HasSubstr("parallelism.virtual_pipeline 5 1"));
}

TEST(ExportLaunch, DeepSpeedHasExpertsOfItsOwn) {
  std::vector<std::string> sets =
      plain_run({"model=mixtral-8x7b", "parallelism.pipeline=1", "parallelism.expert=8", "parallelism.expert_tensor=1",
                 "moe.dispatcher=all-to-all", "batch.sequence_length=4096"});
  const ExportedLaunch experts = exported_as("deepspeed", "llama-3-70b-256-h100", sets);
  EXPECT_EQ(losses_of(experts), "");
  for (const char* flag : {"--num-experts 8 ", "--topk 2 ", "--expert-interval 1 ", "--moe-expert-parallel-size 8 ",
                           "--disable-moe-token-dropping "})
    EXPECT_THAT(experts.text, HasSubstr(flag));
  EXPECT_THAT(experts.text, Not(HasSubstr("--moe-router-topk")));
  sets.emplace_back("moe.capacity_factor=1.25");
  const ExportedLaunch bounded = exported_as("deepspeed", "llama-3-70b-256-h100", sets);
  EXPECT_EQ(losses_of(bounded), "");
  EXPECT_THAT(bounded.text, HasSubstr("--moe-train-capacity-factor 1.25 "));
}

TEST(ExportLaunch, RoutingBalancedByForceIsAFlag) {
  const std::vector<std::string> sets = plain_run({"model=mixtral-8x7b", "parallelism.expert=8", "moe.imbalance=1"});
  const ExportedLaunch megatron = exported_as("megatron", "llama-3-70b-256-h100", sets);
  EXPECT_THAT(megatron.text, HasSubstr("--moe-router-force-load-balancing"));
  EXPECT_THAT(losses_of(megatron), Not(HasSubstr("moe.imbalance")));
  EXPECT_THAT(losses_of(exported_as("bridge", "llama-3-70b-256-h100", sets)), Not(HasSubstr("moe.imbalance")));
  const std::vector<std::string> uneven =
      plain_run({"model=mixtral-8x7b", "parallelism.expert=8", "moe.imbalance=1.5"});
  EXPECT_THAT(losses_of(exported_as("megatron", "llama-3-70b-256-h100", uneven)),
              HasSubstr("moe.imbalance 1.5 unstated"))
      << "as much as memory has anyway, but not times";
  EXPECT_THAT(losses_of(exported_as("deepspeed", "llama-3-70b-256-h100", sets)), HasSubstr("moe.imbalance 1 unstated"));
}

// Source: bigscience-workshop/Megatron-DeepSpeed, megatron/arguments.py.
TEST(ExportLaunch, BloomRunsOnTheForkThatHasAlibi) {
  const std::string bloom = exported_as("deepspeed", "bloom-176b-384-a100").text;
  for (const char* flag : {"bigscience-workshop/Megatron-DeepSpeed", "--position-embedding-type alibi ",
                           "--pad-vocab-size-to 250880 ", "--checkpoint-activations ", "--embed-layernorm "})
    EXPECT_THAT(bloom, HasSubstr(flag));
  for (const char* flag : {"--vocab-size", "--recompute", "--no-pipeline-parallel", "--sequence-parallel"})
    EXPECT_THAT(bloom, Not(HasSubstr(flag)));
}

TEST(ExportLaunch, DeepSpeedOverlapsAndOffloadsByItsConfiguration) {
  const ExportedLaunch overlapped =
      exported_as("deepspeed", "gpt3-175b-384-a100-zero3",
                  {"offload.optimizer=cpu", "runtime=deepspeed", "overlap.grad_reduce=true"});
  EXPECT_EQ(losses_of(overlapped), "");
  EXPECT_THAT(overlapped.text, HasSubstr("\"overlap_comm\": true"));
  EXPECT_THAT(overlapped.text, HasSubstr("\"stage3_prefetch_bucket_size\": 0"));
  EXPECT_THAT(overlapped.text, HasSubstr("--cpu-optimizer "));
  const ExportedLaunch ahead =
      exported_as("deepspeed", "gpt3-175b-384-a100-zero3",
                  {"runtime=deepspeed", "overlap.grad_reduce=true", "overlap.param_gather=true"});
  EXPECT_EQ(losses_of(ahead), "");
  EXPECT_THAT(ahead.text, Not(HasSubstr("stage3_prefetch_bucket_size")));
}

TEST(ExportLaunch, LossesAreNamedByWords) {
  const std::string losses = losses_of(exported_as("megatron", "bloom-176b-384-a100"));
  EXPECT_THAT(losses, HasSubstr("model.positions alibi learned_absolute\n"));
  EXPECT_THAT(losses_of(exported_as("bridge", "llama-3-70b-256-h100", {"attention=flash-2"})),
              HasSubstr("attention flash-2 flash\n"));
}

TEST(ExportLaunch, RuntimesHaveFormats) {
  constexpr std::pair<const char*, const char*> kFormats[] = {{"megatron-core-2026", "megatron"},
                                                              {"megatron-deepspeed-2022", "deepspeed"},
                                                              {"deepspeed", "deepspeed"},
                                                              {"torchtitan-compiled", "torchtitan"},
                                                              {"nanotron", "nanotron"}};
  for (const auto& [runtime, format] : kFormats) EXPECT_EQ(launch_format_of_runtime(runtime)->name, format) << runtime;
  EXPECT_EQ(launch_format_of_runtime("pytorch-fsdp"), nullptr);
}

TEST(ExportLaunch, FactsHaveKnownKeys) {
  const std::vector<std::string> keys = fact_keys();
  for (const char* key : {"attention", "batch.masked_fraction", "moe.imbalance", "training.rank",
                          "recompute.modules.mlp", "parallelism.context_exchange", "model.latent_dims"})
    EXPECT_THAT(keys, testing::Contains(key));
}

TEST(ExportLaunch, BertHasAProgramOfItsOwn) {
  const std::string with_heads = R"(model={"base": "bert-large", "architectures": ["BertForPreTraining"]})";
  const ExportedLaunch bert = exported_as("megatron", "bert-large-1-a100", {with_heads, "batch.masked_fraction=null"});
  EXPECT_EQ(losses_of(bert), "");
  EXPECT_THAT(bert.text, HasSubstr("pretrain_bert.py "));
  EXPECT_THAT(bert.text, Not(HasSubstr("--bert-no-binary-head")));
  const ExportedLaunch masked = exported_as("megatron", "bert-large-1-a100");
  EXPECT_EQ(losses_of(masked), "batch.masked_fraction 0.15625 1\n");
  EXPECT_THAT(masked.text, HasSubstr("pretrain_bert.py computes the logits of every token"));
  EXPECT_THAT(masked.text, HasSubstr("--bert-no-binary-head "));
  EXPECT_EQ(losses_of(exported_as("bridge", "bert-large-1-a100")),
            "an encoder; foretoken export megatron writes one\n");
}

TEST(ExportLaunch, FormatsOfOneModelKeepIt) {
  const std::vector<std::string> plain = {"runtime=nanotron",
                                          "overlap.p2p=false",
                                          "optimizer.zero_stage=1",
                                          "parallelism.context=1",
                                          "parallelism.pipeline=1",
                                          "parallelism.virtual_pipeline=1",
                                          "schedule=1f1b",
                                          "parallelism.data=null",
                                          "overlap.grad_reduce=null",
                                          "overlap.param_gather=null",
                                          "attention=null"};
  EXPECT_EQ(losses_of(exported_as("nanotron", "llama-3-70b-256-h100", plain)), "");
  std::vector<std::string> titan = plain;
  titan[0] = "runtime=torchtitan";
  titan[2] = "optimizer.zero_stage=3";
  EXPECT_EQ(losses_of(exported_as("torchtitan", "llama-3-70b-256-h100", titan)), "");
  EXPECT_THAT(exported_as("torchtitan", "llama-3-70b-256-h100", titan).text, Not(HasSubstr("async")));
  titan[0] = "runtime=torchtitan-compiled";
  titan.emplace_back("overlap.tensor_parallel=true");
  const ExportedLaunch overlapped = exported_as("torchtitan", "llama-3-70b-256-h100", titan);
  EXPECT_EQ(losses_of(overlapped), "");
  EXPECT_THAT(overlapped.text, HasSubstr("tensor_parallel_degree = 4\n"));
  EXPECT_THAT(overlapped.text, HasSubstr("enable_async_tensor_parallel = true\n"));
}

TEST(ExportLaunch, LossesAreNamed) {
  EXPECT_THAT(losses_of(exported_as("megatron", "gpt3-175b-384-a100-zero3",
                                    {"runtime=deepspeed", "offload.parameters=cpu", "recompute=none"})),
              HasSubstr("offload.parameters 1 on cpu none"));
  EXPECT_THAT(losses_of(exported_as("megatron", "llama-3-70b-256-h100",
                                    {"training.method=lora", "training.rank=16", "runtime=megatron-lora"})),
              HasSubstr("training.method lora full"));
  EXPECT_THAT(losses_of(exported_as("megatron", "bloom-176b-384-a100")), HasSubstr("model.embedding_norm"));
  EXPECT_THAT(
      losses_of(exported_as("megatron", "gpt3-175b-1024-a100", {"schedule=gpipe", "parallelism.virtual_pipeline=1"})),
      HasSubstr("schedule gpipe 1f1b"));
  EXPECT_THAT(losses_of(exported_as("torchtitan", "gpt3-175b-1024-a100")), HasSubstr("missing model"));
}

TEST(ExportLaunch, FactsWithoutAFlagAreLostInEveryFormat) {
  constexpr std::pair<const char*, const char*> kFacts[] = {
      {"optimizer.name=paged-adamw", "optimizer.name paged-adam adam\n"},
      {"batch.packed=100", "batch.packed 100 none\n"},
  };
  for (const char* format : {"megatron", "bridge", "deepspeed"})
    for (const auto& [set, lost] : kFacts)
      EXPECT_THAT(losses_of(exported_as(format, "llama-3-70b-64-h100",
                                        {set, "parallelism.context=1", "parallelism.data=null"})),
                  HasSubstr(lost))
          << format;
}

// No format makes a decoder of an encoder-decoder.
TEST(ExportLaunch, AnEncoderDecoderIsNeverADecoder) {
  for (const char* format : {"bridge", "deepspeed", "torchtitan", "nanotron"})
    EXPECT_EQ(losses_of(exported_as(format, "t5-41b-320-a100", {"model.activation=gelu"})),
              "an encoder-decoder; foretoken export megatron writes one\n");
  EXPECT_THAT(exported_as("megatron", "t5-41b-320-a100", {"model.activation=gelu"}).text,
              HasSubstr("pretrain_t5.py \\\n  --encoder-num-layers 48 \\\n  --decoder-num-layers 48 "));
  EXPECT_THAT(exported_as("megatron", "t5-41b-320-a100").text, HasSubstr("--quick-geglu "));
  EXPECT_THAT(losses_of(exported_as("megatron", "mt5-3b-160-a100", {"model=bart-large", "batch.sequence_length=512"})),
              HasSubstr("model.decoder_positions true false"));
}

}  // namespace
}  // namespace foretoken::io
