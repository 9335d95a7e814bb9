"""Every key of Axolotl's config, and what becomes of it here.

Recorded from the pydantic models of axolotl 0.19.0 (utils/schemas/config.py AxolotlInputConfig,
utils/schemas/datasets.py SFTDataset); 0.18.0 has all but fp8_config and ple_cpu_offload.
"""

from __future__ import annotations

from sftui.trainers.config import KeyUse

# What a key that is about data is not modelled for; shown only where it is switched on.
UNSUPPORTED = {
    "pretraining_dataset": "a streamed pre-training set is not shown",
    "skip_prepare_dataset": "the data is left to other code",
    "tokenizer_use_mistral_common": "mistral-common tokenizes by rules of its own",
    "tokenizer_type": "the tokenizer is opened as AutoTokenizer opens it",
    "tokenizer_use_fast": "the tokenizer is opened as AutoTokenizer opens it",
    "tokenizer_legacy": "the tokenizer is opened as AutoTokenizer opens it",
    "processor_type": "vision and audio rows are prepared with a processor",
    "rl": "preference data is no SFT data",
    "reward_model": "preference data is no SFT data",
    "process_reward_model": "stepwise rewards are no SFT data",
    "use_pose": "PoSE draws position ids at random",
    "batch_flattening": "batches are shown padded",
    "streaming": "a streamed set is filtered otherwise",
    "max_packed_sequence_len": "Axolotl refuses this key",
    "dataset_shard_num": "all rows are shown, not one shard",
    "dataset_shard_idx": "all rows are shown, not one shard",
    "val_set_size": "a random part of the rows is set aside for evaluation; all are shown",
    "plugins": "a plugin may change the data or the collator",
    "dataset_exact_deduplication": "rows that become equal are left out by Axolotl; all are shown",
    "group_by_length": "rows are shown in the order of the dataset",
    "role_boundaries": "only for rows with images",
    "pretraining_sample_concatenation": "a streamed pre-training set is not shown",
    "preprocess_iterable": "a streamed set is filtered otherwise",
    "shuffle_before_merging_datasets": "rows are shown in the order of the dataset",
    "test_datasets": "evaluation sets are not shown",
    "type_of_model": "a tokenizer class of its own is not opened",
    "is_mistral_derived_model": "with flash attention and no packing Axolotl pads such a model on the left",
    "is_qwen_derived_model": "Axolotl fills in special tokens of Qwen 1",
    "max_prompt_len": "only for preference data",
}
NO_EFFECT = {"default_system_message": "it changes no text: Axolotl's chatml template has none to replace"}

