"""Models of transformers with small configurations and random weights."""
import transformers

SMALL = dict(
    hidden_size=32, d_model=32, n_embd=32, dim=32, emb_dim=32, embed_dim=32, embedding_size=16, embedding_dim=16, word_embed_proj_dim=32, num_hidden_layers=2, num_layers=2, n_layer=2, n_layers=2, encoder_layers=2, decoder_layers=2,
    num_encoder_layers=2, num_decoder_layers=2, num_attention_heads=4, n_head=4, n_heads=4, num_heads=4, encoder_attention_heads=4, decoder_attention_heads=4,
    num_encoder_attention_heads=4, num_decoder_attention_heads=4, num_key_value_heads=2, head_dim=8, d_head=8, d_kv=8, intermediate_size=48, ffn_dim=48, encoder_ffn_dim=48, decoder_ffn_dim=48, d_ff=48, n_inner=48, d_inner=48, hidden_dim=48, ffn_hidden_size=48,
    vocab_size=96, max_position_embeddings=64, n_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, num_experts=4, num_local_experts=4, n_routed_experts=4, num_experts_per_tok=2,
    moe_intermediate_size=24, shared_expert_intermediate_size=24, state_size=8, conv_kernel=4, time_step_rank=4, projection_dim=24)
TEXT_ONLY = ("vocab_size", "pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")


def small(kind, **words):
    """A configuration of class `kind`, every size that SMALL knows made small; `words` win. Those of its parts are small, too."""
    default = kind()
    known = {k: v for k, v in SMALL.items() if hasattr(default, k) and not isinstance(getattr(default, k), (list, dict)) and not (k in TEXT_ONLY and getattr(default, k) is None)}
    own = {k for k in vars(default)} | set(default.attribute_map.values())
    known = {k: v for k, v in known.items() if k in own and k not in default.attribute_map}
    known = {k: v for k, v in known.items() if not isinstance(vars(default).get(k), bool) or isinstance(v, bool)}
    for part, value in vars(default).items():
        if isinstance(value, transformers.PreTrainedConfig) and part not in words:
            words[part] = small(type(value))
        elif isinstance(words.get(part), dict) and "model_type" in words[part]:
            inner = dict(words[part])
            words[part] = small(transformers.CONFIG_MAPPING[inner.pop("model_type")], **inner)
        elif isinstance(value, transformers.PreTrainedConfig) and isinstance(words[part], dict):
            words[part] = small(type(value), **words[part])
    known.update(words)
    return kind(**known)


def model(stem, head="Model", attention="eager", **words):
    """transformers' `stem` + `head` ("Bert", "ForMaskedLM") for small(stem + "Config")."""
    config = small(getattr(transformers, words.pop("config", stem + "Config")), **words)
    config._attn_implementation = attention
    config._experts_implementation = "batched_mm"  # neither exporter writes the default
    config.return_dict = True
    if hasattr(config, "use_cache"):
        config.use_cache = False
    return getattr(transformers, stem + head)(config)
