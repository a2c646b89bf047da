// Tests the readers of configuration files: the keys that each maps, asks for and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/import/launch/test_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;

Report read_as(const std::string& name, const std::string& text, const std::string& row = "",
               std::vector<std::string> sets = {}) {
  Findings findings;
  Launch launch;
  launch.row = row;
  launch.sets = std::move(sets);
  const Report report = read_launch_text(text, name, launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

std::string refusals_of(const Report& report) {
  std::string text;
  for (const Refused& one : report.refused) text += one.setting + ": " + one.because + "\n";
  return text;
}

std::string questions_of(const Report& report) {
  std::string text;
  for (const Asked& one : report.asked) text += one.key + "\n";
  return text;
}

constexpr const char* kNemoT5 = R"(trainer: {num_nodes: 2, devices: 8, precision: bf16}
model:
  micro_batch_size: 4
  global_batch_size: 64
  tensor_model_parallel_size: 1
  pipeline_model_parallel_size: 2
  pipeline_model_parallel_split_rank: ${divide_floor:${.pipeline_model_parallel_size}, 2}
  seq_length: 512
  encoder:
    num_layers: 8
    hidden_size: 512
    num_attention_heads: 8
    activation: geglu
    activations_checkpoint_granularity: full
    activations_checkpoint_method: block
    activations_checkpoint_num_layers: 0
  decoder:
    num_layers: 6
    hidden_size: 512
    num_attention_heads: 8
    activation: geglu
    activations_checkpoint_granularity: full
    activations_checkpoint_method: block
    activations_checkpoint_num_layers: 0
  data: {seq_length: 512, seq_length_dec: 128}
)";

constexpr const char* kNemo =
    "trainer: {num_nodes: 4, devices: 8, precision: bf16}\n"
    "model:\n"
    "  micro_batch_size: 1\n  global_batch_size: 64\n  tensor_model_parallel_size: 4\n"
    "  pipeline_model_parallel_size: 2\n  virtual_pipeline_model_parallel_size: 4\n  encoder_seq_length: 4096\n"
    "  num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: ${multiply:4, ${.hidden_size}}\n"
    "  num_attention_heads: 32\n  bias: false\n  activation: fast-swiglu\n  normalization: rmsnorm\n"
    "  position_embedding_type: rope\n  share_embeddings_and_output_weights: false\n  sequence_parallel: true\n"
    "  kv_channels: ${divide_floor:${.hidden_size}, ${.num_attention_heads}}\n"
    "  activations_checkpoint_method: block\n  activations_checkpoint_granularity: null\n  megatron_amp_O2: true\n"
    "  fp8: false\n  fp8_hybrid: true\n  override_vocab_size: 32000\n"
    "  optim: {name: distributed_fused_adam, overlap_grad_sync: true}\n";

constexpr const char* kBridge =
    "_target_: megatron.bridge.training.config.ConfigContainer\n"
    "model:\n  num_layers: 6\n  hidden_size: 1024\n  num_attention_heads: 16\n  num_query_groups: 4\n"
    "  ffn_hidden_size: 4096\n  vocab_size: 32000\n  seq_length: 2048\n  gated_linear_unit: true\n"
    "  activation_func: {_target_: torch.nn.functional.silu}\n  normalization: RMSNorm\n  add_bias_linear: false\n"
    "  position_embedding_type: rope\n  share_embeddings_and_output_weights: false\n"
    "  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n  sequence_parallel: true\n"
    "  pipeline_model_parallel_layout: [[embedding, decoder, decoder], [decoder, decoder, decoder, decoder, loss]]\n"
    "  num_moe_experts: 8\n  moe_router_topk: 2\n  moe_layer_freq: [0, 0, 1, 1, 1, 1]\n"
    "train: {micro_batch_size: 1, global_batch_size: 32}\n"
    "mixed_precision: {bf16: true, fp8: hybrid, fp8_recipe: tensorwise, grad_reduce_in_fp32: false}\n"
    "ddp: {use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: true}\n";

constexpr const char* kNeox =
    "{\"pipe_parallel_size\": 0, \"model_parallel_size\": 2, \"num_layers\": 32, \"hidden-size\": 4096,\n"
    " \"num_attention_heads\": 32, \"seq_length\": 2048, \"pos_emb\": \"rotary\", \"norm\": \"rmsnorm\",\n"
    " \"activation\": \"swiglu\", \"intermediate_size\": 32768, \"mlp_multiple_of\": 256, \"no_weight_tying\": true,\n"
    " \"use_bias_in_attn_linear\": false, \"gpt_j_residual\": true,  # two branches\n"
    " \"optimizer\": {\"type\": \"Adam\"}, \"zero_optimization\": {\"stage\": 1, \"overlap_comm\": True},\n"
    " \"train_micro_batch_size_per_gpu\": 4, \"checkpoint_activations\": true, \"fp16\": {\"enabled\": true},}\n";

constexpr const char* kFoundry =
    "max_seq_len: 2048\n"
    "model: {name: mpt_causal_lm, d_model: 768, n_heads: 12, n_layers: 12, expansion_ratio: 4, vocab_size: 50368,\n"
    "        max_seq_len: '${max_seq_len}', attn_config: {attn_impl: triton}}\n"
    "optimizer: {name: decoupled_lionw}\nglobal_train_batch_size: 256\ndevice_train_microbatch_size: 16\n"
    "precision: amp_bf16\n"
    "fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: PURE, activation_checkpointing: true}\n";

struct FrameworkCase {
  const char *what, *file, *text, *key, *value;
};

constexpr FrameworkCase kFrameworkCases[] = {
    {"NeMo multiplies", "a.yaml", kNemo, "model.ffn_hidden_size", "16384"},
    {"NeMo divides", "a.yaml", kNemo, "model.kv_channels", "128"},
    {"NeMo's T5 has two halves", "a.yaml", kNemoT5, "model.decoder_num_layers", "6"},
    {"the same width in both", "a.yaml", kNemoT5, "model.hidden_size", "512"},
    {"its decoder is shorter", "a.yaml", kNemoT5, "batch.decoder_sequence_length", "128"},
    {"its encoder takes the first stages", "a.yaml", kNemoT5, "parallelism.encoder_pipeline", "1"},
    {"none of its layers is recomputed", "a.yaml", kNemoT5, "recompute.granularity", "\"none\""},
    {"NeMo counts its nodes", "a.yaml", kNemo, "gpus", "32"},
    {"a recipe of fp8 without fp8 is off", "a.yaml", kNemo, "precision", "\"bf16\""},
    {"a method without a granularity recomputes nothing", "a.yaml", kNemo, "recompute.granularity", "\"none\""},
    {"Apex's distributed Adam shards states", "a.yaml", kNemo, "optimizer.zero_stage", "1"},
    {"messages do not overlap by default", "a.yaml", kNemo, "overlap.p2p", "false"},
    {"a layout of names is a list of layers", "a.yaml", kBridge, "parallelism.layers_per_stage", "[2,4]"},
    {"a digit a layer: the first are dense", "a.yaml", kBridge, "model.first_k_dense_replace", "2"},
    {"mixed_precision decides about fp8", "a.yaml", kBridge, "precision_recipe.fp8_recipe", "\"tensorwise\""},
    {"gradients are reduced in bf16", "a.yaml", kBridge, "precision_recipe.gradients", "\"bf16\""},
    {"two thirds of 32768, halved, in steps of 256", "a.yml", kNeox, "model.ffn_hidden_size", "11008"},
    {"no pipeline engine is one stage", "a.yml", kNeox, "parallelism.pipeline", "1"},
    {"GPT-J's residual", "a.yml", kNeox, "model.parallel_residual", "true"},
    {"NeoX recomputes layers one by one", "a.yml", kNeox, "recompute.layers", "1"},
    {"MPT's MLP is four times as wide", "a.yaml", kFoundry, "model.ffn_hidden_size", "3072"},
    {"Triton's attention", "a.yaml", kFoundry, "attention", "\"flash-triton\""},
    {"Lion's moment has 4 bytes", "a.yaml", kFoundry, "precision_recipe.moments", "2"},
    {"PURE reduces in 16 bits", "a.yaml", kFoundry, "precision_recipe.reduce", "2"},
    {"ZeRO as true is stage 1", "a.json", R"({"train_batch_size": 8, "zero_optimization": true})",
     "optimizer.zero_stage", "1"},
    {"communication overlaps by default for stage 3", "a.json",
     R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 3}})", "overlap.grad_reduce", "true"},
    {"an old name of bf16", "a.json", R"({"train_batch_size": 8, "bfloat16": {"enabled": true}})", "precision",
     "\"bf16\""},
    {"sharding as a number", "a.yaml",
     "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 16\n"
     "fsdp_config: {fsdp_sharding_strategy: 2}\n",
     "optimizer.zero_stage", "2"},
    {"fsdp_config counts for FSDP only", "a.yaml",
     "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 16\n"
     "fsdp_config: {fsdp_sharding_strategy: 1}\n",
     "optimizer.zero_stage", "0"},
    {"axolotl's bf16 auto is bf16", "a.yml",
     "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nmicro_batch_size: 2\nbf16: auto\n"
     "optimizer: adamw_bnb_8bit\n",
     "precision_recipe.moments", "1"},
    {"axolotl without 16 bits trains in fp32", "a.yml",
     "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nmicro_batch_size: 2\nbf16: false\nfp16: false\n",
     "precision", "\"fp32\""},
    {"FSDP recomputes though the trainer does not", "a.yml",
     "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nmicro_batch_size: 2\nbf16: auto\n"
     "gradient_checkpointing: false\nfsdp: [full_shard]\nfsdp_config: {fsdp_activation_checkpointing: true}\n",
     "recompute.granularity", "\"full\""},
    {"accelerate needs no more than its processes", "a.yaml",
     "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config: {deepspeed_config_file: absent.json}\n", "gpus",
     "2"},
    {"torchtune's GPUs stand in a comment", "a.yaml",
     "# tune run --nproc_per_node 4 full_finetune_distributed\n"
     "model: {_component_: torchtune.models.llama3.llama3_8b}\n"
     "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: 8192}\n"
     "optimizer: {_component_: torch.optim.AdamW}\nbatch_size: 2\ngradient_accumulation_steps: 4\ndtype: bf16\n",
     "batch.global", "32"},
    {"the dataset of old torchtune cuts the sequences", "a.yaml",
     "model: {_component_: torchtune.models.llama3.llama3_8b}\n"
     "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer}\n"
     "dataset: {_component_: own.my_dataset, max_seq_len: 1024}\nbatch_size: 2\n",
     "batch.sequence_length", "1024"},
    {"LLaMA-Factory recomputes by default", "a.yaml",
     "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\ncutoff_len: 2048\n"
     "per_device_train_batch_size: 1\nbf16: true\ndeepspeed: examples/ds_z3_config.json\n",
     "recompute.granularity", "\"full\""},
    {"LLaMA-Factory without a batch", "a.yaml",
     "model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: lora\nlora_rank: 16\nlora_target: all\ndataset: own\nbf16: "
     "true\n",
     "training.rank", "16"},
    {"the YAML arguments of Megatron-LM have sections", "a.yaml",
     "language_model: {num_layers: 24, hidden_size: 1024, num_attention_heads: 16, add_bias_linear: false}\n"
     "model_parallel: {tensor_model_parallel_size: 2}\nmicro_batch_size: 4\nseq_length: 1024\nbf16: true\n",
     "model.add_bias_linear", "false"}};

