"""Normalisations."""

import numpy as np

import paddle.nn.functional as nn

F = np.float32


def cases(case):
    rng = np.random.default_rng(12)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)

    def group(name, x, groups, scale=True, bias=True, layout="NCHW", epsilon=1e-5, **more):
        channels = x.shape[-1] if layout == "NHWC" else x.shape[1]
        inputs = {"X": x}
        if scale:
            inputs["Scale"] = rand(channels)
        if bias:
            inputs["Bias"] = rand(channels)
        case(name, "group_norm", inputs, {"Y": 1, "Mean": 1, "Variance": 1}, {"groups": groups, "epsilon": epsilon, "data_layout": layout}, **more)

    group("group_norm", rand(2, 6, 4, 5), 3)
    group("group_norm_one", rand(2, 6, 4, 5), 1)
    group("group_norm_each", rand(2, 6, 4, 5), 6)
    group("group_norm_plain", rand(1, 4, 3, 3), 2, scale=False, bias=False)
    group("group_norm_scale", rand(1, 4, 3, 3), 2, bias=False)
    group("group_norm_bias", rand(1, 4, 3, 3), 2, scale=False, epsilon=1e-3)
    group("group_norm_nhwc", rand(2, 4, 5, 6), 3, layout="NHWC")
    group("group_norm_nhwc_wide", rand(1, 3, 2, 70), 7, layout="NHWC")
    group("group_norm_matrix", rand(3, 8), 2)
    group("group_norm_volume", rand(1, 4, 2, 3, 4), 2)
    group("group_norm_line", rand(2, 4, 7), 4)
    # Paddle subtracts the square of the mean from the mean of squares in fp32: 4 digits are left. The reference is numpy in double.
    x = rand(1, 4, 6, 6) * F(0.5) + F(30)
    parts = x.reshape(1, 2, -1).astype(np.float64)
    mean, variance = parts.mean(-1), parts.var(-1)
    y = ((parts - mean[..., None]) / np.sqrt(variance + 1e-5)[..., None]).reshape(x.shape)
    group("group_norm_offset", x, 2, scale=False, bias=False, expect={"Y": y.astype(F), "Mean": mean.astype(F), "Variance": variance.astype(F)})
    group("group_norm_no_images", rand(0, 4, 3, 3), 2)
    group("group_norm_one_element", rand(2, 3, 1, 1), 3)

    def instance(name, x, affine=True, epsilon=1e-5):
        inputs = {"X": x, "Scale": rand(x.shape[1]), "Bias": rand(x.shape[1])} if affine else {"X": x}
        case(name, "instance_norm", inputs, {"Y": 1, "SavedMean": 1, "SavedVariance": 1}, {"epsilon": epsilon})

    instance("instance_norm", rand(2, 3, 4, 5))
    instance("instance_norm_plain", rand(2, 3, 4, 5), affine=False)
    instance("instance_norm_line", rand(2, 3, 11), epsilon=1e-2)
    instance("instance_norm_volume", rand(1, 2, 3, 2, 4))
    instance("instance_norm_one_element", rand(2, 3, 1, 1))
    instance("instance_norm_offset", rand(1, 2, 6, 6) * F(0.25) + F(50))
    x = rand(1, 3, 4, 4)
    x[0, 1, 2, 2] = np.inf
    instance("instance_norm_odd", x)
    case("affine_channel", "affine_channel", {"X": rand(2, 3, 4, 5), "Scale": rand(3), "Bias": rand(3)}, {"Out": 1}, {"data_layout": "NCHW"})
    case("affine_channel_last", "affine_channel", {"X": rand(2, 4, 5, 3), "Scale": rand(3), "Bias": rand(3)}, {"Out": 1}, {"data_layout": "NHWC"})
    # layer_norm and softmax beside what existing.py has.
    case("layer_norm_plain", "layer_norm", {"X": rand(3, 1, 7)}, {"Y": 1, "Mean": 1, "Variance": 1}, {"begin_norm_axis": 1, "epsilon": 1e-5})
    case("layer_norm_all_of_an_image", "layer_norm", {"X": rand(2, 3, 4), "Scale": rand(12)}, {"Y": 1, "Mean": 1, "Variance": 1}, {"begin_norm_axis": 1, "epsilon": 1e-3})
    case("softmax_one", "softmax", {"X": rand(3, 1)}, {"Out": 1}, {"axis": -1})
    case("softmax_none", "softmax", {"X": rand(0, 3)}, {"Out": 1}, {"axis": -1}, expect={"Out": rand(0, 3)})
    case("softmax_large", "softmax", {"X": np.array([[1e4, 1e4 - 1, -1e4], [88, 89, 90]], F)}, {"Out": 1}, {"axis": 1})
    # Between convolutions the planner may keep channels last.
    case.program("norms_between_convolutions", between_convolutions,
                 {"x": rand(2, 3, 6, 7), "w": rand(8, 3, 3, 3), "mean": rand(8), "variance": np.abs(rand(8)) + F(0.5), "v": rand(4, 8, 1, 1)})


def between_convolutions(v):
    y = nn.conv2d(v["x"], v["w"], padding=1)
    y = nn.batch_norm(y, v["mean"], v["variance"], weight=v["mean"], bias=v["variance"], training=False)
    y = nn.instance_norm(y)
    y = nn.interpolate(y, scale_factor=[2.0, 1.5], mode="bilinear")
    y = nn.interpolate(y, size=[5, 6], mode="nearest")
    return [nn.conv2d(y, v["v"])]
