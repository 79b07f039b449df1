"""Resizing of one, two and three dimensions."""

import numpy as np

F, I32 = np.float32, np.int32
METHODS = {"linear": 1, "bilinear": 2, "bicubic": 2, "nearest": 2, "trilinear": 3}
SIZES = {1: ((7,), (11,), (4,)), 2: ((4, 5), (7, 3), (3, 9)), 3: ((3, 4, 2), (5, 2, 3), (2, 4, 5))}


def cases(case):
    rng = np.random.default_rng(15)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)

    def resize(name, method, x, out=None, corners=True, mode=1, scale=(), layout="NCHW", spatial=None, known=(), **tensors):
        n = spatial or METHODS[method]
        sizes = dict(zip(("out_d", "out_h", "out_w")[3 - n:], out or [0] * n))
        case(f"{method}_{name}", f"{method}_interp_v2", {"X": x, **tensors}, {"Out": 1},
             {"data_layout": layout, "out_d": 0, "out_h": 0, "out_w": 0, **sizes, "scale": list(scale), "interp_method": method,
              "align_corners": corners, "align_mode": mode}, known=list(tensors))

    for method, n in METHODS.items():
        start, large, small = SIZES[n]
        for label, out in (("grow", large), ("shrink", small)):
            for corners, mode in ((True, 1), (False, 0), (False, 1)):
                resize(f"{label}_{'corners' if corners else mode}", method, rand(2, 2, *start), out, corners, mode)
        resize("last", method, rand(1, *start, 3), large, False, 0, layout="NHWC")
        resize("scale", method, rand(1, 2, *start), None, False, 0, scale=[1.5, 2.0, 0.7][:n])
        resize("same", method, rand(1, 2, *start), None, False, 0, scale=[1.05] * n)  # no element more: a copy
        resize("to_one", method, rand(1, 2, *start), [1] * n, True, 1)
        resize("from_one", method, rand(1, 2, *([1] * n)), large, False, 0)
        resize("out_size", method, rand(1, 1, *start), [9] * n, False, 0, OutSize=np.array(large, I32))
        resize("size_tensor", method, rand(1, 1, *start), [9] * n, False, 0, SizeTensor=[np.array([v], I32) for v in small])
        resize("scale_tensor", method, rand(1, 1, *start), None, False, 1, Scale=np.array([2.0], F))
    for corners, mode in ((True, 1), (False, 0)):
        resize(f"volume_{mode}", "nearest", rand(1, 2, 3, 4, 2), (5, 2, 3), corners, mode, spatial=3)
    x = rand(1, 1, 3, 3)
    x[0, 0, 1, 1] = np.inf
    resize("odd", "bilinear", x, (4, 4), False, 0)
    resize("odd", "nearest", x, (4, 4), False, 0)