TEST(Frameworks, KeysAreMapped) {
  for (const FrameworkCase& one : kFrameworkCases) {
    SCOPED_TRACE(one.what);
    EXPECT_EQ(read_as(one.file, one.text).at(one.key).dump(), one.value);
  }
}

constexpr const char* kTable =
    "task,model,size,system,dtype,num_gpus,seq_len,tp_size,pp_size,cp_size,ep_size,vp_size,mbs,gbs,etp_size\n"
    "pre_train,llama31,405b,h100,bf16,1024.0,8192.0,8.0,8.0,2.0,1.0,8.0,1.0,512.0,\n"
    "lora,llama3,8b,h100,fp8,8.0,4096.0,1.0,1.0,1.0,,,1.0,32.0,\n";

TEST(Frameworks, ATableHasARunOnEachLine) {
  const Report run = read_as("a.csv", kTable, "2");
  EXPECT_EQ(run.at("gpus"), Json(1024));
  EXPECT_EQ(run.at("model"), Json("llama-3-405b"));
  EXPECT_EQ(run.at("parallelism.embedding_and_head_as_layers"), Json(true)) << "126 layers over 64 chunks";
  const std::string newer = std::string(kTable).insert(std::string(kTable).find('\n'), ",cuda_graphs,use_mcore_fsdp");
  for (const std::string& table : {std::string(kTable), newer})
    EXPECT_EQ(read_as("a.csv", table, "3").at("precision_recipe.fp8_recipe"), Json("delayed")) << table;
  EXPECT_THAT(questions_of(read_as("a.csv", kTable)), HasSubstr("row"));
  EXPECT_THAT(questions_of(read_as("a.csv", kTable, "9")), HasSubstr("row"));
}

