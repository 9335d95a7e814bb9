"""The keys of LLaMA-Factory's YAML by what they are to sftui.

Recorded from the dataclasses that its train parser takes (llamafactory 0.9.5, hparams/parser.py
`_TRAIN_ARGS`, with transformers 5.6): every key that is in none of these sets is unknown to it.
"""

from __future__ import annotations

PLAIN = {
    "cutoff_len": "length.max",
    "preprocessing_batch_size": "pack.group",
    "default_system": "render.inject_system",
    "model_name_or_path": "tokenizer.name",
    "model_revision": "tokenizer.revision",
    "per_device_train_batch_size": "batch.size",
}
"""Keys that are one knob each."""

NUMBERS = ("cutoff_len", "preprocessing_batch_size", "per_device_train_batch_size")
"""Those of them that are numbers."""

OPTIONS = ("tool_format", "max_samples", "ignore_pad_token_for_loss", "add_tokens", "add_special_tokens")
"""Keys that only LLaMA-Factory has; they stand in mask.options under their own names."""

KWARGS = ("enable_thinking", "preserve_thinking")
"""Keys that stand in render.kwargs."""

TOGETHER = frozenset(
    {
        "template",
        "dataset",
        "dataset_dir",
        "train_on_prompt",
        "mask_history",
        "packing",
        "neat_packing",
        "stage",
        "do_train",
    }
)
"""Keys that are read together with others."""

UNSUPPORTED = {
    "val_size": "rows are split off at random: sftui shows all rows",
    "tokenized_path": "where the folder exists, LLaMA-Factory ignores every other data key",
    "streaming": "rows are shuffled in a buffer: sftui shows file order",
    "mix_strategy": "datasets are shown one by one",
    "interleave_probs": "datasets are shown one by one",
    "split_special_tokens": "sftui keeps special tokens whole",
    "new_special_tokens_config": "special tokens added to the tokenizer",
    "use_fast_tokenizer": "sftui loads the fast tokenizer",
    "predict_with_generate": "evaluation data are then prepared without labels",
}
"""Keys about data that sftui does not model, and why, where they are set to something."""

