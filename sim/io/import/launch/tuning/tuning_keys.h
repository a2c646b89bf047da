// The keys of tuning recipes that change neither the time nor the memory of a step, parted by spaces.
#pragma once

#include <string_view>

namespace foretoken::io::launch::tuning {

/// Files, logs, checkpoints, evaluation, learning rates, losses, seeds, tokens and templates. Source: the recipes of
/// axolotl, torchtune, LLaMA-Factory, TRL and the alignment handbook.
inline constexpr std::string_view kNoEffectKeys =
    "accelerator_config accelerator_config.* adam_* adapter_folder add_eos_token add_special_tokens add_tokens "
    "added_tokens_overrides additional_* asft_* assistant_only_loss attention_dropout auto_resume* average_tokens* "
    "axolotl_config_path badam_* base_model_config base_model_ignore_patterns batch_eval_metrics batch_size_val "
    "bench_dataset bench_split beta bf16_full_eval bos_token buffer_size cache_* callbacks.* "
    "center_rewards_coefficient chat_template* checkpointer* clip_grad_norm collate_fn comet_api_key "
    "comet_experiment_config comet_experiment_key comet_mode comet_online comet_project_name comet_workspace compile "
    "compute_accuracy config_name cosine_* create_new_adapter curriculum_sampling custom_* data_dir data_output_path "
    "data_path data_processing.* data_seed data_shared_file_system data_split dataloader_* dataset* dataset_mixer* "
    "dataset_mixture.* datasets* ddp_* debug default_system default_system_message device device_map "
    "disable_shuffling disable_tqdm do_* eaft_* early_stopping_* embedding_lr embedding_lr_scale "
    "embeddings_skip_upcast enable_tensorboard enable_thinking eos_token eot_tokens epochs eval_* eval_dataset "
    "eval_dir evals_per_epoch evaluation_* experimental_* experts_implementation export_* fix_untrained_tokens "
    "flash_attn_2 fp16_backend fp16_full_eval fp16_opt_level framework_configs freeze_extra_modules "
    "freeze_trainable_* fsdp.* fsdp_final_state_dict_type fsdp_transformer_layer_cls_to_wrap "
    "full_determinism gc_steps generation_* gradient_checkpointing_kwargs gradient_checkpointing_kwargs.* "
    "gradient_checkpointing_reentrant gradient_clipping greater_is_better group_by_length half_precision_backend "
    "hf_* hub_* ignore_data_skip ignore_pad_token_for_loss image_* include_* include_for_metrics include_tokens* "
    "infer_backend interleave_probs is_* jit_mode_eval keep_last* load_data_from_disk load_from_disk load_from_local "
    "label_names label_smoothing* lazy_preprocess learning_rate length_column_name llama4_* load_best_model_at_end "
    "local_files_only local_rank loftq* log_* logging_dir logging_first_step logging_nan_inf_filter logging_steps "
    "logging_strategy lora_alpha lora_bias checkpoint_dir checkpointing_steps init_lora_weights lora_dtype "
    "ignore_args_error max_new_tokens max_ckpt_num max_src_len max_tgt_len show_loss_step max_norm num_train_epoch "
    "temperature top_k top_p lora_dropout* lora_bias_trainable lora_lr_ratio use_deepspeed enable_deepspeed "
    "lora_fan_in_fan_out lora_model_dir lora_modules* lora_on_cpu loraplus_* loss_watchdog_* low_cpu* lr_* "
    "lr_scheduler* mask_history max_completion_length max_eval_* max_grad_norm max_memory max_memory_MB "
    "max_memory_mb max_packed_sequence_len max_packed_no_ctx_sequence_len max_prompt_len max_prompt_length "
    "max_samples max_epochs max_step max_steps* max_train_* media_dir metric_for_best_model metric_logger* "
    "min_sample_len mix_strategy model_cache mlflow_experiment_name mlflow_run_name mlflow_tracking_uri model.* "
    "model_config* "
    "model_name model_prompt model_tag model_version model_quantization* model_revision model_type moe_aux_loss_coef "
    "mp_parameters ms_hub_token neftune_noise_alpha new_special_tokens no_cuda noisy_embedding_alpha num_beams "
    "num_epochs num_labels num_processes num_train_epochs num_warmup_steps offload_folder om_hub_token optim_args "
    "optim_args.amsgrad optim_args.beta* optim_args.eps* optim_args.lr optim_args.weight_decay optimizer.* otel_* "
    "output_dir overwrite_* packed pad_token padding_side past_index peft.loftq* peft_autocast_adapter_dtype "
    "peft_init* peft_use_* per_device_eval_batch_size pissa_* plot_loss predict_* prediction_loss_only preprocess_* "
    "preprocessing_* pretrained* prompt_fields* prompt_style pretraining_dataset print_loss print_param_status "
    "profiler* project push_* ray_* ray_scope ref_checkpointer.* reinit_weights remove_long_seq remove_unused_columns "
    "report_to "
    "resize_token_embeddings* resize_vocab resources_per_worker response_template "
    "restore_callback_states_from_checkpoint resume_* revision_of_model roles_to_train rope_base rope_scaling* "
    "rope_theta run_name run_val* save_* saves_per_epoch scenarios random_state seed sequence_len_* shift_* "
    "shrink_embeddings shuffle* skip_* special_tokens* split_special_tokens streaming* strict swanlab_api_key "
    "swanlab_lark_* swanlab_logdir swanlab_mode swanlab_project swanlab_run_name swanlab_workspace system_prompt "
    "template tensorboard_path test_* text_column* tf32 tokenized_path tokenizer* tokens* tool_format "
    "torch_empty_cache_steps torchdistx_path total_num_tokens tpu_* trackio_project_name trackio_run_name "
    "trackio_space_id train_dir train_file* gpu_memory_limit sample_size sample_num num_samples n_samples "
    "train_on_eos train_on_inputs train_on_prompt trl_* trust_remote_code type_of_model unk_token upsampled_* "
    "no_skip_memory_metrics no_quantization use_auth_token use_cache use_comet use_cpu use_dft_loss use_eaft_loss "
    "use_fast* "
    "use_legacy_prediction_loop "
    "use_mlflow use_otel_metrics use_ray use_reentrant* use_rslora use_slow_tokenizer use_swanlab use_tensorboard "
    "use_trackio use_wandb val_set_size val_size validation_* video_* wandb_entity wandb_log_model wandb_mode "
    "wandb_name wandb_project wandb_run_* wandb_watch warmup_* weight_decay xpu_backend";

/// DoRA beside adapters takes norms of weights in every pass: arXiv 2402.09353.
inline constexpr const char* kDora = "DoRA, which scales the columns of each weight";

/// Models of images, video or sound beside text.
inline constexpr const char* kMultimodal = "a multimodal model";

}  // namespace foretoken::io::launch::tuning
