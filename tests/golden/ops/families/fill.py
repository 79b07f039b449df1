"""Values made from shapes, indices and attributes."""

import numpy as np

F, D, I32, I64, B = np.float32, np.float64, np.int32, np.int64, np.bool_
BOOL, INT32, INT64, FP32, FP64 = 0, 2, 3, 5, 6  # Paddle's numbers of types


def cases(case):
    rng = np.random.default_rng(15)
    x = rng.standard_normal((2, 3)).astype(F)
    for name, value, dtype in (("", 2.5, -1), ("int", 2.5, INT32), ("i64", -7.0, INT64), ("bool", 1.0, BOOL), ("f64", 0.1, FP64), ("f32", 0.1, FP32),
                               ("inf", -np.inf, FP32), ("nan", np.nan, FP32)):
        case(f"fill_any_like_{name}", "fill_any_like", {"X": x}, {"Out": 1}, {"value": value, "dtype": dtype})
    case("fill_any_like_of_i64", "fill_any_like", {"X": np.array([1, 2], I64)}, {"Out": 1}, {"value": 3.0, "dtype": -1})
    case("fill_any_like_empty", "fill_any_like", {"X": np.zeros((0, 2), F)}, {"Out": 1}, {"value": 3.0, "dtype": -1}, expect={"Out": np.zeros((0, 2), F)})
    case("fill_zeros_like", "fill_zeros_like", {"X": x}, {"Out": ["float32"]})
    for name, attrs in (("", {"shape": [-1, 5], "value": 2.0}), ("dims", {"shape": [7, -1], "value": 2.0, "input_dim_idx": 1, "output_dim_idx": 1, "dtype": INT64}),
                        ("text", {"shape": [7, 4], "str_value": "3", "value": 1.0}), ("vector", {"shape": [9], "value": 0.5, "input_dim_idx": 1})):
        full = {"input_dim_idx": 0, "output_dim_idx": 0, "dtype": FP32, "str_value": "", "force_cpu": False, **attrs}
        case(f"fill_constant_batch_size_like_{name}", "fill_constant_batch_size_like", {"Input": x}, {"Out": 1}, full)
    for name, attrs in (("f32", {"shape": [2, 2], "dtype": FP32, "fp32_values": [1.0, -2.5, 1e-40, 3e38]}), ("bool", {"shape": [3], "dtype": BOOL, "bool_values": [1, 0, 1]}),
                        ("i32", {"shape": [1, 2], "dtype": INT32, "int32_values": [-7, 2**31 - 1]}), ("i64", {"shape": [], "dtype": INT64, "int64_values": [2**40]}),
                        ("f64", {"shape": [2], "dtype": FP64, "fp64_values": [0.1, -1e300]})):
        case(f"assign_value_{name}", "assign_value", {}, {"Out": 1}, attrs)
    for t in (I32, I64):
        case(f"one_hot_v2_{np.dtype(t).name}", "one_hot_v2", {"X": np.array([[0, 2], [1, 4]], t)}, {"Out": 1}, {"depth": 5, "dtype": FP32, "allow_out_of_range": False})
    case("one_hot_v2_i64_out", "one_hot_v2", {"X": np.array([[1], [0]], I64)}, {"Out": 1}, {"depth": 2, "dtype": INT64, "allow_out_of_range": False})
    case("one_hot_v2_scalar", "one_hot_v2", {"X": np.array(1, I64)}, {"Out": 1}, {"depth": 3, "dtype": FP32, "allow_out_of_range": False})
    case("one_hot_v2_depth", "one_hot_v2", {"X": np.array([0, 3], I64), "depth_tensor": np.array([4], I32)}, {"Out": 1}, {"depth": -1, "dtype": FP32, "allow_out_of_range": False},
         known=["depth_tensor"])
    # Paddle's CPU kernel refuses what the attribute allows.
    case("one_hot_v2_beyond", "one_hot_v2", {"X": np.array([0, 5, -1], I64)}, {"Out": 1}, {"depth": 2, "dtype": FP32, "allow_out_of_range": True},
         expect={"Out": np.array([[1, 0], [0, 0], [0, 0]], F)})
    case("one_hot_v2_empty", "one_hot_v2", {"X": np.zeros((0, 2), I64)}, {"Out": 1}, {"depth": 3, "dtype": FP32, "allow_out_of_range": False},
         expect={"Out": np.zeros((0, 2, 3), F)})
    case("meshgrid_2", "meshgrid", {"X": [np.array([1, 2], F), np.array([3, 4, 5], F)]}, {"Out": 2})
    case("meshgrid_3", "meshgrid", {"X": [np.arange(4, dtype=I64), np.array([7], I64), np.array(9, I64)]}, {"Out": 3})
    case("meshgrid_5", "meshgrid", {"X": [np.arange(n, dtype=F) for n in (2, 3, 1, 2, 2)]}, {"Out": 5})
    for lower in (False, True):
        for diagonal in (-1, 0, 2, -9, 9):
            case(f"tril_triu_{lower}_{diagonal}", "tril_triu", {"X": rng.standard_normal((2, 3, 4)).astype(F)}, {"Out": 1}, {"lower": lower, "diagonal": diagonal})
    case("tril_triu_bool", "tril_triu", {"X": np.ones((3, 3), B)}, {"Out": 1}, {"lower": True, "diagonal": 0})
    case("tril_triu_i64_tall", "tril_triu", {"X": np.arange(1, 11, dtype=I64).reshape(5, 2)}, {"Out": 1}, {"lower": True, "diagonal": -1})
    case("tril_triu_odd", "tril_triu", {"X": np.full((2, 2), np.nan, F)}, {"Out": 1}, {"lower": False, "diagonal": 0})
    case("tril_triu_empty", "tril_triu", {"X": np.zeros((0, 3), F)}, {"Out": 1}, {"lower": False, "diagonal": 0}, expect={"Out": np.zeros((0, 3), F)})
