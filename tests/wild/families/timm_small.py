"""timm: its own test networks, and the smallest of many families."""
import timm
from families.images import image
from network import Network

# name: side of the image, and what create_model gets besides.
ROWS = {
    "lcnet_035": (64, {}), "mobilenetv3_small_050": (64, {}), "mobilenetv4_conv_small_035": (64, {}), "mobilenetv2_035": (64, {}), "tinynet_e": (64, {}),
    "efficientnet_lite0": (64, {}), "ghostnet_050": (64, {}), "ghostnetv2_100": (64, {}), "mixnet_s": (64, {}), "mnasnet_small": (64, {}),
    "hardcorenas_a": (64, {}), "repghostnet_050": (64, {}), "mobileone_s0": (64, {}), "repvgg_a0": (64, {}), "fastvit_t8": (64, {}), "mobilevit_xxs": (64, {}),
    "mobilevitv2_050": (64, {}), "edgenext_xx_small": (64, {}), "convnext_atto": (64, {}), "convnextv2_atto": (64, {}), "inception_next_atto": (64, {}), "poolformer_s12": (64, {}),
    "efficientformer_l1": (224, {}), "efficientformerv2_s0": (224, {}), "efficientvit_b0": (64, {}), "efficientvit_m0": (224, {}), "levit_128s": (224, {}), "pvt_v2_b0": (64, {}),
    "xcit_nano_12_p16_224": (64, {}), "cait_xxs24_224": (64, dict(img_size=64, depth=3)), "coat_tiny": (64, dict(img_size=64)), "crossvit_tiny_240": (240, {}),
    "deit_tiny_patch16_224": (64, dict(img_size=64, depth=3)), "vit_tiny_patch16_224": (64, dict(img_size=64, depth=3)), "beit_base_patch16_224": (64, dict(img_size=64, depth=2, embed_dim=64, num_heads=4)),
    "eva02_tiny_patch14_224": (56, dict(img_size=56, depth=3)), "swin_tiny_patch4_window7_224": (56, dict(img_size=56, embed_dim=24, depths=(2, 2), num_heads=(2, 4))),
    "swinv2_cr_tiny_ns_224": (64, dict(img_size=64, embed_dim=24, depths=(2, 2), num_heads=(2, 4))), "focalnet_tiny_srf": (64, {}), "davit_tiny": (64, dict(depths=(1, 1, 1, 1), embed_dims=(24, 48, 96, 192), num_heads=(1, 2, 4, 8))), "gcvit_xxtiny": (64, dict(img_size=64)), "maxxvit_rmlp_nano_rw_256": (64, dict(img_size=64)),
    "nest_tiny": (64, dict(img_size=64)), "hiera_tiny_224": (64, dict(img_size=64)), "volo_d1_224": (64, dict(img_size=64)), "visformer_tiny": (64, dict(img_size=64)), "convit_tiny": (64, dict(img_size=64, depth=4, local_up_to_layer=2)),
    "mixer_s32_224": (64, dict(img_size=64)), "resmlp_12_224": (64, dict(img_size=64)), "gmlp_ti16_224": (64, dict(img_size=64)), "gmixer_12_224": (64, dict(img_size=64)), "sequencer2d_s": (64, dict(layers=(1, 1, 1, 1))),
    "convmixer_768_32": (64, {}), "botnet26t_256": (64, dict(img_size=64)), "halonet26t": (256, {}), "lambda_resnet26t": (64, dict(img_size=64)), "resnest14d": (64, {}), "skresnet18": (64, {}), "seresnet18": (64, {}), "ecaresnet26t": (64, {}),
    "gcresnet33ts": (64, {}), "resnetblur18": (64, {}), "res2net50_26w_4s": (64, {}), "resnetv2_50": (64, dict(layers=(1, 1, 1, 1))), "nf_resnet26": (64, {}), "selecsls42b": (64, {}),
    "hrnet_w18_small": (64, {}), "dla46_c": (64, {}), "dpn48b": (64, {}), "vovnet39a": (64, {}), "cspresnet50": (64, {}), "darknet21": (64, {}), "xception41p": (64, {}), "rexnet_100": (64, {}), "regnetz_005": (64, {}),
    "gernet_s": (64, {}), "tresnet_m": (64, {}), "starnet_s1": (64, {}), "shvit_s1": (64, {}), "repvit_m0_9": (64, {}), "mambaout_femto": (64, {}), "swiftformer_xs": (64, {}), "fasternet_t0": (64, {}), "rdnet_tiny": (64, {}), "twins_svt_small": (64, {}),
    "tnt_s_patch16_224": (64, dict(img_size=64, depth=2)), "samvit_base_patch16": (64, dict(img_size=64, depth=2, embed_dim=48, num_heads=4, global_attn_indexes=(1,), window_size=3)), "naflexvit_base_patch16_gap": (64, dict(depth=2, embed_dim=48, num_heads=4)),
}


def networks():
    for name in sorted(timm.list_models("test_*")):
        yield Network("timm_" + name, lambda name=name: (timm.create_model(name, num_classes=10), image(timm.get_pretrained_cfg(name).input_size[1])), dynamic={"x": {0: "batch"}})
    for name, (side, words) in ROWS.items():
        yield Network("timm_" + name, lambda name=name, side=side, words=words: (timm.create_model(name, num_classes=10, **words), image(side)), dynamic={"x": {0: "batch"}})
