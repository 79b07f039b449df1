"""torchvision's seven detectors on a small backbone. A score has to pass the threshold, so that something is found: the last layers' gains see to it."""
import torch
from network import Network
from torch import nn
from torchvision.models import detection, mobilenet_v3_small, resnet
from torchvision.models.detection import anchor_utils
from torchvision.models.detection import ssd as ssd_model
from torchvision.models.detection.backbone_utils import BackboneWithFPN

SIZE = dict(min_size=96, max_size=128)


class OneImage(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, image):
        return self.net([image])[0]


def pyramid(channels=32):
    return BackboneWithFPN(resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1]), {f"layer{k}": str(k) for k in (2, 3, 4)}, [128, 256, 512], channels)


def anchors(count=4):
    return anchor_utils.AnchorGenerator(tuple((16 * 2**k,) for k in range(count)), ((0.5, 1.0, 2.0),) * count)


def two_stage(kind, **words):
    return kind(pyramid(), num_classes=5, rpn_anchor_generator=anchors(), rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=20, box_detections_per_img=8,
                box_score_thresh=0.15, **SIZE, **words)


def ssd(size=128):
    net = mobilenet_v3_small().features

    class Features(nn.Module):
        out_channels = [24, 48, 576]

        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = net[:4], net[4:9], net[9:]

        def forward(self, x):
            a = self.a(x)
            b = self.b(a)
            return {"0": a, "1": b, "2": self.c(b)}

    boxes = anchor_utils.DefaultBoxGenerator([[2], [2, 3], [2]], min_ratio=15, max_ratio=90)
    return ssd_model.SSD(Features(), boxes, (size, size), num_classes=5, score_thresh=0.3, topk_candidates=40, detections_per_img=12)


def ssdlite():
    net = detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5, score_thresh=0.3, topk_candidates=40, detections_per_img=12)
    return net


ROWS = {
    "faster_rcnn": (lambda: two_stage(detection.FasterRCNN), {}),
    "mask_rcnn": (lambda: two_stage(detection.MaskRCNN), {}),
    "keypoint_rcnn": (lambda: two_stage(detection.KeypointRCNN, num_keypoints=4), {}),
    "retinanet": (lambda: detection.RetinaNet(pyramid(), 5, anchor_generator=anchors(), score_thresh=0.1, topk_candidates=40, detections_per_img=12, **SIZE),
                  {"cls_logits": 2.0}),
    "fcos": (lambda: detection.FCOS(pyramid(), 5, anchor_generator=anchor_utils.AnchorGenerator(((8,), (16,), (32,), (64,)), ((1.0,),) * 4), score_thresh=0.1,
                                    topk_candidates=40, detections_per_img=12, **SIZE), {"cls_logits": 2.0}),
    "ssd": (ssd, {}),
    "ssdlite320": (ssdlite, {}),
}


def networks():
    for name, (build, gain) in ROWS.items():
        side = 320 if name == "ssdlite320" else 112
        yield Network("tv_" + name, lambda build=build, side=side: (OneImage(build()), {"image": torch.rand(3, side, side)}), gain=gain, boxes=True, quantise=False)
        if name in ("faster_rcnn", "retinanet"):
            yield Network(f"tv_{name}_any_size", lambda build=build, side=side: (OneImage(build()), {"image": torch.rand(3, side - 15, side)}), gain=gain, boxes=True,
                          quantise=False, dynamic={"image": {1: "height", 2: "width"}})
