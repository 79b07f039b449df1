"""Ops that order elements: ties, NaN, infinities and signed zeros in place. Where Paddle's order of equals is not that of the operand, the
reference is numpy."""

import numpy as np

F, I32, I64 = np.float32, np.int32, np.int64
NAN, INF = np.nan, np.inf
ODD = np.array([[3, NAN, 1, 3, NAN, -INF, INF, -0.0, 0.0], [0, 0, 0, 0, 0, 0, 0, 0, 0], [NAN, NAN, 1, 1, 2, 2, 1e-40, -1e-40, 65519]], F)


def order(x, axis, descending):
    """A stable order with NaN above every number."""
    moved = np.moveaxis(x, axis, -1)
    nan = np.isnan(moved)
    keys = np.where(nan, 0, moved)
    index = np.arange(moved.shape[-1]) + np.zeros(moved.shape, I64)
    found = np.lexsort((index, -keys, ~nan) if descending else (index, keys, nan), -1)
    return np.moveaxis(found, -1, axis)


def cases(case):
    rng = np.random.default_rng(13)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)
    both = {"Out": 1, "Indices": ["int64"]}
    for descending in (False, True):
        word = "down" if descending else "up"
        case(f"argsort_{word}", "argsort", {"X": rand(2, 3, 5)}, both, {"axis": -1, "descending": descending})
        case(f"argsort_{word}_axis", "argsort", {"X": rand(3, 4, 2)}, both, {"axis": -2, "descending": descending})
        case(f"argsort_{word}_odd", "argsort", {"X": ODD}, both, {"axis": 1, "descending": descending})
        case(f"argsort_{word}_i64", "argsort", {"X": np.array([3, -1, 3, 2**40, -1], I64)}, {"Out": ["int64"], "Indices": ["int64"]}, {"axis": 0, "descending": descending})
        x = rng.integers(0, 5, (2, 40)).astype(F)  # many equals: stable
        at = order(x, 1, descending)
        case(f"argsort_{word}_ties", "argsort", {"X": x}, both, {"axis": 1, "descending": descending}, expect={"Out": np.take_along_axis(x, at, 1), "Indices": at})
    case("argsort_one", "argsort", {"X": rand(1)}, both, {"axis": 0})
    case("argsort_scalar", "argsort", {"X": np.array(2.5, F)}, both, {"axis": -1}, expect={"Out": np.array(2.5, F), "Indices": np.array(0, I64)})
    case("argsort_empty", "argsort", {"X": rand(0, 3)}, both, {"axis": 1}, expect={"Out": rand(0, 3), "Indices": np.zeros((0, 3), I64)})
    for largest in (True, False):
        word = "largest" if largest else "smallest"
        case(f"top_k_v2_{word}", "top_k_v2", {"X": rand(3, 6)}, both, {"k": 4, "axis": -1, "largest": largest, "sorted": True})
        case(f"top_k_v2_{word}_axis", "top_k_v2", {"X": rand(6, 3)}, both, {"k": 2, "axis": 0, "largest": largest, "sorted": True})
        x = np.concatenate([ODD, ODD[:, ::-1]], 1)
        at = order(x, 1, largest)[:, :6]
        case(f"top_k_v2_{word}_odd", "top_k_v2", {"X": x}, both, {"k": 6, "axis": 1, "largest": largest, "sorted": True}, expect={"Out": np.take_along_axis(x, at, 1), "Indices": at})
        case(f"top_k_v2_{word}_all", "top_k_v2", {"X": rand(4)}, both, {"k": 4, "axis": 0, "largest": largest, "sorted": True})
    case("top_k_v2_tensor", "top_k_v2", {"X": rand(2, 5), "K": np.array([3], I32)}, both, {"k": 1, "axis": -1, "largest": True, "sorted": True}, known=["K"])
    case("top_k_v2_i64", "top_k_v2", {"X": np.array([[7, -3, 2**41]], I64)}, {"Out": ["int64"], "Indices": ["int64"]}, {"k": 2, "axis": -1, "largest": True, "sorted": True})
    case("top_k_v2_one", "top_k_v2", {"X": rand(1, 1)}, both, {"k": 1, "axis": -1, "largest": True, "sorted": True})
    case("top_k", "top_k", {"X": rand(3, 6)}, both, {"k": 2})
    for op in ("arg_max", "arg_min"):
        case(f"{op}_odd", op, {"X": ODD}, {"Out": ["int64"]}, {"axis": -1, "keepdims": False, "flatten": False, "dtype": 3})
        case(f"{op}_odd_columns", op, {"X": ODD}, {"Out": ["int64"]}, {"axis": 0, "keepdims": True, "flatten": False, "dtype": 3})
        case(f"{op}_nan", op, {"X": np.array([[NAN, NAN], [NAN, -INF], [NAN, INF], [-INF, -INF], [INF, INF]], F)}, {"Out": ["int64"]}, {"axis": 1, "keepdims": False, "flatten": False, "dtype": 3})
        case(f"{op}_flat", op, {"X": rand(3, 4)}, {"Out": ["int32"]}, {"axis": 0, "keepdims": False, "flatten": True, "dtype": 2})
        case(f"{op}_i64", op, {"X": np.array([[5, -7, 5], [-7, 0, -7]], I64)}, {"Out": ["int64"]}, {"axis": 1, "keepdims": False, "flatten": False, "dtype": 3})
