"""One step of a decoder: a token, the keys and values so far; out come the logits and the longer cache."""
import torch
import transformers
from families.config import model
from network import Network
from torch import nn

ROWS = {"gpt2": ("GPT2", "LMHeadModel", 4), "llama": ("Llama", "ForCausalLM", 2), "qwen3": ("Qwen3", "ForCausalLM", 2), "gpt_neox": ("GPTNeoX", "ForCausalLM", 4), "opt": ("OPT", "ForCausalLM", 4), "phi": ("Phi", "ForCausalLM", 2), "gemma2": ("Gemma2", "ForCausalLM", 2),
        "bloom": ("Bloom", "ForCausalLM", 4), "mixtral": ("Mixtral", "ForCausalLM", 2), "falcon": ("Falcon", "ForCausalLM", 1)}


class Step(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, input_ids, attention_mask, **past):
        cache = transformers.DynamicCache()
        for k in range(len(past) // 2):
            cache.update(past[f"key_{k}"], past[f"value_{k}"], k)
        out = self.net(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        return [out.logits, out.past_key_values]


class Cross(nn.Module):
    """A step of the decoder of a translator, on what its encoder gave."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, decoder_input_ids, encoder_states, attention_mask, **past):
        own, other = transformers.DynamicCache(), transformers.DynamicCache()
        for k in range(len(past) // 2):
            own.update(past[f"key_{k}"], past[f"value_{k}"], k)
        out = self.net(decoder_input_ids=decoder_input_ids, encoder_outputs=(encoder_states,), attention_mask=attention_mask, past_key_values=transformers.EncoderDecoderCache(own, other), use_cache=True)
        return [out.logits, [(layer.keys, layer.values) for layer in out.past_key_values.self_attention_cache.layers]]


def past(heads, length, batch=2, width=8):
    return {f"{kind}_{k}": torch.randn(batch, heads, length, width) for k in range(2) for kind in ("key", "value")}


def dynamic(inputs):
    axes = {name: {0: "batch", 2: "past"} for name in inputs if name.startswith(("key", "value"))}
    return {"input_ids": {0: "batch"}, "attention_mask": {0: "batch", 1: "total"}, **axes}


def networks():
    for name, (stem, head, heads) in ROWS.items():
        def build(stem=stem, head=head, heads=heads):
            mask = torch.ones(2, 6, dtype=torch.int64)
            mask[1, :2] = 0
            return Step(model(stem, head)), {"input_ids": torch.randint(3, 96, (2, 1)), "attention_mask": mask, **past(heads, 5)}
        yield Network(f"cache_{name}", build, dynamic=dynamic(past(heads, 5)))
    for name, stem, head in (("t5", "T5", "ForConditionalGeneration"), ("bart", "Bart", "ForConditionalGeneration")):
        def cross(stem=stem, head=head):
            return Cross(model(stem, head)), {"decoder_input_ids": torch.randint(3, 96, (2, 1)), "encoder_states": torch.randn(2, 7, 32), "attention_mask": torch.ones(2, 7, dtype=torch.int64), **past(4, 5)}
        yield Network(f"cache_{name}", cross)