USED = frozenset(
    ["sequence_len", "excess_length_strategy", "min_sample_len", "train_on_inputs", "micro_batch_size", "sample_packing", "pad_to_sequence_len", "pad_to_multiple_of", "sample_packing_group_size", "sample_packing_bin_size", "sample_packing_sequentially", "multipack_real_batches", "curriculum_sampling", "tokenizer_config", "base_model_config", "base_model", "revision_of_model", "special_tokens", "tokens", "added_tokens_overrides", "eot_tokens", "chat_template", "chat_template_jinja", "chat_template_kwargs", "datasets", "shuffle_merged_datasets", "attn_implementation", "flash_attention", "sdp_attention", "xformers_attention", "flex_attention", "sage_attention", "eager_attention", "s2_attention"]
)
PASSED = frozenset(["accelerator_config", "activation_offloading", "adam_beta1", "adam_beta2", "adam_beta3", "adam_epsilon", "adam_epsilon2", "adapter", "auto_find_batch_size", "auto_resume_from_checkpoints", "axolotl_config_path", "batch_size", "bench_dataset", "bench_split", "bf16", "bfloat16", "bnb_config_kwargs", "center_rewards_coefficient", "chunked_cross_entropy", "chunked_cross_entropy_num_chunks", "cls_model_config", "comet_api_key", "comet_experiment_config", "comet_experiment_key", "comet_mode", "comet_online", "comet_project_name", "comet_workspace", "context_parallel_size", "cosine_constant_lr_ratio", "cosine_min_lr_ratio", "cpo_alpha", "dataloader_drop_last", "dataloader_num_workers", "dataloader_pin_memory", "dataloader_prefetch_factor", "dataset_keep_in_memory", "dataset_num_proc", "dataset_prepared_path", "dataset_processes", "ddp", "ddp_broadcast_buffers", "ddp_bucket_cap_mb", "ddp_find_unused_parameters", "ddp_timeout", "deepcompile", "deepspeed", "device", "device_map", "dion_lr", "dion_momentum", "dion_rank_fraction", "dion_rank_multiple_of", "do_bench_eval", "do_causal_lm_eval", "dp_replicate_size", "dp_shard_size", "dpo_beta", "dpo_generate_during_eval", "dpo_label_smoothing", "dpo_loss_type", "dpo_loss_weights", "dpo_norm_loss", "dpo_padding_free", "dpo_use_liger_kernel", "dpo_use_logits_to_keep", "dpo_use_weighting", "dynamic_checkpoint", "eaft_alpha", "eaft_k", "early_stopping_patience", "ebft", "embedding_lr", "embedding_lr_scale", "embeddings_skip_upcast", "eval_batch_size", "eval_causal_lm_metrics", "eval_max_new_tokens", "eval_sample_packing", "eval_sequence_len", "eval_steps", "eval_strategy", "eval_table_size", "evals_per_epoch", "evaluation_strategy", "experimental_skip_move_to_device", "experts_implementation", "fix_untrained_tokens", "flash_attn_cross_entropy", "flash_attn_d512", "flash_attn_fuse_mlp", "flash_attn_rms_norm", "flash_optimum", "flex_attn_compile_kwargs", "float16", "float32", "fp16", "fp32_norm_classes", "fp32_norms", "fp8", "fp8_config", "fp8_enable_fsdp_float8_all_gather", "freeze_mm_modules", "fsdp", "fsdp_config", "fsdp_final_state_dict_type", "fsdp_version", "fused_attn_kernel", "gc_collect_steps", "gc_steps", "gemma4_hybrid_attn_impl", "generate_samples", "generation_do_sample", "generation_max_new_tokens", "generation_prompt_ratio", "generation_temperature", "generation_top_k", "generation_top_p", "gptq", "gpu_memory_limit", "gradient_accumulation_steps", "gradient_checkpointing", "gradient_checkpointing_kwargs", "gradio_max_new_tokens", "gradio_server_name", "gradio_server_port", "gradio_share", "gradio_temperature", "gradio_title", "greater_is_better", "heads_k_stride", "hf_mlflow_log_artifacts", "hf_use_auth_token", "hub_model_id", "hub_revision", "hub_strategy", "image_resize_algorithm", "image_size", "include_tkps", "include_tokens_per_second", "is_falcon_derived_model", "is_llama_derived_model", "is_preprocess", "jagged_restart_anneal_steps", "jagged_restart_steps", "jagged_restart_warmup_steps", "kto_desirable_weight", "kto_undesirable_weight", "large_head_attention", "layer_offloading", "learning_rate", "lisa_layers_attribute", "lisa_n_layers", "lisa_step_interval", "llama4_linearized_experts", "load_best_model_at_end", "load_in_4bit", "load_in_8bit", "local_rank", "logging_steps", "lora_alpha", "lora_alpha_pattern", "lora_dropout", "lora_embedding_kernel", "lora_fan_in_fan_out", "lora_mlp_kernel", "lora_model_dir", "lora_modules_to_save", "lora_o_kernel", "lora_on_cpu", "lora_qkv_kernel", "lora_r", "lora_rank_pattern", "lora_target_linear", "lora_target_modules", "lora_target_parameters", "loraplus_lr_embedding", "loraplus_lr_ratio", "loss_watchdog_patience", "loss_watchdog_threshold", "low_cpu_mem_usage", "lr_div_factor", "lr_groups", "lr_quadratic_warmup", "lr_scheduler", "lr_scheduler_kwargs", "max_grad_norm", "max_memory", "max_steps", "mean_resizing_embeddings", "merge_lora", "merge_method", "metric_for_best_model", "mlflow_experiment_name", "mlflow_run_name", "mlflow_tracking_uri", "model_quantization_config", "model_quantization_config_kwargs", "neftune_noise_alpha", "noisy_embedding_alpha", "num_dataset_shards_to_save", "num_epochs", "num_generation_samples", "num_labels", "optim_args", "optim_target_modules", "optimizer", "orpo_alpha", "otel_metrics_host", "otel_metrics_port", "output_dir", "overrides_of_model_config", "overrides_of_model_kwargs", "peft", "peft_autocast_adapter_dtype", "peft_ensure_weight_tying", "peft_init_lora_weights", "peft_layer_replication", "peft_layers_pattern", "peft_layers_to_transform", "peft_trainable_token_indices", "peft_use_dora", "peft_use_rslora", "ple_cpu_offload", "pose_max_context_len", "pose_num_chunks", "pose_split_on_token_ids", "precompute_ref_log_probs", "pretrain_multipack_attn", "pretrain_multipack_buffer_size", "processor_kwargs", "profiler_steps", "profiler_steps_start", "push_dataset_to_hub", "qat", "qgalore_cos_threshold", "qgalore_gamma_proj", "qgalore_proj_bits", "qgalore_proj_group_size", "qgalore_proj_quant", "qgalore_proj_type", "qgalore_queue_size", "qgalore_rank", "qgalore_scale", "qgalore_update_proj_gap", "qlora_sharded_model_loading", "quantization", "quantize_moe_experts", "ray_num_workers", "ray_run_name", "reinit_weights", "relora", "relora_cpu_offload", "relora_prune_method", "relora_prune_ratio", "remove_unused_columns", "resize_token_embeddings_to_32x", "resources_per_worker", "resume_from_checkpoint", "ring_attn_func", "rl_beta", "rope_scaling", "rpo_alpha", "sample_packing_eff_est", "sample_packing_mp_start_method", "save_first_step", "save_only_model", "save_safetensors", "save_steps", "save_strategy", "save_total_limit", "saves_per_epoch", "scaling_softmax", "scaling_softmax_bias", "scaling_softmax_factor", "sdpa_varlen", "seed", "selective_checkpointing", "sequence_parallel_degree", "shrink_embeddings", "simpo_gamma", "streaming_multipack_buffer_size", "strict", "tensor_parallel_size", "tf32", "tiled_mlp", "tiled_mlp_num_shards", "tiled_mlp_use_original_mlp", "tokenizer_save_jinja_files", "torch_compile", "torch_compile_backend", "torch_compile_mode", "torch_compile_options", "torch_empty_cache_steps", "torchdistx_path", "total_num_tokens", "total_supervised_tokens", "trackio_project_name", "trackio_run_name", "trackio_space_id", "trainer_cls", "trl", "trust_remote_code", "unfrozen_parameters", "use_comet", "use_eaft", "use_kernels", "use_mlflow", "use_onebitllms", "use_otel_metrics", "use_ray", "use_tensorboard", "use_trackio", "use_wandb", "vllm", "wandb_entity", "wandb_log_model", "wandb_mode", "wandb_name", "wandb_project", "wandb_run_id", "wandb_watch", "warmup_ratio", "warmup_steps", "weight_decay", "world_size"])

