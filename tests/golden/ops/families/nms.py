"""Boxes: non-maximum suppression in its three forms, with and without boxes per image, and with nothing kept."""

import numpy as np

F, I32 = np.float32, np.int32


def boxes_of(rng, *dims, scale=1.0):
    corner, size = rng.random(dims + (2,)) * 0.6, rng.random(dims + (2,)) * 0.4
    return (np.concatenate([corner, corner + size], -1) * scale).astype(F)


def cases(case):
    rng = np.random.default_rng(14)

    def nms(name, boxes, scores, rois=None, op="multiclass_nms3", **attrs):
        inputs = {"BBoxes": boxes, "Scores": scores}
        if rois is not None:
            inputs["RoisNum"] = np.array(rois, I32)
        outputs = {"Out": 1}
        if op != "multiclass_nms":
            outputs["Index"] = ["int32"]
        if op == "multiclass_nms3":
            outputs["NmsRoisNum"] = ["int32"]
        all_attrs = {"score_threshold": 0.2, "nms_top_k": 100, "keep_top_k": 100, "nms_threshold": 0.3, "normalized": True, "nms_eta": 1.0, "background_label": -1}
        case(name, op, inputs, outputs, {**all_attrs, **attrs})

    boxes, scores = boxes_of(rng, 2, 12), rng.random((2, 3, 12)).astype(F)
    nms("nms3", boxes, scores)
    nms("nms3_background", boxes, scores, background_label=0)
    nms("nms3_keep", boxes, scores, keep_top_k=4)
    nms("nms3_top", boxes, scores, nms_top_k=3)
    nms("nms3_no_limits", boxes, scores, nms_top_k=-1, keep_top_k=-1)
    nms("nms3_eta", boxes, scores, nms_eta=0.7, nms_threshold=0.8)
    nms("nms3_pixels", boxes_of(rng, 1, 15, scale=30.0), rng.random((1, 2, 15)).astype(F), normalized=False)
    nms("nms3_nothing", boxes, scores, score_threshold=2.0)
    nms("nms3_one_image_empty", boxes, np.stack([scores[0], scores[1] * 0]))
    nms("nms3_ties", boxes, np.full((2, 2, 12), 0.5, F), keep_top_k=5)
    odd = boxes[:1].copy()
    odd[0, 0] = [0.5, 0.5, 0.1, 0.1]  # turned inside out
    odd[0, 1] = odd[0, 2]
    nms("nms3_odd_boxes", odd, scores[:1])
    nms("nms3_one", boxes[:1, :1], np.ones((1, 1, 1), F))
    nms("nms3_rois", boxes_of(rng, 9, 3), rng.random((9, 3)).astype(F), rois=[4, 0, 5])
    nms("nms3_rois_keep", boxes_of(rng, 9, 3), rng.random((9, 3)).astype(F), rois=[4, 5], keep_top_k=3, background_label=0)
    nms("nms2", boxes, scores, op="multiclass_nms2", background_label=0)
    nms("nms2_nothing", boxes, scores, op="multiclass_nms2", score_threshold=2.0)
    nms("nms", boxes, scores, op="multiclass_nms", keep_top_k=6)
    nms("nms_nothing", boxes, scores, op="multiclass_nms", score_threshold=2.0)
