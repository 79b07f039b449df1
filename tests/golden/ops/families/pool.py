"""Pooling of images and volumes."""

import numpy as np

F = np.float32


def cases(case):
    rng = np.random.default_rng(18)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)

    def pool(name, x, ksize, strides=1, paddings=0, kind="max", layout=None, expect=None, **more):
        n = x.ndim - 2
        full = lambda v: list(v) if isinstance(v, (list, tuple)) else [v] * n
        case(name, f"pool{n}d", {"X": x}, {"Out": 1},
             {"pooling_type": kind, "ksize": full(ksize), "strides": full(strides), "paddings": full(paddings),
              "data_format": layout or ("NCHW" if n == 2 else "NCDHW"), **more}, expect=expect)

    pool("pool2d_max", rand(2, 3, 7, 6), 3, 2, 1)
    pool("pool2d_max_asymmetric", rand(1, 2, 6, 7), [2, 3], [1, 2], [0, 1, 2, 0])
    pool("pool2d_avg_inclusive", rand(1, 2, 6, 6), 3, 2, 1, "avg", exclusive=False)
    pool("pool2d_avg_ceil", rand(1, 2, 6, 7), 2, 2, 0, "avg", ceil_mode=True)
    pool("pool2d_adaptive", rand(1, 3, 7, 5), [3, 2], kind="avg", adaptive=True)
    pool("pool2d_global_nhwc", rand(2, 5, 4, 3), 1, kind="avg", layout="NHWC", global_pooling=True)
    pool("pool2d_line", rand(1, 3, 1, 9), [1, 3], [1, 2], [0, 1])
    for kind in ("max", "avg"):
        pool(f"pool3d_{kind}", rand(2, 3, 5, 6, 4), [2, 3, 2], [2, 1, 2], [1, 1, 0], kind)
        pool(f"pool3d_{kind}_ndhwc", rand(1, 4, 5, 3, 6), 2, 2, 0, kind, layout="NDHWC")
        pool(f"pool3d_{kind}_global", rand(2, 3, 3, 4, 2), 1, kind=kind, global_pooling=True)
    pool("pool3d_avg_adaptive", rand(1, 2, 5, 4, 6), [2, 3, 4], kind="avg", adaptive=True)
    # Paddle's kernel ignores 'adaptive' where it takes the largest value (its layers use max_pool3d_with_index): numpy is the reference.
    x, parts = rand(1, 2, 5, 4, 6), lambda n, m: [slice(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
    largest = [[[x[:, :, d, h, w].max((2, 3, 4)) for w in parts(6, 4)] for h in parts(4, 3)] for d in parts(5, 2)]
    pool("pool3d_max_adaptive", x, [2, 3, 4], adaptive=True, expect={"Out": np.moveaxis(np.array(largest, F), (3, 4), (0, 1)).copy()})
    pool("pool3d_avg_inclusive", rand(1, 2, 4, 4, 4), 3, 2, 1, "avg", exclusive=False)
    pool("pool3d_max_ceil", rand(1, 1, 5, 6, 7), 2, 2, 0, ceil_mode=True)
    pool("pool3d_same", rand(1, 2, 5, 4, 5), 3, 2, 0, "avg", padding_algorithm="SAME")
    odd = rand(1, 2, 3, 3, 3)
    odd[0, 0, 1, 1, 1], odd[0, 1, 0, 0, 0], odd[0, 1, 2, 2, 2] = np.inf, -np.inf, np.inf
    pool("pool3d_max_odd", odd, 2)
