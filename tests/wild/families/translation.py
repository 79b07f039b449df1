"""Encoders with decoders, both given: translation, summaries."""
import torch
from families.config import model
from families.text import tokens
from network import Network

OPEN = {"input_ids": {0: "batch", 1: "length"}, "attention_mask": {0: "batch", 1: "length"}, "decoder_input_ids": {0: "batch", 1: "decoder_length"}}
ROWS = {
    "t5": ("T5", "ForConditionalGeneration", {}), "t5_gated": ("T5", "ForConditionalGeneration", dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False)), "mt5": ("MT5", "ForConditionalGeneration", {}), "umt5": ("UMT5", "ForConditionalGeneration", {}),
    "longt5": ("LongT5", "ForConditionalGeneration", dict(local_radius=4)), "switch": ("SwitchTransformers", "ForConditionalGeneration", dict(expert_capacity=8)), "bart": ("Bart", "ForConditionalGeneration", {}), "mbart": ("MBart", "ForConditionalGeneration", {}),
    "pegasus": ("Pegasus", "ForConditionalGeneration", {}), "pegasus_x": ("PegasusX", "ForConditionalGeneration", dict(block_size=4, num_global_tokens=2)), "marian": ("Marian", "MTModel", dict(decoder_vocab_size=96)), "blenderbot": ("Blenderbot", "ForConditionalGeneration", {}), "blenderbot_small": ("BlenderbotSmall", "ForConditionalGeneration", {}),
    "m2m_100": ("M2M100", "ForConditionalGeneration", {}), "prophetnet": ("ProphetNet", "ForConditionalGeneration", dict(num_buckets=8, relative_max_distance=16)), "led": ("LED", "ForConditionalGeneration", dict(attention_window=4, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64)),
    "plbart": ("PLBart", "ForConditionalGeneration", {}), "nllb_moe": ("NllbMoe", "ForConditionalGeneration", {}),
}


def networks():
    for name, (stem, head, words) in ROWS.items():
        def build(stem=stem, head=head, words=words):
            return model(stem, head, **dict(words)), {**tokens(), "decoder_input_ids": torch.randint(3, 96, (2, 7))}
        yield Network("hf_" + name, build, dynamic={} if name in ("led", "longt5", "pegasus_x") else OPEN)