# One entry of `datasets:`.
DATASET_USED = frozenset(
    ["path", "name", "split", "data_files", "ds_type", "revision", "type", "chat_template", "chat_template_jinja", "field", "field_messages", "field_tools", "field_thinking", "template_thinking_key", "message_field_role", "message_field_content", "message_property_mappings", "message_field_training", "message_field_training_detail", "split_thinking", "roles_to_train", "train_on_eos", "train_on_eot", "roles", "drop_system_message"]
)
DATASET_UNSUPPORTED = {
    "shards": "all rows are shown, not one shard of the shuffled set",
    "shards_idx": "all rows are shown, not one shard of the shuffled set",
    "preprocess_shards": "the set is read in one go; the order differs",
    "input_transform": "not modelled",
    "input_format": "not modelled",
    "conversation": "an old key: the prompt style of alpaca_chat",
    "field_human": "an old key without effect here",
    "field_model": "an old key without effect here",
    "logprobs_field": "only for distillation",
    "temperature": "only for distillation",
}
DATASET_PASSED = frozenset(("trust_remote_code",))


def use_of(key: str, value: object) -> tuple[KeyUse, str]:
    """What becomes of a top-level key, and a word on it."""
    if key in USED:
        return KeyUse.USED, ""
    if key in UNSUPPORTED:
        return (KeyUse.UNSUPPORTED, UNSUPPORTED[key]) if value not in (None, False, 0, 0.0, [], {}) else (KeyUse.PASSED, "")
    if key in NO_EFFECT:
        return KeyUse.PASSED, NO_EFFECT[key]
    if key in PASSED:
        return KeyUse.PASSED, ""
    return KeyUse.UNKNOWN, "Axolotl does not know this key and passes over it"


def use_in_dataset(key: str, value: object) -> tuple[KeyUse, str]:
    """What becomes of a key of a dataset entry."""
    if key in DATASET_USED:
        return KeyUse.USED, ""
    if key in DATASET_UNSUPPORTED:
        return (KeyUse.UNSUPPORTED, DATASET_UNSUPPORTED[key]) if value not in (None, False) else (KeyUse.PASSED, "")
    if key in DATASET_PASSED:
        return KeyUse.PASSED, ""
    return KeyUse.UNKNOWN, "Axolotl's datasets have no such key"