TEST(Frameworks, FineTuningOfDeepSeekRecomputesAllAndCountsTheLossAsALayer) {
  const auto read = [](const std::string& stages) {
    return read_as(
        "a.csv",
        std::string("task,model,size,system,dtype,num_gpus,seq_len,tp_size,pp_size,cp_size,ep_size,vp_size,mbs,gbs\n"
                    "sft,deepseek,v3,h100,bf16,992,4096,1,") +
            stages + ",1,1984\n",
        "2");
  };
  const Report two = read("2,1,16,1");
  EXPECT_EQ(refused_lines(two), "");
  EXPECT_EQ(two.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(two.at("recompute.method"), Json("uniform"));
  EXPECT_EQ(two.at("parallelism.layers_per_stage"), Json::array({31, 30}));
  const Report most = read("31,1,32,2");
  EXPECT_EQ(most.at("parallelism.layers_per_stage").front(), 1);
  EXPECT_EQ(most.at("parallelism.layers_per_stage").back(), 0) << "the loss alone";
}

TEST(Frameworks, CellsThatARowLacksAtItsEndAreEmpty) {
  const std::string head = "task,model,size,system,dtype,num_gpus,seq_len,tp_size,mbs,gbs,etp_size,recompute_modules\n";
  const Report run = read_as("a.csv", head + "pre_train,llama3,8b,h100,bf16,8,8192,2,1,64,1\n", "2");
  EXPECT_EQ(run.at("batch.global"), Json(64));
  EXPECT_EQ(run.at("recompute.granularity"), Json("none"));
  EXPECT_TRUE(run.names("row"));
  const Report wide = read_as("a.csv", head + "pre_train,llama3,8b,h100,bf16,8,8192,2,1,64,1,,\n", "2");
  ASSERT_EQ(wide.refused.size(), 1U);
  EXPECT_THAT(wide.refused[0].because, HasSubstr("line 2 has 13 fields for 12 columns"));
}

TEST(Frameworks, APerfMatrixHasARunForEachType) {
  const std::string matrix =
      "ConfigContainer: {model: {recompute_granularity: selective}}\n"
      "perf_matrix:\n  b200:\n    num_gpus_64:\n"
      "      common: {seq_length: 4096, mbs: 1, gbs: 512, tp: 2, pp: 4, vp: null, ep: null}\n"
      "      bf16:\n      fp8_mx: {tp: 4}\n";
  const Report run = read_as("llama3_8b_llm_pretrain.yaml", matrix, "b200/num_gpus_64/fp8_mx");
  EXPECT_EQ(run.at("parallelism.tensor"), Json(4));
  EXPECT_EQ(run.at("precision"), Json("mxfp8"));
  EXPECT_EQ(run.at("recompute.granularity"), Json("selective"));
  EXPECT_THAT(questions_of(read_as("llama3_8b_llm_pretrain.yaml", matrix)), HasSubstr("row"));
}

constexpr const char* kOlmo = R"(run_name: a
model: {d_model: 2048, n_heads: 16, n_layers: 16, mlp_ratio: 8, weight_tying: true, rope: true, flash_attention: true,
        include_bias: false, block_type: sequential, layer_norm_type: default, activation_type: swiglu,
        max_sequence_length: 2048, vocab_size: 50280, embedding_size: 50304, init_device: meta}
compile: null
optimizer: {name: adamw, learning_rate: 4.0e-4}
tokenizer: {identifier: a.json}
save_folder: ${path.choose:${oc.env:SCRATCH_DIR,no_exist}/checkpoints,/results}/a
global_train_batch_size: 2048
device_train_microbatch_size: 4
precision: amp_bf16
fsdp: {wrapping_strategy: null, precision: mixed}
inject_indices_map: a.pkl
)";

TEST(Frameworks, OlmoHalvesTheWidthOfItsGatedMlp) {
  const Report report = read_as("olmo.yaml", std::string(kOlmo) + "data: {paths: [a.npy]}\n");
  EXPECT_EQ(report.framework, "OLMo");
  EXPECT_EQ(report.at("model.ffn_hidden_size"), Json(8192));
  EXPECT_EQ(report.at("model.vocab_size"), Json(50304)) << "embedding_size";
  EXPECT_EQ(report.at("model.untie_embeddings_and_output_weights"), Json(false));
  EXPECT_EQ(report.at("model.add_bias_linear"), Json(false));
  EXPECT_EQ(report.at("batch.global"), Json(2048));
  EXPECT_EQ(report.at("batch.micro"), Json(4));
  EXPECT_EQ(report.at("batch.sequence_length"), Json(2048));
  EXPECT_EQ(report.at("optimizer.zero_stage"), Json(3));
  EXPECT_EQ(report.at("recompute.granularity"), Json("none"));
  EXPECT_FALSE(report.has("precision_recipe.reduce")) << "mixed reduces in fp32";
  EXPECT_THAT(questions_of(report), HasSubstr("gpus"));
  EXPECT_EQ(refusals_of(report), "");
  const Report recomputed = read_as("olmo.yaml", std::string(kOlmo) + "activation_checkpointing: whole_layer\n");
  EXPECT_EQ(recomputed.at("recompute.granularity"), Json("full"));
}

