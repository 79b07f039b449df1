"""Reductions, norms and running sums over every kind of axis; products and sums that leave their type; truth of numbers."""

import numpy as np

F, D, I32, I64, B = np.float32, np.float64, np.int32, np.int64, np.bool_
AXES = (("first", [0]), ("last", [-1]), ("two", [0, 2]), ("minus", [-2]), ("all", []))


def cases(case):
    rng = np.random.default_rng(13)
    rand = lambda *dims: rng.uniform(0.5, 2, dims).astype(F)
    for name, dim in AXES:
        for keep in (False, True):
            attrs = {"dim": dim, "keep_dim": keep, "reduce_all": not dim}
            tag = f"{name}{'_keep' if keep else ''}"
            case(f"reduce_prod_{tag}", "reduce_prod", {"X": rand(3, 4, 5)}, {"Out": 1}, attrs)
            case(f"frobenius_norm_{tag}", "frobenius_norm", {"X": rand(3, 4, 5)}, {"Out": 1}, attrs)
            for op in ("reduce_all", "reduce_any"):
                case(f"{op}_{tag}", op, {"X": rng.random((3, 2, 3)) > (0.3 if op == "reduce_all" else 0.8)}, {"Out": ["bool"]}, attrs)
            axes = {"axis": dim or [0], "keepdim": keep, "reduce_all": not dim}
            case(f"logsumexp_{tag}", "logsumexp", {"X": rand(3, 4, 5) * 3}, {"Out": 1}, axes)
    for op in ("reduce_all", "reduce_any"):
        for t in (F, D, I32, I64):
            x = np.array([[1, 0, 2], [0, 0, 0], [3, 1, -1]], t)
            case(f"{op}_{np.dtype(t).name}", op, {"X": x}, {"Out": ["bool"]}, {"dim": [1], "keep_dim": False, "reduce_all": False})
        case(f"{op}_nan", op, {"X": np.array([np.nan, 1e-40, -np.inf], F)}, {"Out": ["bool"]}, {"dim": [0], "keep_dim": False, "reduce_all": True},
             expect={"Out": np.array(True)})
        case(f"{op}_nothing", op, {"X": np.zeros((2, 0), B)}, {"Out": ["bool"]}, {"dim": [1], "keep_dim": False, "reduce_all": False},
             expect={"Out": np.array([op == "reduce_all"] * 2)})
        case(f"{op}_scalar", op, {"X": np.array(True)}, {"Out": ["bool"]}, {"dim": [0], "keep_dim": False, "reduce_all": True})
    case("reduce_prod_i32_wraps", "reduce_prod", {"X": np.array([[65536, 65537], [3, -5]], I32)}, {"Out": 1}, {"dim": [1], "keep_dim": False, "reduce_all": False})
    case("reduce_prod_i64", "reduce_prod", {"X": np.array([[2**40, 5], [3, -5]], I64)}, {"Out": 1}, {"dim": [0], "keep_dim": False, "reduce_all": False})
    case("reduce_prod_nothing", "reduce_prod", {"X": np.zeros((2, 0), F)}, {"Out": 1}, {"dim": [1], "keep_dim": False, "reduce_all": False},
         expect={"Out": np.ones(2, F)})
    case("reduce_prod_odd", "reduce_prod", {"X": np.array([[np.inf, 2], [np.nan, 1], [-np.inf, np.inf], [0, np.inf]], F)}, {"Out": 1},
         {"dim": [1], "keep_dim": False, "reduce_all": False})
    # Paddle multiplies lane by lane in fp32: 2^300 times 2^-300 is inf times 0.
    case("reduce_prod_long", "reduce_prod", {"X": np.tile(np.array([2, 0.5], F), 300)}, {"Out": 1}, {"dim": [0], "keep_dim": False, "reduce_all": False},
         expect={"Out": np.array(1, F)})
    for order in (0.0, 1.0, 2.0, 3.0, -1.0, np.inf, -np.inf):
        for axis in (0, -1):
            case(f"p_norm_{order}_{axis}", "p_norm", {"X": rand(4, 5) * np.array([1, -1, 1, -1, 2], F)}, {"Out": 1},
                 {"porder": order, "axis": axis, "keepdim": axis == 0, "asvector": False, "epsilon": 1e-12})
    case("p_norm_vector", "p_norm", {"X": rand(3, 4, 5)}, {"Out": 1}, {"porder": 2.0, "axis": -1, "keepdim": False, "asvector": True, "epsilon": 1e-12})
    case("p_norm_vector_keep", "p_norm", {"X": rand(3, 4, 5)}, {"Out": 1}, {"porder": 1.0, "axis": -1, "keepdim": True, "asvector": True, "epsilon": 1e-12})
    case("p_norm_wide", "p_norm", {"X": rand(3, 5, 130)}, {"Out": 1}, {"porder": 2.0, "axis": 1, "keepdim": False, "asvector": False, "epsilon": 1e-12})
    # Squares leave fp32, the norm does not: Paddle's sum is in fp32.
    large = np.array([[3e30, 4e30], [3e-30, 4e-30]], F)
    case("p_norm_large", "p_norm", {"X": large}, {"Out": 1}, {"porder": 2.0, "axis": 1, "keepdim": False, "asvector": False, "epsilon": 1e-12},
         expect={"Out": np.array([5e30, 5e-30], F)})
    case("logsumexp_far", "logsumexp", {"X": np.array([[1000, 1000, 999], [-1000, -1000, -1001]], F)}, {"Out": 1}, {"axis": [1], "keepdim": False, "reduce_all": False})
    # Paddle subtracts infinity from infinity.
    odd = np.array([[np.inf, 1], [-np.inf, -np.inf], [np.nan, 1], [-np.inf, 2]], F)
    case("logsumexp_odd", "logsumexp", {"X": odd}, {"Out": 1}, {"axis": [1], "keepdim": False, "reduce_all": False},
         expect={"Out": np.array([np.inf, -np.inf, np.nan, 2], F)})
    for name, attrs in (("", {}), ("axis", {"axis": 0}), ("minus", {"axis": -2}), ("exclusive", {"exclusive": True}), ("reverse", {"reverse": True, "axis": 1}),
                        ("both", {"axis": 0, "exclusive": True, "reverse": True}), ("flat", {"flatten": True}), ("flat_reverse", {"flatten": True, "reverse": True})):
        full = {"axis": -1, "flatten": False, "exclusive": False, "reverse": False, **attrs}
        case(f"cumsum_{name}", "cumsum", {"X": rng.standard_normal((3, 4, 5)).astype(F)}, {"Out": 1}, full)
    plain = {"axis": -1, "flatten": False, "exclusive": False, "reverse": False}
    case("cumsum_wide", "cumsum", {"X": rng.standard_normal((2, 3, 130)).astype(F)}, {"Out": 1}, {**plain, "axis": 1})
    case("cumsum_i32_wraps", "cumsum", {"X": np.array([2**31 - 1, 1, 1], I32)}, {"Out": 1}, plain, expect={"Out": np.array([2**31 - 1, -(2**31), -(2**31) + 1], I32)})
    case("cumsum_i64", "cumsum", {"X": np.array([2**40, -1, 7], I64)}, {"Out": 1}, plain)
    case("cumsum_f64", "cumsum", {"X": rng.standard_normal((7,))}, {"Out": 1}, plain)
    case("cumsum_scalar", "cumsum", {"X": np.array(3.0, F)}, {"Out": 1}, plain)
    case("cumsum_empty", "cumsum", {"X": np.zeros((0, 3), F)}, {"Out": 1}, plain, expect={"Out": np.zeros((0, 3), F)})
    case("cumsum_odd", "cumsum", {"X": np.array([1, np.inf, 2, -np.inf, 3], F)}, {"Out": 1}, plain)
    for dim in (0, -1):
        case(f"cumprod_{dim}", "cumprod", {"X": rand(3, 4, 5)}, {"Out": 1}, {"dim": dim})
    case("cumprod_i64", "cumprod", {"X": np.array([3, -5, 7], I64)}, {"Out": 1}, {"dim": 0})
