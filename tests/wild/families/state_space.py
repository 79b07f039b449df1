"""State-space and other recurrent decoders of text on a whole prompt, those that mix in attention among them."""
from families.config import model
from families.text import OPEN, tokens
from network import Network

MAMBA = dict(state_size=8, conv_kernel=4, expand=2, time_step_rank=4)
MAMBA2 = dict(num_heads=8, head_dim=8, n_groups=2, state_size=8, chunk_size=4, expand=2)
LM = "ForCausalLM"
ROWS = {
    "mamba": ("Mamba", LM, MAMBA), "mamba2": ("Mamba2", LM, MAMBA2), "falcon_mamba": ("FalconMamba", LM, MAMBA), "jamba": ("Jamba", LM, dict(mamba_d_state=8, mamba_dt_rank=4, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, use_mamba_kernels=False)),
    "bamba": ("Bamba", LM, dict(mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=1, mamba_d_state=8, mamba_chunk_size=4, attn_layer_indices=[1])), "recurrent_gemma": ("RecurrentGemma", LM, dict(lru_width=32, attention_window_size=8)), "rwkv": ("Rwkv", LM, dict(context_length=32, attention_hidden_size=32)),
    "falcon_h1": ("FalconH1", LM, dict(mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=1, mamba_d_state=8, mamba_chunk_size=4, mamba_d_ssm=64)), "lfm2": ("Lfm2", LM, dict(layer_types=["conv", "full_attention"])), "zamba2": ("Zamba2", LM, dict(num_hidden_layers=2, layers_block_type=["mamba", "hybrid"], layer_types=["mamba", "hybrid"], mamba_ngroups=1, mamba_d_state=8, n_mamba_heads=8, mamba_headdim=8, chunk_size=4, num_mem_blocks=1, adapter_rank=4)), "granitemoehybrid": ("GraniteMoeHybrid", LM, dict(mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=1, mamba_d_state=8, mamba_chunk_size=4, layer_types=["mamba", "attention"], layers_block_type=["mamba", "attention"])),
}


def networks():
    for name, (stem, head, words) in ROWS.items():
        yield Network("hf_" + name, lambda stem=stem, head=head, words=words: (model(stem, head, **dict(words)), tokens()),
                      dynamic={} if name in ("mamba2", "bamba", "falcon_h1", "granitemoehybrid", "rwkv", "zamba2") else OPEN)