TEST(Frameworks, PlacesOfATemplateAreNotKnown) {
  const Report report = read_as("a.yaml",
                                "model: {_component_: torchtune.models.llama3.lora_llama3_8b, lora_rank: 8, "
                                "lora_attn_modules: ['q_proj']}\n"
                                "tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n"
                                "  path: {{model_dir}}/tokenizer.model\n  max_seq_len: {{ length }}\n"
                                "batch_size: 2\ngradient_accumulation_steps: 4\ndtype: bf16\n");
  EXPECT_EQ(report.at("batch.micro"), Json(2));
  EXPECT_THAT(questions_of(report), HasSubstr("batch.sequence_length"));
}

TEST(Frameworks, SectionsOfTorchtitanAreTakenByTheirNames) {
  const Report report = read_as("a.toml",
                                "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[tokenizer]\ntokenizer_path = \"a\"\n"
                                "[data]\ndataset = \"c4\"\n[training]\nbatch_size = 8\nseq_len = 4096\n"
                                "[parallelism]\ndata_parallel_shard_degree = 8\n");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.at("batch.global"), Json(64));
}

TEST(Frameworks, AFlavorOfTorchtitanWithAPointIsKnown) {
  const Report report = read_as("a.toml",
                                "[model]\nname = \"qwen3\"\nflavor = \"1.7B\"\n[training]\nseq_len = 4096\n"
                                "local_batch_size = 4\n[parallelism]\ndata_parallel_shard_degree = 8\n");
  EXPECT_EQ(report.whole("model.num_hidden_layers"), 28);
}

struct RefusedCase {
  const char *what, *file, *text, *words;
};

constexpr RefusedCase kRefusedCases[] = {
    {"compression", "a.json", R"({"train_batch_size": 8, "compression_training": {"weight_quantization": {"a": 1}}})",
     "compression training"},
    {"curriculum", "a.json", R"({"train_batch_size": 8, "curriculum_learning": {"enabled": true}})", "curriculum"},
    {"1-bit Adam", "a.json", R"({"train_batch_size": 8, "optimizer": {"type": "OneBitAdam"}})", "OneBitAdam"},
    {"an unknown key", "a.json", R"({"train_batch_size": 8, "new_thing": {"size": 7}})", "new_thing.size"},
    {"preferences", "a.yaml",
     "model_name_or_path: Qwen/Qwen3-8B\nstage: dpo\nper_device_train_batch_size: 1\nbf16: true\n", "stage dpo"},
    {"a quantised base", "a.yaml",
     "model_name_or_path: a/Meta-Llama-3-8B-Instruct-AWQ\nstage: sft\nper_device_train_batch_size: 1\nbf16: true\n",
     "AWQ"},
    {"ReLoRA", "a.yml",
     "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 512\nmicro_batch_size: 1\nrelora: true\n", "ReLoRA"},
    {"a part of NeoX's settings", "a.yml",
     "{\"checkpoint_activations\": true, \"synchronize_each_layer\": true, \"train_micro_batch_size_per_gpu\": 4}",
     "part of a configuration"},
    {"images in torchtune", "a.yaml",
     "model: {_component_: own.docev_phi4_mini, encoder_trainable: True}\ntokenizer: {_component_: own.transform}\n"
     "batch_size: 1\n",
     "model.encoder_trainable: a multimodal model"},
    {"tensor ranks of torchtune", "a.yaml",
     "model: {_component_: torchtune.models.llama3.llama3_70b}\ntokenizer: {_component_: x.llama3_tokenizer}\n"
     "batch_size: 2\ntensor_parallel_dim: 8\ntensor_parallel_plan: {_component_: x}\n",
     "tensor_parallel_dim: it cuts the model"},
    {"Ulysses in DeepSpeed", "a.json", R"({"train_batch_size": 8, "sequence_parallel_size": 2})", "Ulysses"},
    {"an encoder of NeMo without a decoder", "a.yaml",
     "trainer: {precision: bf16}\nmodel: {micro_batch_size: 1, encoder: {num_layers: 2}}\n",
     "sections encoder and decoder"},
    {"halves of two widths", "a.yaml",
     "trainer: {precision: bf16}\nmodel: {micro_batch_size: 1, encoder: {num_layers: 2, hidden_size: 64}, "
     "decoder: {num_layers: 2, hidden_size: 128}}\n",
     "differ in hidden_size"}};

TEST(Frameworks, ASectionThatIsOffIsIgnored) {
  EXPECT_EQ(refusals_of(read_as("a.json", R"({"train_batch_size": 8, "bf16": {"enabled": true},
    "curriculum_learning": {"enabled": false, "curriculum_type": "seqlen", "min_difficulty": 8}})")),
            "");
}

struct NamedCase {
  const char *what, *file, *text;
};

