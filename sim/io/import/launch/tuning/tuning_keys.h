// The keys of tuning recipes that change neither the time nor the memory of a step, parted by spaces.
#pragma once

#include <string_view>

namespace foretoken::io::launch::tuning {

/// Files, logs, checkpoints, evaluation, learning rates, losses, seeds, tokens and templates. Source: the recipes of
/// axolotl, torchtune, LLaMA-Factory, TRL and the alignment handbook.
inline constexpr std::string_view kNoEffectKeys =
    "output_dir resume_from_checkpoint auto_resume* learning_rate logging_* log_* warmup_* seed metric_logger* "
    "dataset* "
    "datasets* tokenizer* tokenized_path checkpointer* ref_checkpointer.* optimizer.* epochs shuffle* max_steps* "
    "device "
    "device_map profiler* clip_grad_norm max_grad_norm num_epochs saves_per_epoch evals_per_epoch val_set_size wandb_* "
    "use_wandb weight_decay lr_scheduler* lr_* cosine_* lora_alpha lora_dropout lora_bias lora_fan_in_fan_out "
    "lora_model_dir "
    "lora_on_cpu lora_modules* model.* model_type model_revision model_config* model_quantization* model_name run_name "
    "trust_remote_code run_val* batch_size_val num_train_epochs save_* report_to overwrite_* special_tokens* do_* "
    "preprocessing_* template max_samples plot_loss ddp_* dataloader_* chat_template* eval_* evaluation_* push_* hub_* "
    "hf_* trackio_* comet_* mlflow_* ray_* use_ray tokens* train_on_inputs pretraining_dataset early_stopping_* strict "
    "loss_watchdog_* test_* debug adam_* per_device_eval_batch_size remove_unused_columns collate_fn max_prompt_length "
    "max_completion_length average_tokens* include_tokens* max_packed_sequence_len min_sample_len response_template "
    "data_processing.* label_smoothing* num_labels torchdistx_path resize_token_embeddings* shrink_embeddings "
    "experimental_* experts_implementation is_* sequence_len_* system_prompt default_system_message skip_* unk_token "
    "pad_token bos_token eos_token eot_tokens noisy_embedding_alpha neftune_noise_alpha curriculum_sampling otel_* "
    "use_otel_metrics use_tensorboard peft_use_* peft_init* peft.loftq* pissa_* loraplus_* use_dora use_rslora loftq* "
    "scenarios framework_configs image_* video_* export_* use_dft_loss use_eaft_loss eaft_* asft_* total_num_tokens "
    "dataset_mixer* dataset_mixture.* assistant_only_loss gradient_checkpointing_kwargs.* use_reentrant* "
    "fsdp_config.* fsdp_transformer_layer_cls_to_wrap fsdp_final_state_dict_type fsdp.* low_cpu* reinit_weights "
    "group_by_length ignore_data_skip full_determinism data_seed disable_tqdm use_cpu no_cuda local_rank use_fast* "
    "use_auth_token add_special_tokens add_eos_token padding_side pretrained* type_of_model badam_* mask_history "
    "upsampled_* cache_* streaming* packed compile shift_* rope_scaling* flash_attn_2 enable_thinking use_swanlab "
    "swanlab_* freeze_* additional_* custom_* bf16_full_eval fp16_full_eval tf32 include_* predict_* generation_* "
    "num_beams attention_dropout llama4_* trl_* beta gradient_clipping num_processes";

}  // namespace foretoken::io::launch::tuning
