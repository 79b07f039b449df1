"""Padding."""

import numpy as np

F, I32, I64 = np.float32, np.int32, np.int64


def cases(case):
    rng = np.random.default_rng(14)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)
    case("pad", "pad", {"X": rand(2, 3)}, {"Out": 1}, {"paddings": [1, 0, 2, 3], "pad_value": -1.5})
    case("pad_inner", "pad", {"X": rand(2, 3, 2, 2)}, {"Out": 1}, {"paddings": [0, 0, 1, 2, 0, 0, 0, 0], "pad_value": 0.0})
    case("pad_ends", "pad", {"X": rand(2, 3, 2)}, {"Out": 1}, {"paddings": [1, 1, 0, 0, 0, 1], "pad_value": 7.0})
    case("pad_nothing", "pad", {"X": rand(2, 3)}, {"Out": 1}, {"paddings": [0, 0, 0, 0], "pad_value": 7.0})
    case("pad_vector_i64", "pad", {"X": np.array([5, -6], I64)}, {"Out": 1}, {"paddings": [2, 1], "pad_value": 3.0})
    case("pad_empty", "pad", {"X": rand(0, 2)}, {"Out": 1}, {"paddings": [1, 1, 0, 1], "pad_value": 2.0}, expect={"Out": np.full((2, 3), 2, F)})
    odd = np.array([[np.nan, -0.0], [np.inf, 1e-42]], F)
    case("pad_odd", "pad", {"X": odd}, {"Out": 1}, {"paddings": [0, 1, 1, 0], "pad_value": -0.0})
    # Paddle 2.6 keeps the description of pad2d without a kernel: numpy is the reference.
    modes = {"constant": {"mode": "constant", "constant_values": 0.5}, "reflect": {"mode": "reflect"}, "edge": {"mode": "edge"}}
    for mode, numpy_args in modes.items():
        for layout in ("NCHW", "NHWC"):
            x, spatial = rand(2, 3, 4, 5), [(2, 1), (0, 3)]
            around = [(0, 0), (0, 0)] + spatial if layout == "NCHW" else [(0, 0)] + spatial + [(0, 0)]
            if layout == "NHWC":
                x = rand(2, 3, 4, 2)
            case(f"pad2d_{mode}_{layout.lower()}", "pad2d", {"X": x}, {"Out": 1},
                 {"paddings": [2, 1, 0, 3], "pad_value": 0.5, "mode": mode, "data_format": layout}, expect={"Out": np.pad(x, around, **numpy_args)})
    x = rand(1, 1, 2, 2)
    case("pad2d_tensor", "pad2d", {"X": x, "Paddings": np.array([0, 1, 2, 0], I32)}, {"Out": 1}, {"paddings": [9, 9, 9, 9]}, known=["Paddings"],
         expect={"Out": np.pad(x, [(0, 0), (0, 0), (0, 1), (2, 0)])})
    x = rand(1, 1, 4, 4)
    case("pad2d_cuts", "pad2d", {"X": x}, {"Out": 1}, {"paddings": [-1, 0, 1, -2]}, expect={"Out": np.pad(x[:, :, 1:, :2], [(0, 0), (0, 0), (0, 0), (1, 0)])})
    for mode in ("constant", "reflect", "replicate", "circular"):
        for layout in ("NCDHW", "NDHWC"):
            case(f"pad3d_{mode}_{layout.lower()}", "pad3d", {"X": rand(1, 2, 3, 4, 3) if layout == "NCDHW" else rand(1, 3, 4, 3, 2)}, {"Out": 1},
                 {"paddings": [2, 1, 0, 3, 1, 2], "value": -2.0, "mode": mode, "data_format": layout})
    case("pad3d_cuts", "pad3d", {"X": rand(1, 1, 3, 4, 5)}, {"Out": 1}, {"paddings": [-1, 2, 0, -2, 1, 0], "value": 1.0, "mode": "constant", "data_format": "NCDHW"})
    case("pad3d_i32", "pad3d", {"X": np.arange(8, dtype=I32).reshape(1, 1, 2, 2, 2)}, {"Out": 1},
         {"paddings": [1, 1, 0, 0, 0, 0], "value": 9.0, "mode": "constant", "data_format": "NCDHW"})
    case("pad3d_circular_twice", "pad3d", {"X": rand(1, 1, 2, 2, 2)}, {"Out": 1}, {"paddings": [2, 2, 2, 2, 2, 2], "mode": "circular", "data_format": "NCDHW"})
