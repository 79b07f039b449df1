"""Boxes: decoding of YOLO maps, prior boxes and their coding."""

import numpy as np

F, I32 = np.float32, np.int32


def boxes_of(rng, *dims, scale=1.0):
    corner, size = rng.random(dims + (2,)) * 0.6, rng.random(dims + (2,)) * 0.4
    return (np.concatenate([corner, corner + size], -1) * scale).astype(F)


def cases(case):
    rng = np.random.default_rng(14)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)

    def yolo(name, x, sizes, anchors=(10, 13, 16, 30, 33, 23), classes=2, **attrs):
        all_attrs = {"anchors": list(anchors), "class_num": classes, "conf_thresh": 0.3, "downsample_ratio": 32, "clip_bbox": True, "scale_x_y": 1.0,
                     "iou_aware": False, "iou_aware_factor": 0.5}
        case(name, "yolo_box", {"X": x, "ImgSize": np.array(sizes, I32)}, {"Boxes": 1, "Scores": 1}, {**all_attrs, **attrs})

    yolo("yolo_box", rand(2, 21, 2, 3), [[64, 96], [100, 50]])
    yolo("yolo_box_no_clip", rand(1, 21, 2, 2), [[64, 96]], clip_bbox=False, conf_thresh=0.0)
    yolo("yolo_box_scaled", rand(1, 21, 2, 2), [[64, 96]], scale_x_y=1.05, downsample_ratio=16)
    yolo("yolo_box_iou", rand(1, 24, 2, 2), [[64, 96]], iou_aware=True, iou_aware_factor=0.4)
    yolo("yolo_box_one", rand(1, 6, 1, 1), [[7, 9]], anchors=(5, 6), classes=1, conf_thresh=0.0)
    yolo("yolo_box_nothing", rand(1, 21, 2, 2), [[64, 96]], conf_thresh=2.0)

    def prior(name, cells, image, **attrs):
        all_attrs = {"min_sizes": [10.0], "max_sizes": [], "aspect_ratios": [2.0], "variances": [0.1, 0.1, 0.2, 0.2], "flip": True, "clip": False, "step_w": 0.0,
                     "step_h": 0.0, "offset": 0.5, "min_max_aspect_ratios_order": False}
        case(name, "prior_box", {"Input": rand(1, 2, *cells), "Image": rand(1, 3, *image)}, {"Boxes": 1, "Variances": 1}, {**all_attrs, **attrs})

    prior("prior_box", (2, 3), (32, 48))
    prior("prior_box_clip", (2, 2), (20, 20), min_sizes=[8.0, 14.0], max_sizes=[14.0, 30.0], clip=True)
    prior("prior_box_order", (1, 2), (20, 20), max_sizes=[25.0], aspect_ratios=[1.0, 2.0, 3.0], min_max_aspect_ratios_order=True)
    prior("prior_box_steps", (1, 1), (20, 24), aspect_ratios=[2.0, 0.5], flip=False, step_w=8.0, step_h=4.0, offset=0.25)

    priors = boxes_of(rng, 4)
    coder = lambda name, target, attrs, variances=None: case(
        name, "box_coder", {"PriorBox": priors, "TargetBox": target, **({} if variances is None else {"PriorBoxVar": variances})}, {"OutputBox": 1},
        {"code_type": "decode_center_size", "box_normalized": True, "axis": 0, "variance": [], **attrs})
    coder("box_encode", boxes_of(rng, 3), {"code_type": "encode_center_size"})
    coder("box_encode_variance", boxes_of(rng, 3), {"code_type": "encode_center_size", "variance": [0.1, 0.1, 0.2, 0.2]})
    coder("box_encode_pixels", boxes_of(rng, 2), {"code_type": "encode_center_size", "box_normalized": False}, np.abs(rand(4, 4)) + F(0.1))
    coder("box_decode", rand(3, 4, 4), {})
    coder("box_decode_variances", rand(2, 4, 4), {}, np.abs(rand(4, 4)))
    coder("box_decode_rows", rand(4, 2, 4), {"axis": 1, "variance": [0.1, 0.1, 0.2, 0.2]})
    coder("box_decode_rows_pixels", rand(4, 1, 4), {"axis": 1, "box_normalized": False}, np.abs(rand(4, 4)))