// Keys that the frameworks document and that change neither time nor memory by more than the runtime knows.
constexpr NamedCase kQuietCases[] = {
    {"torchtune's degrees of one", "a.yaml",
     "model: {_component_: torchtune.models.llama3.llama3_70b}\ntokenizer: {_component_: x.llama3_tokenizer, "
     "max_seq_len: 2048}\nbatch_size: 2\ntensor_parallel_dim: 1\ntensor_parallel_plan: {_component_: x}\n"
     "context_parallel_dim: 1\ndata_parallel_replicate_dim: 1\ndata_parallel_shard_dim: 8\nnum_workers: 4\n"},
    {"variables of a torchtune recipe", "a.yaml",
     "model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\ntokenizer: {_component_: x.llama3_tokenizer, "
     "path: \"${model_dir}/a.model\", max_seq_len: 2048}\nmodel_dir: models/a\nlr: 1e-6\n"
     "optimizer: {_component_: torch.optim.AdamW, lr: \"${lr}\"}\nbatch_size: 2\nclean: True\n"},
    {"variables of llm-foundry", "a.yaml",
     "max_seq_len: 2048\nattn_impl: flash\nsharding_strategy: FULL_SHARD\nmodel_size: 13b\nglobal_train_batch_size: "
     "64\n"
     "device_train_microbatch_size: 2\nmodel: {name: mpt_causal_lm, d_model: 768, n_heads: 12, n_layers: 12, "
     "vocab_size: 50368, max_seq_len: \"${max_seq_len}\", attn_config: {attn_impl: \"${attn_impl}\"}}\n"
     "optimizer: {name: decoupled_adamw}\nprecision: amp_bf16\nrun_name: \"mpt-${model_size}\"\n"
     "fsdp_config: {sharding_strategy: \"${sharding_strategy}\"}\n"},
    {"datasets of a torchtune recipe of one's own", "a.yaml",
     "model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\ntokenizer: {_component_: x.llama3_tokenizer, "
     "max_seq_len: 2048}\nbatch_size: 2\nval_known_dataset: {_component_: torchtune.datasets.instruct_dataset, "
     "source: json, data_files: a.json, split: train}\n"},
    {"the speed that GPT-NeoX divides by", "a.yml",
     R"({"pipe_parallel_size": 1, "model_parallel_size": 1, "num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 128,
         "train_micro_batch_size_per_gpu": 4, "peak_theoretical_tflops": 312})"},
    {"DeepSpeed", "a.json",
     R"({"train_batch_size": 8, "bf16": {"enabled": true}, "pipeline": {"partition": "best", "seed_layers": true},
         "torch_autocast": {"enabled": true, "dtype": "bfloat16"}, "fp32_allreduce": true, "sparse_gradients": true,
         "timers": {"throughput": {"enabled": true}}, "comet": {"enabled": true}})"},
    {"LLaMA-Factory", "a.yaml",
     "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nper_device_train_batch_size: 1\nbf16: true\n"
     "load_best_model_at_end: true\nmetric_for_best_model: loss\nval_size: 0.1\nmix_strategy: concat\n"
     "split_special_tokens: true\nuse_cache: true\nmoe_aux_loss_coef: 0.1\n"},
    {"axolotl", "a.yml",
     "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 512\nmicro_batch_size: 1\nembedding_lr: 1\n"
     "train_on_eos: turn\nroles_to_train: [assistant]\ngc_steps: 5\ncontext_parallel_size: 1\nflex_attention: true\n"},
    {"NeMo hands keys on to Megatron-Core", "a.yaml",
     "trainer: {precision: bf16, devices: 8, num_nodes: 1}\nmodel: {micro_batch_size: 1, global_batch_size: 8, "
     "tensor_model_parallel_size: 1, num_layers: 2, hidden_size: 64, num_attention_heads: 4, encoder_seq_length: 128, "
     "max_position_embeddings: 128, moe_permute_fusion: true, tp_comm_atomic_ag: true, align_param_gather: true, "
     "enable_autocast: true, memory_profile: {enabled: true}}\n"}};

TEST(Frameworks, KeysThatTheFrameworksDocumentAreKnown) {
  for (const NamedCase& one : kQuietCases) {
    SCOPED_TRACE(one.what);
    EXPECT_EQ(refusals_of(read_as(one.file, one.text)), "");
  }
}

TEST(Frameworks, WhatChangesTheAnswerIsRefusedByName) {
  for (const RefusedCase& one : kRefusedCases) {
    SCOPED_TRACE(one.what);
    EXPECT_THAT(refusals_of(read_as(one.file, one.text)), HasSubstr(one.words));
  }
}

TEST(Frameworks, AutoIsAskedFor) {
  const Report report = read_as("a.json",
                                R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
                                    "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})");
  for (const char* key : {"model", "gpus", "precision", "batch.micro", "batch.global", "batch.sequence_length"})
    EXPECT_THAT(questions_of(report), HasSubstr(std::string(key) + "\n"));
}

TEST(Frameworks, ReferencesThatLeadNowhereOrToThemselvesStay) {
  const Report report = read_as("a.yaml",
                                "max_seq_len: ${a}\na: ${b}\nb: ${a}\nglobal_train_batch_size: 8\n"
                                "model: {name: mpt_causal_lm}\n");
  EXPECT_THAT(questions_of(report), HasSubstr("batch.sequence_length"));
}

TEST(Frameworks, ADeepSpeedConfigurationMayBeAHereDocument) {
  const Report report = read_as("a.sh",
                                "ZERO=2\ncat <<EOT > $CONFIG\n{}\nEOT\nCONFIG=ds.json\n"
                                "cat > $CONFIG <<EOT\n{\"zero_optimization\": {\"stage\": $ZERO}}\nEOT\n"
                                "deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 "
                                "--num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 "
                                "--micro-batch-size 1 --fp16 --deepspeed --deepspeed_config $CONFIG --zero-stage 1\n");
  EXPECT_EQ(report.at("optimizer.zero_stage"), Json(2)) << "the configuration wins over the flag";
  EXPECT_EQ(refusals_of(report), "");
}

TEST(Frameworks, DeepSpeedShardsTheStatesOfBf16WithoutZeroAndIgnoresTheOverlapOfStageOne) {
  const auto config = [](const std::string& text) { return read_as("a.json", text); };
  EXPECT_EQ(config(R"({"train_batch_size": 8, "bf16": {"enabled": true}})").at("optimizer.zero_stage"), Json(1));
  EXPECT_EQ(config(R"({"train_batch_size": 8, "fp16": {"enabled": true}})").at("optimizer.zero_stage"), Json(0));
  const auto overlap = [&](const std::string& stage) {
    return config(R"({"train_batch_size": 8, "zero_optimization": {"overlap_comm": true, "stage": )" + stage + "}}")
        .at("overlap.grad_reduce");
  };
  EXPECT_EQ(overlap("1"), Json(false));
  EXPECT_EQ(overlap("2"), Json(true));
}

