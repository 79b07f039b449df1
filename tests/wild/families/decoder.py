"""Decoders of text on a whole prompt, mixtures of experts among them."""
from families.config import model
from families.text import OPEN, tokens
from network import Network

MLA = dict(kv_lora_rank=16, q_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8, num_attention_heads=4, num_key_value_heads=4, first_k_dense_replace=1, n_group=1, topk_group=1, n_routed_experts=4)
LM = "ForCausalLM"
ROWS = {
    "gpt2": ("GPT2", "LMHeadModel", {}), "gpt_neo": ("GPTNeo", LM, dict(attention_types=[[["global", "local"], 1]], window_size=4, num_layers=2)), "gpt_neox": ("GPTNeoX", LM, {}), "gptj": ("GPTJ", LM, dict(rotary_dim=4)), "gpt_bigcode": ("GPTBigCode", LM, {}),
    "opt": ("OPT", LM, {}), "bloom": ("Bloom", LM, {}), "llama": ("Llama", LM, {}), "mistral": ("Mistral", LM, dict(sliding_window=5)), "mixtral": ("Mixtral", LM, {}), "qwen2": ("Qwen2", LM, {}), "qwen2_moe": ("Qwen2Moe", LM, {}),
    "qwen3": ("Qwen3", LM, {}), "qwen3_moe": ("Qwen3Moe", LM, {}), "qwen3_next": ("Qwen3Next", LM, dict(linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=8, linear_value_head_dim=8, layer_types=["linear_attention", "full_attention"])), "gemma": ("Gemma", LM, {}), "gemma2": ("Gemma2", LM, dict(sliding_window=5)), "gemma3": ("Gemma3", LM, dict(config="Gemma3TextConfig")), "phi": ("Phi", LM, {}), "phi3": ("Phi3", LM, {}),
    "falcon": ("Falcon", LM, {}), "falcon_alibi": ("Falcon", LM, dict(alibi=True, new_decoder_architecture=False)), "mpt": ("Mpt", LM, dict(max_seq_len=64)), "olmo": ("Olmo", LM, {}), "olmo2": ("Olmo2", LM, {}), "olmoe": ("Olmoe", LM, {}), "stablelm": ("StableLm", LM, {}), "starcoder2": ("Starcoder2", LM, {}), "cohere": ("Cohere", LM, {}),
    "cohere2": ("Cohere2", LM, dict(sliding_window=5)), "granite": ("Granite", LM, {}), "granitemoe": ("GraniteMoe", LM, {}), "codegen": ("CodeGen", LM, dict(rotary_dim=4)), "ctrl": ("CTRL", "LMHeadModel", dict(dff=48)), "biogpt": ("BioGpt", LM, {}), "xglm": ("XGLM", LM, dict(attention_heads=4)),
    "persimmon": ("Persimmon", LM, {}), "glm": ("Glm", LM, {}), "glm4": ("Glm4", LM, {}), "helium": ("Helium", LM, {}), "nemotron": ("Nemotron", LM, {}), "smollm3": ("SmolLM3", LM, {}), "exaone4": ("Exaone4", LM, {}), "ernie4_5": ("Ernie4_5", LM, {}), "deepseek_v2": ("DeepseekV2", LM, MLA), "deepseek_v3": ("DeepseekV3", LM, MLA),
    "gpt_oss": ("GptOss", LM, {}), "seed_oss": ("SeedOss", LM, {}), "arcee": ("Arcee", LM, {}), "apertus": ("Apertus", LM, {}), "diffllama": ("DiffLlama", LM, {}), "doge": ("Doge", LM, {}), "bitnet": ("BitNet", LM, {}), "openai_gpt": ("OpenAIGPT", "LMHeadModel", {}), "imagegpt": ("ImageGPT", "ForCausalImageModeling", {}),
    "minimax": ("MiniMax", LM, dict(block_size=4)), "jetmoe": ("JetMoe", LM, dict(kv_channels=8)), "llama_sdpa": ("Llama", LM, dict(attention="sdpa")), "gpt2_sdpa": ("GPT2", "LMHeadModel", dict(attention="sdpa")), "llama_yarn": ("Llama", LM, dict(rope_parameters=dict(rope_type="yarn", factor=4.0, rope_theta=10000.0, original_max_position_embeddings=16))),
}


def networks():
    for name, (stem, head, words) in ROWS.items():
        yield Network("hf_" + name, lambda stem=stem, head=head, words=words: (model(stem, head, **dict(words)), tokens()),
                      dynamic={} if name in ("minimax", "qwen3_next") else OPEN)
