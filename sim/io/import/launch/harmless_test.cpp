// Tests what names of settings say.
#include "sim/io/import/launch/harmless.h"

#include <gtest/gtest.h>

namespace foretoken::io::launch {
namespace {

TEST(Harmless, AQuantityOfSomethingHarmlessIsHarmless) {
  for (const char* name :
       {"num_train_steps", "num_workers", "train_iters", "log_every_n_steps", "n_epochs", "num_tasks",
        "profile_num_steps", "num_examples", "max_checkpoints", "max_num_instances_per_task"})
    EXPECT_TRUE(is_harmless_name(name)) << name;
}

TEST(Harmless, OtherQuantitiesAreNot) {
  for (const char* name : {"gradient_accumulation_steps", "num_layers", "max_tokens", "num_inputs", "freeze_epochs",
                           "inner_steps", "num_experts", "n_head", "max_target_length", "samples_per_step",
                           "num_checkpoints", "num_classes", "num_labels"})
    EXPECT_FALSE(is_harmless_name(name)) << name;
}

TEST(Harmless, ProfilesAndAffinityAreHarmlessWithoutACostlyWord) {
  for (const char* name : {"profile", "profile_step_start", "profile_ranks", "trainer.profile_dir", "set_gpu_affinity",
                           "numa_node", "cpu_affinity"}) {
    EXPECT_TRUE(is_harmless_name(name)) << name;
    EXPECT_FALSE(names_something_costly(name)) << name;
  }
  for (const char* name : {"precision_profile", "quantization_profile", "quant_profile", "optimizer_profile",
                           "kernel_profile", "memory_profile", "profile_optimizer", "expert_affinity_topk",
                           "attn_affinity", "numa_batch_size", "numa-experts"}) {
    EXPECT_FALSE(is_harmless_name(name)) << name;
    EXPECT_TRUE(names_something_costly(name)) << name;
  }
  EXPECT_FALSE(is_harmless_name("profile_mode"));
}

TEST(Harmless, LearningRatesAndLimitsOfGradientsAreHarmless) {
  for (const char* name : {"min_lr_ratio", "peak_lr", "grad_clip_norm", "max_grad_clip", "clip_value", "neft_alpha"}) {
    EXPECT_TRUE(is_harmless_name(name)) << name;
    EXPECT_FALSE(names_something_costly(name)) << name;
  }
  for (const char* name : {"lr_layers", "mask_ratio", "grad_norm_groups", "clip_model"})
    EXPECT_FALSE(is_harmless_name(name)) << name;
}

TEST(Harmless, WaysToChooseDataAreHarmless) {
  for (const char* name : {"instruction_strategy", "mixing_strategy", "save_strategy"}) {
    EXPECT_TRUE(is_harmless_name(name)) << name;
    EXPECT_FALSE(names_something_costly(name)) << name;
  }
  for (const char* name : {"strategy", "train_strategy", "data_parallel_strategy", "checkpointing_strategy"})
    EXPECT_TRUE(names_something_costly(name)) << name;
}

// Programs around the Trainer name the parts of a conversation that count in no loss.
TEST(Harmless, MasksOfLabelsAndNamesOfProcessesAreHarmless) {
  for (const char* name : {"mask_head", "mask_question", "mask-prompt", "mask_user_input", "masking_instruction",
                           "input_mask", "process_name", "proc-name"}) {
    EXPECT_TRUE(is_harmless_name(name)) << name;
    EXPECT_FALSE(names_something_costly(name)) << name;
  }
  for (const char* name : {"mask", "head_mask", "mask_ratio", "mask_attention_head", "mask_input_tower", "mask_loss",
                           "process_name_size", "process_group_name", "num_process"})
    EXPECT_FALSE(is_harmless_name(name)) << name;
}

TEST(Harmless, AWordThatEndsWithExpertsIsCostly) {
  EXPECT_TRUE(names_something_costly("dense2moe"));
  EXPECT_FALSE(names_something_costly("use_func"));
}

TEST(Harmless, GroupsOfDataAreHarmless) {
  for (const char* name : {"sft-group", "wandb_group", "run_group_name"}) EXPECT_TRUE(is_harmless_name(name)) << name;
  for (const char* name : {"group", "expert_group", "n_group", "group_size"})
    EXPECT_TRUE(names_something_costly(name)) << name;
}

TEST(Harmless, SharesOfDataLoggersInitialisersAndRatesAreHarmless) {
  for (const char* name : {"training.dataset_weights", "data_mix_ratio", "tasks_datasets_prefix",
                           "wandb.groups.custom_ema_adamw", "wandb_group", "loggers.wandb.tensor", "first_in_init_std",
                           "model.final_out_init_fn_type", "embed_lr", "optimizer.unembed_lr"}) {
    EXPECT_TRUE(is_harmless_name(name)) << name;
    EXPECT_FALSE(names_something_costly(name)) << name;
  }
  for (const char* name : {"weights", "mixture_weights", "data_parallel_sampling", "init_layers", "reinit_weights"})
    EXPECT_FALSE(is_harmless_name(name)) << name;
}

TEST(Harmless, InitialisersAndRatesOfLayersAreHarmlessButNotThoseOfOtherMethods) {
  for (const char* name :
       {"lora_A_init_method", "lora_B_init_method", "peft.lora_tuning.row_init_method", "lm_head_lr",
        "optimizer.matrix_lr", "embedding_init_method_std", "expert_lr", "router_init_std", "attn_out_init_scale",
        "output-layer-init-method-normal", "output-layer-init-method-normal-std"}) {
    EXPECT_TRUE(is_harmless_name(name)) << name;
    EXPECT_FALSE(names_something_costly(name)) << name;
  }
  for (const char* name :
       {"teacher_lr",        "draft_model_lr", "critic_lr",          "reward_model_lr",      "ref_lr",
        "muon_lr",           "lomo_lr",        "vision_tower_lr",    "offload_optimizer_lr", "use_fp8_lr",
        "nvfp4_init_method", "fp8_init_scale", "kv_cache_init_type", "qlora_init_method",    "lora_init_type",
        "ema_init_std",      "vae_init_fn",    "prune_init_method",  "bitnet_init_method",   "adapter_init_std",
        "quant_init_type",   "quantizer_lr"}) {
    EXPECT_FALSE(is_harmless_name(name)) << name;
    EXPECT_TRUE(names_something_costly(name)) << name;
  }
}

TEST(Harmless, LoggersHaveNoAxesOffloadingOrParts) {
  for (const char* name :
       {"neptune_sequence_parallel", "comet_moe_experts", "aim_vision_tower", "logging.offload_activations",
        "trackio_fp8", "wandb.moe", "comet_experts", "mlflow_tower", "wandb_offloaded", "logger.parallelise"}) {
    EXPECT_FALSE(is_harmless_name(name)) << name;
    EXPECT_TRUE(names_something_costly(name)) << name;
  }
  for (const char* name : {"aim.layers", "comet.batch", "neptune_group", "trackio_space_id", "logging.batch"})
    EXPECT_TRUE(is_harmless_name(name)) << name;
  EXPECT_FALSE(is_harmless_name("aim_layers")) << "aim is a word of its own";
}

TEST(Harmless, AxesOffloadingAndNarrowFormatsCountInAnyForm) {
  for (const char* name : {"eval_fp8", "fp8_save_dir", "nvfp4_num_steps", "valid_expert_parallel_size",
                           "offload_optimizer_cache_dir", "offloaded_data_weights"}) {
    EXPECT_FALSE(is_harmless_name(name)) << name;
    EXPECT_TRUE(names_something_costly(name)) << name;
  }
}

TEST(Harmless, NormsBiasesTiesAndGatesAreOfTheModel) {
  for (const char* name : {"qk_norm", "use_bias_in_qk_norm", "log_norm_bias", "tie_output", "tied_heads", "use_glu",
                           "rotary_percent", "use_rmsnorm", "weight_norm"}) {
    EXPECT_FALSE(is_harmless_name(name)) << name;
    EXPECT_TRUE(names_something_costly(name)) << name;
  }
  for (const char* name : {"max_grad_norm", "log_params_norm", "log_grad_norm", "grad_norm_type", "correct_bias",
                           "adam_bias_correction"}) {
    EXPECT_TRUE(is_harmless_name(name)) << name;
    EXPECT_FALSE(names_something_costly(name)) << name;
  }
}

TEST(Harmless, NarrowFormatsAreCostly) {
  for (const char* name : {"nvfp4_training.enabled", "use_mxfp8", "mxfp4", "fp6_log"}) {
    EXPECT_FALSE(is_harmless_name(name)) << name;
    EXPECT_TRUE(names_something_costly(name)) << name;
  }
}

TEST(Harmless, PerturbedInputsCost) {
  for (const char* const name : {"perturb_type", "adversarial_training"}) EXPECT_TRUE(names_something_costly(name));
}

TEST(Harmless, TracersAreBesideTraining) {
  for (const char* name : {"trace-subop-sync-mode", "nsight-start", "tracing_interval", "chakra_profile.start_step"})
    EXPECT_TRUE(is_harmless_name(name)) << name;
  for (const char* name : {"trace_tensor_parallel", "retrace_layers", "quant_profile.start_step"})
    EXPECT_FALSE(is_harmless_name(name)) << name;
}

TEST(Harmless, PlacesOfWeightsAreHarmlessUnlessTheyAreOfAnotherModel) {
  for (const char* name : {"model_path", "model.model_files", "init_checkpoint_dir", "pretrained_model_path"}) {
    EXPECT_TRUE(is_harmless_name(name)) << name;
    EXPECT_FALSE(names_something_costly(name)) << name;
  }
  for (const char* name : {"teacher_model_path", "draft_model_dir", "model"})
    EXPECT_TRUE(names_something_costly(name)) << name;
}

}  // namespace
}  // namespace foretoken::io::launch