TEST(Frameworks, TorchtitanWithReplicasAloneIsDdpAndMayCompileTheLossOnly) {
  const std::string start =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 2048\nlocal_batch_size = 1\n";
  const Report ddp =
      read_as("a.toml", start +
                            "[parallelism]\ndata_parallel_replicate_degree = 8\ndata_parallel_shard_degree = 1\n"
                            "[compile]\nenable = true\ncomponents = [\"loss\"]\n");
  EXPECT_EQ(ddp.at("optimizer.zero_stage"), Json(0));
  EXPECT_EQ(ddp.at("runtime"), Json("torchtitan"));
  const Report both = read_as("a.toml", start + "[compile]\nenable = true\n");
  EXPECT_EQ(both.at("optimizer.zero_stage"), Json(3));
  EXPECT_EQ(both.at("runtime"), Json("torchtitan-compiled"));
}

TEST(Frameworks, TorchtitanWithReplicasOfShardsIsRefused) {
  const auto read = [](const std::string& degrees, int gpus) {
    return refusals_of(read_as("a.toml",
                               "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 2048\n"
                               "local_batch_size = 1\n[parallelism]\n" +
                                   degrees,
                               "", {fmt::format("gpus={}", gpus)}));
  };
  EXPECT_THAT(read("data_parallel_replicate_degree = 2\n", 16),
              HasSubstr("data_parallel_replicate_degree: 2 replicas of sharded weights"));
  EXPECT_THAT(read("data_parallel_replicate_degree = 8\ndata_parallel_shard_degree = 4\n", 32),
              HasSubstr("8 replicas"));
  EXPECT_EQ(read("data_parallel_replicate_degree = 16\n", 16), "") << "each shard has one rank";
  EXPECT_THAT(
      read("data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 1\ncontext_parallel_degree = 4\n", 8),
      HasSubstr("2 replicas"))
      << "context ranks share weights";
  EXPECT_EQ(read("data_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 16\n", 16), "");
}

TEST(Frameworks, NemoRefusesFieldsOfMegatronCoreThatItDoesNotKnow) {
  const auto with = [](const std::string& field) {
    return read_as("a.yaml", kNemo + ("  mcore_customization_config: {parallel_attention: false, " + field + "}\n"));
  };
  const Report group = with("microbatch_group_size_per_vp_stage: 3");
  EXPECT_EQ(refusals_of(group), "");
  EXPECT_EQ(group.whole("batch.microbatch_group"), 3);
  EXPECT_THAT(refusals_of(with("own_schedule: 3")), HasSubstr("model.mcore_customization_config.own_schedule"));
}

constexpr const char* kTitan8B =
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 2048\nlocal_batch_size = 1\n";

TEST(Frameworks, TorchtitanTellsItsOtherSectionsByTheirKeys) {
  const auto refused = [](const std::string& section) { return refusals_of(read_as("a.toml", kTitan8B + section)); };
  EXPECT_EQ(refused("[infra]\nset_gpu_affinity = true\n"), "");
  EXPECT_EQ(refused("[fault_tolerance]\nenable = false\ngroup_size = 2\n"), "");
  EXPECT_THAT(refused("[fault_tolerance]\nenable = true\n"), HasSubstr("groups of replicas"));
  EXPECT_THAT(refused("[infra]\nset_gpu_affinity = true\nexpert_slots = 4\n"),
              HasSubstr("[infra]: an unknown section"));
}

TEST(Frameworks, TorchtitanAsksForTheRecomputedLayersOfAModelThatItsCodeKnows) {
  const std::string recompute = "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"2\"\n";
  EXPECT_EQ(read_as("a.toml", kTitan8B + recompute).whole("recompute.layers"), 16);
  const Report other =
      read_as("a.toml", "[model]\nname = \"llama3\"\nflavor = \"own\"\n[training]\nseq_len = 2048\n" + recompute);
  EXPECT_THAT(questions_of(other), HasSubstr("recompute.layers"));
}

TEST(Frameworks, TorchtitanOverlapsTensorParallelismWithTheCompilerOnly) {
  const auto report = [](const std::string& section, const std::string& tensor, const std::string& compile) {
    const std::string key = "enable_async_tensor_parallel = true\n";
    return read_as("a.toml",
                   "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 2048\n"
                   "local_batch_size = 1\n[parallelism]\ndata_parallel_shard_degree = 8\n"
                   "tensor_parallel_degree = " +
                       tensor + "\n" + (section == "parallelism" ? key : "[experimental]\n" + key) + compile);
  };
  for (const char* section : {"parallelism", "experimental"}) {
    const Report on = report(section, "8", "[compile]\nenable = true\n");
    EXPECT_EQ(on.at("overlap.tensor_parallel"), Json(true)) << section;
    EXPECT_EQ(on.at("runtime"), Json("torchtitan-compiled"));
    EXPECT_EQ(refusals_of(on), "");
  }
  EXPECT_THAT(refusals_of(report("experimental", "8", "")), HasSubstr("torchtitan takes it only with compile.enable"));
  EXPECT_THAT(refusals_of(report("experimental", "8", "[compile]\nenable = true\ncomponents = [\"loss\"]\n")),
              HasSubstr("\"model\" in compile.components"));
  EXPECT_EQ(refusals_of(report("experimental", "1", "")), "") << "one rank has nothing to overlap";
}

TEST(Frameworks, TorchtitanAsksForABatchThatIsNoNumber) {
  for (const char* value : {"\"$BATCH\"", "-1"}) {
    const Report report = read_as("a.toml", std::string("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n"
                                                        "seq_len = 2048\nlocal_batch_size = ") +
                                                value + "\n[parallelism]\ndata_parallel_shard_degree = 8\n");
    EXPECT_TRUE(report.refused.empty());
    EXPECT_FALSE(report.has("batch.micro"));
    EXPECT_FALSE(report.has("batch.global"));
    EXPECT_THAT(report.json().at("asked").dump(), HasSubstr("training.local_batch_size: expected a whole number"));
  }
}

