"""Images and words together."""
import torch
from families.config import model
from families.text import tokens
from families.vision import pixels
from network import Network
from torch import nn

VISION = dict(image_size=32, patch_size=8)


def both(length=8, side=32, batch=1):
    return {**tokens(length, batch), **pixels(side, batch)}


class Seen(nn.Module):
    """A model of words that gets the image in place of the tokens `place`."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, input_ids, attention_mask, pixel_values):
        return self.net(input_ids=input_ids, attention_mask=attention_mask, pixel_values=pixel_values).logits


def with_image(count, place=95):
    inputs = both(4 + count)
    inputs["input_ids"][inputs["input_ids"] == place] = 5
    inputs["input_ids"][0, 1:1 + count] = place
    return inputs


CLIP = dict(text_config={}, vision_config=VISION)
OWL = dict(CLIP, projection_dim=32)
ROWS = {
    "clip": ("CLIP", "Model", CLIP, both), "clip_vision": ("CLIPVision", "ModelWithProjection", VISION, pixels), "clip_text": ("CLIPText", "ModelWithProjection", {}, tokens), "siglip": ("Siglip", "Model", CLIP, both), "chinese_clip": ("ChineseCLIP", "Model", CLIP, both), "altclip": ("AltCLIP", "Model", CLIP, both), "clipseg": ("CLIPSeg", "ForImageSegmentation", dict(CLIP, extract_layers=[0, 1], reduce_dim=16, decoder_num_attention_heads=4, decoder_intermediate_size=24, conditional_layer=0), both),
    "blip": ("Blip", "ForImageTextRetrieval", dict(text_config=dict(encoder_hidden_size=32), vision_config=VISION, image_text_hidden_size=16), both), "vilt": ("Vilt", "Model", VISION, both), "flava_image": ("FlavaImage", "Model", VISION, pixels), "git": ("Git", "ForCausalLM", dict(vision_config=VISION), both), "owlvit": ("OwlViT", "ForObjectDetection", OWL, both), "owlv2": ("Owlv2", "ForObjectDetection", OWL, both), "groupvit": ("GroupViT", "Model", dict(text_config={}, vision_config=dict(image_size=32, patch_size=8, depths=[1, 1], num_group_tokens=[4, 0], num_output_groups=[4, 2], num_hidden_layers=2)), both),
    "aimv2": ("Aimv2", "Model", CLIP, both), "metaclip_2": ("MetaClip2", "Model", CLIP, both), "visual_bert": ("VisualBert", "Model", dict(visual_embedding_dim=16), lambda: {**tokens(8, 1), "visual_embeds": torch.randn(1, 4, 16)}),
    "lxmert": ("Lxmert", "Model", dict(visual_feat_dim=16, l_layers=2, x_layers=1, r_layers=1), lambda: {**tokens(8, 1), "visual_feats": torch.randn(1, 4, 16), "visual_pos": torch.rand(1, 4, 4)}), "grounding_dino": ("GroundingDino", "ForObjectDetection", dict(num_queries=6, encoder_layers=1, decoder_layers=2, backbone_config=dict(model_type="swin", image_size=64, patch_size=4, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 2, 2, 2], window_size=2, out_features=["stage2", "stage3", "stage4"])), lambda: both(8, 128)),
    "trocr": ("TrOCR", "ForCausalLM", dict(is_decoder=True, cross_attention_hidden_size=32), lambda: {**tokens(6, 1), "encoder_hidden_states": torch.randn(1, 9, 32)}), "layoutlmv3": ("LayoutLMv3", "Model", dict(input_size=32, patch_size=8, coordinate_size=4, shape_size=8), lambda: {**tokens(8, 1), "bbox": torch.randint(0, 30, (1, 8, 2)).repeat(1, 1, 2), **pixels()}), "pix2struct": ("Pix2StructVision", "Model", dict(seq_len=16, patch_embed_hidden_size=768), lambda: {"flattened_patches": torch.cat([torch.arange(12).reshape(1, 12, 1) // 4 + 1., torch.arange(12).reshape(1, 12, 1) % 4 + 1., torch.randn(1, 12, 768)], -1)}),
}


def networks():
    for name, (stem, head, words, inputs) in ROWS.items():
        yield Network("hf_vl_" + name, lambda stem=stem, head=head, words=words, inputs=inputs: (model(stem, head, **dict(words)), inputs()), quantise=name != "grounding_dino")
    llava = dict(text_config=dict(model_type="llama"), vision_config=dict(model_type="clip_vision_model", **VISION), image_token_id=95, image_token_index=95, vision_feature_layer=-1)
    for name, stem, words, count in (("llava", "Llava", llava, 16), ("paligemma", "PaliGemma", dict(text_config=dict(model_type="gemma"), vision_config=dict(model_type="siglip_vision_model", vision_use_head=False, **VISION), image_token_id=95, image_token_index=95, projection_dim=32), 16)):
        yield Network("hf_vl_" + name, lambda stem=stem, words=words, count=count: (Seen(model(stem, "ForConditionalGeneration", **dict(words))), with_image(count)), quantise=False)
