"""Comparisons, truth values, bits and where: every type, broadcasting, NaN, zeros of both signs."""

import numpy as np

F, D, I32, I64, B = np.float32, np.float64, np.int32, np.int64, np.bool_
COMPARISONS = ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")


def cases(case):
    rng = np.random.default_rng(14)
    small = lambda t, *dims: np.array(rng.integers(0, 3, dims), t)
    for op in COMPARISONS:
        for name, x, y, axis in (("same", (3, 4), (3, 4), -1), ("both", (2, 1, 4), (3, 1), -1), ("scalar", (2, 3), (), -1)):
            case(f"{op}_{name}", op, {"X": small(F, *x), "Y": small(F, *y)}, {"Out": 1}, {"axis": axis})
        for t in (D, I32, I64, B):
            case(f"{op}_{np.dtype(t).name}", op, {"X": small(t, 9), "Y": small(t, 9)}, {"Out": 1}, {"axis": -1})
        x, y = np.array([np.nan, np.nan, -0.0, np.inf, -np.inf, 1, np.inf], F), np.array([np.nan, 1, 0.0, np.inf, np.inf, np.nan, 3e38], F)
        case(f"{op}_odd", op, {"X": x, "Y": y}, {"Out": 1}, {"axis": -1})
        case(f"{op}_empty", op, {"X": np.zeros((0, 2), F), "Y": np.zeros(2, F)}, {"Out": ["bool"]}, {"axis": -1}, expect={"Out": np.zeros((0, 2), B)})
    for op in ("equal", "not_equal"):  # floats closer than 1e-8 count as equal
        case(f"{op}_close", op, {"X": np.array([1e-9, 1e-7, 1.0, 1.0], F), "Y": np.array([0, 0, 1 + 2**-23, 1 + 2**-22], F)}, {"Out": 1}, {"axis": -1})
    for op in ("logical_and", "logical_or", "logical_xor"):
        for t in (B, F, D, I32, I64):
            case(f"{op}_{np.dtype(t).name}", op, {"X": small(t, 2, 3), "Y": small(t, 2, 3)}, {"Out": 1})
        case(f"{op}_broadcast", op, {"X": small(B, 2, 1, 3), "Y": small(B, 4, 1)}, {"Out": 1})
        case(f"{op}_odd", op, {"X": np.array([np.nan, 1e-40, -0.0, np.inf], F), "Y": np.array([1, 1, 1, 0], F)}, {"Out": 1})
    for t in (B, F, I64):
        case(f"logical_not_{np.dtype(t).name}", "logical_not", {"X": small(t, 2, 3)}, {"Out": 1})
    case("logical_not_odd", "logical_not", {"X": np.array([np.nan, 1e-40, -0.0, np.inf], F)}, {"Out": 1}, expect={"Out": np.array([False, False, True, False])})
    for t in (B, np.uint8, np.int8, np.int16, I32, I64):
        bits = lambda *dims: rng.integers(0, 2, dims).astype(B) if t == B else rng.integers(np.iinfo(t).min, np.iinfo(t).max, dims, dtype=t)
        for op in ("bitwise_and", "bitwise_or", "bitwise_xor"):
            case(f"{op}_{np.dtype(t).name}", op, {"X": bits(2, 3), "Y": bits(3)}, {"Out": 1})
        case(f"bitwise_not_{np.dtype(t).name}", "bitwise_not", {"X": bits(5)}, {"Out": 1})
    odd = np.array([np.nan, np.inf, -np.inf, 3e38, 1e-40, -0.0], F)
    for op in ("isfinite_v2", "isinf_v2", "isnan_v2"):
        case(f"{op}", op, {"X": odd}, {"Out": 1})
        case(f"{op}_f64", op, {"X": odd.astype(D)}, {"Out": 1})
        case(f"{op}_i32", op, {"X": np.array([[1, -5]], I32)}, {"Out": 1})
    for t in (F, D, I32, I64):
        case(f"where_{np.dtype(t).name}", "where", {"Condition": small(B, 3, 4), "X": small(t, 3, 4), "Y": small(t, 3, 4) + t(5)}, {"Out": 1})
    case("where_odd", "where", {"Condition": np.array([1, 0, 1, 0, 1, 0], B), "X": odd, "Y": odd[::-1].copy()}, {"Out": 1})
    case("where_scalar", "where", {"Condition": np.array(False), "X": np.array(1, F), "Y": np.array(2, F)}, {"Out": 1})
    case("where_bool", "where", {"Condition": np.array([1, 0, 0], B), "X": np.array([1, 1, 1], B), "Y": np.array([0, 1, 0], B)}, {"Out": ["bool"]},
         expect={"Out": np.array([1, 1, 0], B)})  # Paddle's CPU has no kernel for bool
    case("where_empty", "where", {"Condition": np.zeros((0, 2), B), "X": np.zeros((0, 2), F), "Y": np.zeros((0, 2), F)}, {"Out": 1},
         expect={"Out": np.zeros((0, 2), F)})