_PASSED = (
    # model, adapters, inference and export
    "adapter_name_or_path adapter_folder cache_dir resize_vocab init_special_tokens low_cpu_mem_usage rope_scaling"
    " flash_attn shift_attn mixture_of_depths use_unsloth use_unsloth_gc enable_liger_kernel moe_aux_loss_coef"
    " disable_gradient_checkpointing use_reentrant_gc upcast_layernorm upcast_lmhead_output train_from_scratch"
    " infer_backend offload_folder use_kv_cache use_v1_kernels infer_dtype hf_hub_token ms_hub_token om_hub_token"
    " print_param_status trust_remote_code quantization_method quantization_bit quantization_type double_quantization"
    " quantization_device_map image_max_pixels image_min_pixels image_do_pan_and_scan crop_to_patches video_max_pixels"
    " video_min_pixels video_fps video_maxlen use_audio_in_video audio_sampling_rate export_dir export_size"
    " export_device export_quantization_bit export_quantization_dataset export_quantization_nsamples"
    " export_quantization_maxlen export_legacy_format export_hub_model_id use_kt kt_weight_path"
    " kt_expert_checkpoint_path kt_use_lora_experts kt_lora_expert_num kt_lora_expert_intermediate_size vllm_maxlen"
    " vllm_gpu_util vllm_enforce_eager vllm_max_lora_rank vllm_config sglang_maxlen sglang_mem_fraction sglang_tp_size"
    " sglang_config sglang_lora_backend "
    # data, but not which ids and labels
    "eval_dataset media_dir buffer_size overwrite_cache preprocessing_num_workers eval_num_beams eval_on_each_dataset"
    " data_shared_file_system "
    # training
    "output_dir num_train_epochs max_steps learning_rate lr_scheduler_type lr_scheduler_kwargs warmup_steps optim"
    " optim_args weight_decay adam_beta1 adam_beta2 adam_epsilon optim_target_modules gradient_accumulation_steps"
    " average_tokens_across_devices max_grad_norm label_smoothing_factor bf16 fp16 bf16_full_eval fp16_full_eval tf32"
    " gradient_checkpointing gradient_checkpointing_kwargs torch_compile torch_compile_backend torch_compile_mode"
    " use_liger_kernel liger_kernel_config use_cache neftune_noise_alpha torch_empty_cache_steps auto_find_batch_size"
    " logging_strategy logging_steps logging_first_step log_on_each_node logging_nan_inf_filter"
    " include_num_input_tokens_seen log_level log_level_replica disable_tqdm report_to run_name project"
    " trackio_space_id trackio_bucket_id trackio_static_space_id eval_strategy eval_steps eval_delay"
    " per_device_eval_batch_size prediction_loss_only eval_on_start eval_do_concat_batches eval_use_gather_object"
    " eval_accumulation_steps include_for_metrics batch_eval_metrics save_only_model save_strategy save_steps"
    " save_on_each_node save_total_limit enable_jit_checkpoint push_to_hub hub_token hub_private_repo hub_model_id"
    " hub_strategy hub_always_push hub_revision load_best_model_at_end metric_for_best_model greater_is_better"
    " ignore_data_skip restore_callback_states_from_checkpoint full_determinism seed data_seed use_cpu"
    " accelerator_config parallelism_config dataloader_drop_last dataloader_num_workers dataloader_pin_memory"
    " dataloader_persistent_workers dataloader_prefetch_factor remove_unused_columns label_names"
    " train_sampling_strategy length_column_name ddp_find_unused_parameters ddp_bucket_cap_mb ddp_broadcast_buffers"
    " ddp_static_graph ddp_backend ddp_timeout fsdp fsdp_config deepspeed debug skip_memory_metrics do_eval do_predict"
    " resume_from_checkpoint warmup_ratio logging_dir local_rank sortish_sampler generation_max_length"
    " generation_num_beams generation_config ray_num_workers ray_init_kwargs master_addr master_port fp8 fp8_backend"
    " fp8_enable_fsdp_float8_all_gather enable_torch_profiler profiler_output_dir profiler_wait_steps"
    " profiler_warmup_steps profiler_active_steps profiler_repeat profiler_record_shapes profiler_profile_memory"
    " profiler_with_stack profile_modules overwrite_output_dir "
    # fine-tuning method and generation
    "freeze_trainable_layers freeze_trainable_modules freeze_extra_modules additional_target module_dropout oft_rank"
    " oft_block_size oft_target create_new_adapter lora_alpha lora_dropout lora_rank lora_target loraplus_lr_ratio"
    " loraplus_lr_embedding use_rslora use_dora pissa_init pissa_iter pissa_convert pref_beta pref_ftx pref_bco_weight"
    " pref_loss dpo_label_smoothing kto_chosen_weight kto_rejected_weight simpo_gamma ppo_buffer_size ppo_epochs"
    " ppo_score_norm ppo_target ppo_whiten_rewards ref_model ref_model_adapters ref_model_quantization_bit reward_model"
    " reward_model_adapters reward_model_quantization_bit reward_model_type ld_alpha use_galore galore_target"
    " galore_rank galore_update_interval galore_scale galore_proj_type galore_layerwise use_apollo apollo_target"
    " apollo_rank apollo_update_interval apollo_scale apollo_proj apollo_proj_type apollo_scale_type apollo_layerwise"
    " apollo_scale_front use_badam badam_mode badam_start_block badam_switch_mode badam_switch_interval"
    " badam_update_ratio badam_mask_mode badam_verbose use_swanlab swanlab_project swanlab_workspace swanlab_run_name"
    " swanlab_mode swanlab_api_key swanlab_logdir swanlab_lark_webhook_url swanlab_lark_secret pure_bf16"
    " finetuning_type use_llama_pro use_adam_mini use_mca use_hyper_parallel hyper_parallel_args use_muon use_dft_loss"
    " use_asft_loss asft_alpha use_eaft_loss eaft_alpha freeze_vision_tower freeze_multi_modal_projector"
    " freeze_language_model compute_accuracy disable_shuffling early_stopping_steps plot_loss"
    " include_effective_tokens_per_second do_sample temperature top_p top_k num_beams max_length max_new_tokens"
    " repetition_penalty length_penalty skip_special_tokens"
)
PASSED = frozenset(_PASSED.split())
"""Keys that have nothing to do with ids and labels."""
