"""Convolutions of two and three dimensions, transposed ones, one dimension as an image of height or width 1, and pooling of volumes."""

import numpy as np

F = np.float32


def cases(case):
    rng = np.random.default_rng(11)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)

    def conv(name, op, x, w, spatial, strides=1, paddings=0, dilations=1, groups=1, layout=None, algorithm="EXPLICIT", expect=None, **more):
        full = lambda v: list(v) if isinstance(v, (list, tuple)) else [v] * spatial
        layout = layout or ("NCDHW" if op == "conv3d" else "NCHW")
        case(name, op, {"Input": x, "Filter": w}, {"Output": 1},
             {"strides": full(strides), "paddings": full(paddings), "dilations": full(dilations), "groups": groups, "data_format": layout,
              "padding_algorithm": algorithm, **more}, expect=expect)

    # conv2d
    conv("conv2d_asymmetric", "conv2d", rand(2, 3, 7, 6), rand(4, 3, 3, 3), 2, strides=2, paddings=[1, 2, 0, 1])
    conv("conv2d_dilated_groups", "conv2d", rand(1, 6, 9, 8), rand(4, 3, 3, 2), 2, dilations=[2, 3], paddings=[2, 1], groups=2)
    conv("conv2d_same", "conv2d", rand(1, 3, 8, 5), rand(4, 3, 3, 4), 2, strides=[2, 3], algorithm="SAME")
    conv("conv2d_valid_nhwc", "conv2d", rand(2, 6, 5, 3), rand(4, 3, 3, 2), 2, paddings=[5, 5], algorithm="VALID", layout="NHWC")
    conv("conv2d_pointwise", "conv2d", rand(1, 8, 1, 1), rand(5, 8, 1, 1), 2)
    conv("depthwise_conv2d_twice", "depthwise_conv2d", rand(2, 4, 6, 6), rand(8, 1, 3, 3), 2, paddings=1, strides=2, groups=4)
    odd = rand(1, 2, 5, 5)
    odd[0, 0, 1, 1], odd[0, 1, 3, 4] = np.inf, np.nan
    conv("conv2d_odd", "conv2d", odd, np.abs(rand(3, 2, 2, 2)), 2)
    conv("conv2d_no_images", "conv2d", rand(0, 3, 5, 5), rand(4, 3, 3, 3), 2, expect={"Output": rand(0, 4, 3, 3)})
    # One dimension, as the framework lowers it.
    conv("conv1d_width", "conv2d", rand(2, 5, 1, 17), rand(7, 5, 1, 3), 2, strides=[1, 2], paddings=[0, 1])
    conv("conv1d_height", "conv2d", rand(2, 5, 17, 1), rand(7, 5, 3, 1), 2, strides=[2, 1], paddings=[1, 0])
    conv("conv1d_nlc", "conv2d", rand(2, 1, 17, 4), rand(6, 2, 1, 5), 2, paddings=[0, 0, 4, 0], dilations=[1, 2], groups=2, layout="NHWC")
    conv("conv1d_depthwise", "depthwise_conv2d", rand(1, 6, 1, 20), rand(6, 1, 1, 7), 2, paddings=[0, 3], groups=6)
    conv("conv1d_transpose", "conv2d_transpose", rand(2, 4, 1, 9), rand(4, 3, 1, 4), 2, strides=[1, 2], paddings=[0, 1])
    # conv2d_transpose
    t = "conv2d_transpose"
    conv(t, t, rand(2, 4, 5, 4), rand(4, 3, 3, 3), 2, strides=2, paddings=1)
    conv(t + "_groups", t, rand(1, 6, 4, 5), rand(6, 2, 3, 2), 2, strides=[2, 1], groups=3)
    conv(t + "_output_padding", t, rand(1, 4, 5, 4), rand(4, 3, 3, 3), 2, strides=[2, 3], paddings=1, output_padding=[1, 2])
    conv(t + "_output_size", t, rand(1, 4, 5, 4), rand(4, 3, 3, 3), 2, strides=2, paddings=1, output_size=[10, 8])
    conv(t + "_dilated", t, rand(1, 3, 5, 4), rand(3, 2, 3, 3), 2, strides=2, dilations=[2, 1], paddings=[2, 0])
    conv(t + "_asymmetric", t, rand(1, 3, 5, 4), rand(3, 2, 4, 3), 2, strides=2, paddings=[0, 2, 1, 0])
    conv(t + "_same", t, rand(1, 3, 5, 4), rand(3, 2, 4, 3), 2, strides=2, algorithm="SAME")
    conv(t + "_nhwc", t, rand(2, 4, 5, 3), rand(3, 2, 3, 3), 2, strides=2, paddings=1, layout="NHWC")
    conv(t + "_short", t, rand(1, 3, 4, 4), rand(3, 2, 1, 1), 2, strides=2)
    d = "depthwise_conv2d_transpose"
    conv(d, d, rand(2, 4, 5, 6), rand(4, 1, 4, 4), 2, strides=2, paddings=1, groups=4)
    conv(d + "_twice", d, rand(1, 4, 5, 4), rand(4, 2, 3, 3), 2, strides=2, paddings=1, groups=4)
    conv(d + "_output_padding", d, rand(1, 3, 5, 4), rand(3, 1, 3, 3), 2, strides=2, groups=3, output_padding=[1, 1])
    # conv3d
    conv("conv3d", "conv3d", rand(2, 3, 5, 6, 4), rand(4, 3, 3, 3, 3), 3, paddings=1)
    conv("conv3d_strides", "conv3d", rand(1, 4, 6, 7, 8), rand(4, 2, 2, 3, 1), 3, strides=[2, 1, 3], paddings=[1, 0, 2, 1, 0, 3], groups=2)
    conv("conv3d_dilated", "conv3d", rand(1, 2, 6, 7, 5), rand(3, 2, 2, 3, 2), 3, dilations=[2, 1, 3])
    conv("conv3d_same", "conv3d", rand(1, 2, 5, 4, 6), rand(3, 2, 3, 2, 3), 3, strides=2, algorithm="SAME")
    conv("conv3d_ndhwc", "conv3d", rand(1, 4, 5, 6, 3), rand(4, 3, 3, 3, 3), 3, paddings=1, layout="NDHWC")
    conv("conv3d_depthwise", "conv3d", rand(1, 4, 4, 4, 4), rand(4, 1, 3, 3, 3), 3, paddings=1, groups=4)
    conv("conv3d_plane", "conv3d", rand(1, 3, 1, 5, 1), rand(2, 3, 1, 3, 1), 3)
    conv("conv3d_no_images", "conv3d", rand(0, 3, 4, 4, 4), rand(2, 3, 3, 3, 3), 3, expect={"Output": rand(0, 2, 2, 2, 2)})
    t = "conv3d_transpose"
    conv(t, t, rand(2, 3, 3, 4, 2), rand(3, 2, 3, 2, 3), 3, strides=2, paddings=1)
    conv(t + "_groups", t, rand(1, 4, 3, 2, 3), rand(4, 2, 2, 3, 2), 3, strides=[1, 2, 2], groups=2)
    conv(t + "_output_padding", t, rand(1, 2, 3, 2, 3), rand(2, 3, 3, 3, 3), 3, strides=2, output_padding=[1, 0, 1])
    conv(t + "_output_size", t, rand(1, 2, 3, 2, 3), rand(2, 3, 3, 3, 3), 3, strides=2, output_size=[8, 5, 7])
    conv(t + "_dilated", t, rand(1, 2, 3, 2, 3), rand(2, 3, 2, 2, 3), 3, dilations=[2, 1, 1], paddings=[1, 0, 0])
    conv(t + "_nhwc", t, rand(1, 3, 2, 3, 4), rand(4, 2, 2, 2, 2), 3, strides=2, layout="NHWC")