TEST(Frameworks, ReplicasOfShardedWeightsAreRefusedOnSeveralNodes) {
  const auto read = [](const std::string& processes, const std::string& rest,
                       const std::string& cluster = "dgx-h100-ndr") {
    return read_as("acc.yaml",
                   "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\n"
                   "num_processes: " +
                       processes + "\n" + rest,
                   "", {"cluster=" + cluster});
  };
  const std::string hybrid = "fsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD\n";
  EXPECT_THAT(refusals_of(read("16", hybrid)), HasSubstr("replicas of sharded weights (HSDP)"));
  const Report alone = read("8", hybrid);
  EXPECT_EQ(refusals_of(alone), "");
  EXPECT_TRUE(alone.names("fsdp_config"));
  EXPECT_THAT(refusals_of(read("8", hybrid, "gb200-nvl72")), HasSubstr("HSDP")) << "hosts of 4 GPUs";
  EXPECT_THAT(refusals_of(read("8", "num_machines: 2\n" + hybrid)), HasSubstr("HSDP"));
  EXPECT_EQ(refusals_of(read("16", "num_machines: 1\n" + hybrid)), "") << "the file states the size of its machine";
  const auto degrees = [](const std::string& copies, const std::string& shards) {
    return "parallelism_config:\n  parallelism_config_dp_replicate_size: " + copies +
           "\n  parallelism_config_dp_shard_size: " + shards + "\n";
  };
  EXPECT_THAT(refusals_of(read("8", degrees("2", "4"))), HasSubstr("dp_replicate_size: 2 replicas of sharded weights"));
  EXPECT_EQ(refusals_of(read("8", degrees("1", "8"))), "");
  EXPECT_EQ(refusals_of(read("8", degrees("8", "1"))), "");
}

TEST(Adapters, AreMappedWithRankTargetsAndRuntime) {
  const Report axolotl =
      read_as("a.yaml",
              "base_model: meta-llama/Llama-2-7b-hf\nadapter: qlora\nload_in_4bit: true\nlora_r: 32\n"
              "lora_target_linear: true\nsequence_len: 2048\nmicro_batch_size: 1\n"
              "gradient_accumulation_steps: 4\nbf16: true\n");
  EXPECT_EQ(axolotl.at("training"),
            (Json{{"method", "qlora"}, {"rank", 32}, {"targets", Json::array({"all-linear"})}}));
  EXPECT_EQ(axolotl.at("runtime"), Json("huggingface-trainer"));
  EXPECT_EQ(refusals_of(axolotl), "");
  const Report stored =
      read_as("a.yaml",
              "base_model: unsloth/llama-3-8b-bnb-4bit\nadapter: lora\nlora_r: 8\nsequence_len: 2048\n"
              "micro_batch_size: 1\ngradient_accumulation_steps: 4\nbf16: true\n");
  EXPECT_EQ(stored.at("training.method"), Json("qlora")) << "by the name of the weights";
  const Report torchtune = read_as("b.yaml",
                                   "model: {_component_: torchtune.models.llama3.lora_llama3_8b, lora_rank: 16, "
                                   "lora_attn_modules: [q_proj, output_proj], apply_lora_to_mlp: true}\n"
                                   "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: "
                                   "2048}\nbatch_size: 2\ngradient_accumulation_steps: 8\n"
                                   "dtype: bf16\ncheckpointer: {}\n");
  EXPECT_EQ(torchtune.at("training.targets"), Json::array({"q_proj", "output_proj", "mlp"}));
  EXPECT_EQ(torchtune.at("runtime"), Json("torchtune"));
}

TEST(Adapters, OtherWaysAndProductsAreRefused) {
  const auto refused = [](const std::string& lines) {
    return refusals_of(read_as("a.yaml",
                               "base_model: meta-llama/Llama-2-7b-hf\nsequence_len: 2048\n"
                               "micro_batch_size: 1\ngradient_accumulation_steps: 4\nbf16: true\n" +
                                   lines));
  };
  EXPECT_THAT(refused("adapter: llama-adapter\n"), HasSubstr("llama-adapter"));
  EXPECT_THAT(refused("load_in_4bit: true\n"),
              HasSubstr("load_in_4bit: frozen weights of few bits without an adapter"));
  EXPECT_EQ(refused("adapter: lora\nload_in_8bit: true\n"), "");
  EXPECT_THAT(refused("adapter: lora\nlora_target_modules: [q_proj, lm_head]\n"), HasSubstr("targets lm_head"));
  EXPECT_EQ(refused("adapter: lora\nlora_modules_to_save: [embed_tokens, lm_head]\n"), "");
  EXPECT_THAT(refused("adapter: lora\nlora_modules_to_save: [embed_tokens, norm]\n"),
              HasSubstr("lora_modules_to_save norm: weights that train whole"));
  EXPECT_EQ(refused("lora_modules_to_save: [embed_tokens, norm]\n"), "") << "no adapter, and every weight trains";
  EXPECT_THAT(refused("adapter: lora\npeft_layers_to_transform: [1, 2]\n"), HasSubstr("some layers"));
  EXPECT_EQ(refused("adapter: lora\nlora_modules_to_save: []\npeft_layers_to_transform:\n"), "");
}

// axolotl, examples/llama-3/lora-1b-deduplicate-sft.yml.
TEST(Adapters, ModulesThatTrainWholeAreMapped) {
  const Report report = read_as("a.yaml",
                                "base_model: meta-llama/Llama-3.2-1B\nload_in_8bit: true\nsequence_len: 4096\n"
                                "sample_packing: true\nadapter: lora\nlora_r: 32\nlora_target_linear: true\n"
                                "lora_modules_to_save:\n  - embed_tokens\n  - lm_head\n"
                                "gradient_accumulation_steps: 4\nmicro_batch_size: 2\noptimizer: adamw_bnb_8bit\n"
                                "bf16: auto\ngradient_checkpointing: true\n");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.at("training"), (Json{{"method", "lora-int8"},
                                         {"rank", 32},
                                         {"targets", Json::array({"all-linear"})},
                                         {"whole", Json::array({"embedding", "head"})}}));
  EXPECT_TRUE(report.names("lora_modules_to_save")) << "their types are the adapters'";
}

