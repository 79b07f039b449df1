"""Binary arithmetic: Paddle's broadcasting and its axis, remainders and divisions of every sign, NaN, and integers that overflow."""

import numpy as np

F, D, I32, I64 = np.float32, np.float64, np.int32, np.int64
SIGNS = ([7, -7, 7, -7, 6, -6, 0, 5], [2, 2, -2, -2, 3, 3, -3, 7])


def cases(case):
    rng = np.random.default_rng(12)
    rand = lambda *dims: rng.uniform(-5, 5, dims).astype(F)
    for op in ("elementwise_mod", "elementwise_floordiv", "elementwise_fmax", "elementwise_fmin"):
        for name, x, y, axis in (("same", (3, 4), (3, 4), -1), ("axis", (2, 3, 4), (3,), 1), ("axis_0", (2, 3), (2,), 0), ("end", (2, 3, 4), (4,), -1),
                                 ("both", (2, 1, 4), (3, 1), -1), ("scalar", (2, 3), (), -1), ("scalars", (), (), -1), ("five", (2, 1, 3, 1, 2), (3, 4, 2), -1)):
            if op in ("elementwise_fmax", "elementwise_fmin") and axis >= 0:
                continue  # Paddle 2.6 ignores their axis
            case(f"{op}_{name}", op, {"X": np.array(rand(*x), F), "Y": np.array(rand(*y), F)}, {"Out": 1}, {"axis": axis})
        for t in (F, D, I32, I64):
            case(f"{op}_signs_{np.dtype(t).name}", op, {"X": np.array(SIGNS[0], t), "Y": np.array(SIGNS[1], t)}, {"Out": 1}, {"axis": -1})
        case(f"{op}_empty", op, {"X": np.zeros((0, 3), F), "Y": np.ones(3, F)}, {"Out": 1}, {"axis": -1}, expect={"Out": np.zeros((0, 3), F)})
    x = np.array([1, 0, -1, np.inf, np.nan, 5, -5, 1e-40, 5], F)
    y = np.array([0, 0, 0, 2, 1, np.inf, np.inf, 3, np.nan], F)
    for op in ("elementwise_mod", "elementwise_floordiv", "elementwise_fmax", "elementwise_fmin", "atan2"):
        slots = ("X1", "X2") if op == "atan2" else ("X", "Y")
        case(f"{op}_odd", op, {slots[0]: x, slots[1]: y}, {"Out": 1}, {} if op == "atan2" else {"axis": -1})
    least = np.array([-(2**31), -(2**31), 2**31 - 1], I32)
    # The quotient 2^31 has no i32; the processor's trap is not the answer.
    case("elementwise_floordiv_overflow", "elementwise_floordiv", {"X": least, "Y": np.array([-1, 2, -1], I32)}, {"Out": ["int32"]}, {"axis": -1},
         expect={"Out": np.array([-(2**31), -(2**30), -(2**31) + 1], I32)})
    case("elementwise_mod_overflow", "elementwise_mod", {"X": least, "Y": np.array([-1, 3, 2**31 - 1], I32)}, {"Out": ["int32"]}, {"axis": -1},
         expect={"Out": np.array([0, 1, 0], I32)})
    case("elementwise_mod_i64", "elementwise_mod", {"X": np.array([2**62 + 1, -(2**62)], I64), "Y": np.array([2**31, 7], I64)}, {"Out": 1}, {"axis": -1})
    for op, out in (("elementwise_add", [-(2**31), 1]), ("elementwise_sub", [2**31 - 2, -3]), ("elementwise_mul", [2**31 - 1, -2])):
        case(f"{op}_overflow", op, {"X": np.array([2**31 - 1, -1], I32), "Y": np.array([1, 2], I32)}, {"Out": 1}, {"axis": -1},
             expect={"Out": np.array(out, np.int64).astype(I32)})
    for op in ("elementwise_max", "elementwise_min", "elementwise_pow", "elementwise_div"):
        case(f"{op}_five", op, {"X": np.abs(rand(2, 1, 3, 1, 2)) + F(0.1), "Y": rand(3, 4, 2)}, {"Out": 1}, {"axis": -1})
        case(f"{op}_i64", op, {"X": np.array([7, 2, 9], I64), "Y": np.array([2, 3, 1], I64)}, {"Out": 1}, {"axis": -1})
    case("elementwise_floordiv_tenths", "elementwise_floordiv", {"X": np.array([1, 0.3, -1, 6], F), "Y": np.array([0.1, 0.1, 0.1, 0.6], F)}, {"Out": 1}, {"axis": -1})
    case("atan2", "atan2", {"X1": rand(3, 4), "X2": rand(3, 4)}, {"Out": 1})
    case("atan2_zeros", "atan2", {"X1": np.array([0.0, -0.0, 0.0, -0.0], F), "X2": np.array([-1, -1, 1, 1], F)}, {"Out": 1})