// hiyouga/LLaMA-Factory, src/llamafactory/model/adapter.py.
TEST(Adapters, AdditionalTargetsOfLlamaFactoryTrainWhole) {
  const auto read = [](const std::string& more) {
    return read_as("a.yaml",
                   "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\ndataset: own\ncutoff_len: 2048\nbf16: true\n"
                   "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\n" +
                       more);
  };
  const Report stated = read("finetuning_type: lora\nadditional_target: embed_tokens\nresize_vocab: true\n");
  EXPECT_EQ(refusals_of(stated), "");
  EXPECT_EQ(stated.at("training.whole"), Json::array({"embedding"}));
  const Report room = read("finetuning_type: lora\nresize_vocab: true\n");
  EXPECT_EQ(room.at("training.whole"), (Json{"embedding", "head"})) << "new tokens have new rows in both";
  EXPECT_FALSE(read("finetuning_type: lora\nresize_vocab: false\n").has("training.whole"));
  const Report full = read("finetuning_type: full\nadditional_target: norm\nresize_vocab: true\n");
  EXPECT_EQ(refusals_of(full), "");
  EXPECT_FALSE(full.has("training")) << "every weight trains";
}

TEST(Axolotl, LeavesOutABatchThatItDoesNotKnow) {
  const Report report = read_as("a.yaml",
                                "base_model: meta-llama/Llama-2-7b-hf\nsequence_len: 2048\nbf16: true\n"
                                "gradient_accumulation_steps: 4\ntrain_batch_size: 16\n");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.whole("batch.micro"), 1) << "its default";
  EXPECT_TRUE(report.names("train_batch_size"));
}

TEST(Adapters, BytesOnTheHostAreMapped) {
  const Report report = read_as("a.json",
                                R"({"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4,
                                    "bf16": {"enabled": true}, "zero_optimization": {"stage": 3,
                                    "offload_optimizer": {"device": "nvme"}, "offload_param": {"device": "cpu"}}})");
  EXPECT_EQ(report.at("offload"), (Json{{"optimizer", "nvme"}, {"parameters", "cpu"}}));
  EXPECT_EQ(report.at("runtime"), Json("deepspeed"));
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(std::ranges::count(report.assumed, "runtime", &Assumed::key), 1) << "the last reason counts";
}

constexpr const char* kSmallMpt =
    "max_seq_len: 2048\nglobal_train_batch_size: 8\ndevice_train_microbatch_size: 1\nprecision: amp_bf16\n"
    "model: {name: mpt_causal_lm, d_model: 1024, n_heads: 16, n_layers: 24, max_seq_len: \"${max_seq_len}\"}\n"
    "fsdp_config: {sharding_strategy: FULL_SHARD}\n";

Report overridden(const char* file, const char* text, std::vector<std::string> words) {
  Findings findings;
  Report report = read_launch_text(text, file, {.words = std::move(words)}, findings);
  findings.throw_if_wrong();
  return report;
}

TEST(Overrides, ReplaceAndAddKeysOfAFile) {
  const Report report =
      overridden("a.yaml", kSmallMpt,
                 {"max_seq_len=4096", "++model.n_layers=12", "+fsdp_config.activation_checkpointing=true",
                  "--device_train_microbatch_size", "2", "--global_train_batch_size=64"});
  EXPECT_EQ(report.at("batch.sequence_length"), Json(4096));
  EXPECT_EQ(report.at("model.max_position_embeddings"), Json(4096)) << "references follow";
  EXPECT_EQ(report.at("model.num_layers"), Json(12));
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(report.at("batch.micro"), Json(2));
  EXPECT_EQ(report.at("batch.global"), Json(64));
}

TEST(Overrides, OtherWordsAreComplainedAbout) {
  for (const char* word : {"4096", "=4096", "max_seq_len.x=1", "model..n_layers=1", "--", "~model"}) {
    SCOPED_TRACE(word);
    EXPECT_THAT([&] { (void)overridden("a.yaml", kSmallMpt, {word}); },
                testing::ThrowsMessage<ConfigError>(HasSubstr("behind --: expected KEY=VALUE")));
  }
  EXPECT_THAT([&] { (void)overridden("a.yaml", "MODEL_ARGS: {--num-layers: 2}\n", {"num-layers=4"}); },
              testing::ThrowsMessage<ConfigError>(HasSubstr("takes no words behind --")));
}

TEST(Frameworks, AReferenceMayChooseAMemberOfATable) {
  const Report report = read_test_launch(
      "size: 3.2-3B\nsizes:\n  3.1-8B: {builder: torchtune.models.llama3_1.llama3_1_8b}\n"
      "  3.2-3B: {builder: torchtune.models.llama3_2.llama3_2_3b, tokens: 2048}\n"
      "model: {_component_: '${sizes[${size}].builder}'}\n"
      "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: '${sizes[3.2-3B].tokens}'}\n"
      "batch_size: 2\ngradient_accumulation_steps: 1\ndtype: bf16\n",
      "a.yaml");
  EXPECT_EQ(refused_lines(report), "") << "the sizes that are not chosen change nothing";
  EXPECT_EQ(report.at("model.num_hidden_layers"), 28);
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
}

TEST(Frameworks, DoraIsRefusedByName) {
  const Report report = read_test_launch(
      "base_model: meta-llama/Llama-2-7b-hf\nsequence_len: 2048\nmicro_batch_size: 1\nadapter: lora\nlora_r: 8\n"
      "lora_target_linear: true\npeft_use_dora: true\n",
      "a.yaml");
  EXPECT_NE(refused_lines(report).find("DoRA"), std::string::npos);
}

TEST(ReadLaunchFile, AConfigOfAModelIsNoLaunch) {
  Findings findings;
  const std::string config =
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2})";
  (void)read_launch_text(config, "config.json", {}, findings);
  EXPECT_EQ(lines_of(findings.complaints),
            "config.json: it is the config of a model, and states no training; name it with --set model=config.json "
            "beside a launch file, or as \"model\" in a scenario; foretoken models show prints its sizes and "
            "parameters\n");
}

}  // namespace
}  // namespace foretoken::io::launch
