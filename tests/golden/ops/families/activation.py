"""Maps of one operand: on ordinary values against Paddle, on odd ones (non-finite, subnormal, huge, zeros of both signs) against numpy in
double, because Paddle's vectorised CPU kernels flush, clamp or multiply by masks there."""

import math

import numpy as np

F, D, I32, I64 = np.float32, np.float64, np.int32, np.int64
ODD = np.array([[-np.inf, -1e30, -100.0, -2.5], [-0.5, -1e-30, -1e-40, -0.0], [0.0, 1e-40, 1e-30, 0.5], [1.5, 20.5, 65519.0, 3e38], [np.inf, np.nan, 1.0, -1.0]], F)
erf = np.vectorize(math.erf)


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(beta * x > threshold, x, np.logaddexp(0, beta * x) / beta)


def mish(x, threshold=20.0):
    return x * np.where(x > threshold, np.tanh(x), np.tanh(np.logaddexp(0, x)))


def away(x):
    return np.where(np.isfinite(x), np.copysign(np.floor(np.abs(x) + 0.5), x), x)


def keep(condition, x):
    return np.where(condition | np.isnan(x), x, 0)


# name: (function in double, attributes, least and largest ordinary operand)
MAPS = {
    "leaky_relu": (lambda x: np.where(x < 0, D(F(0.1)) * x, x), {"alpha": 0.1}, -3, 3),
    "elu": (lambda x: np.where(x < 0, 0.5 * np.expm1(x), x), {"alpha": 0.5}, -3, 3),
    "selu": (lambda x: D(F(1.0507010221481323)) * np.where(x < 0, D(F(1.6732631921768188)) * np.expm1(x), x), {}, -3, 3),
    "celu": (lambda x: np.where(x < 0, 2 * np.expm1(x / 2), x), {"alpha": 2.0}, -3, 3),
    "silu": (lambda x: x * (1 / (1 + np.exp(-x))), {}, -6, 6),
    "mish": (mish, {}, -6, 6),
    "softplus": (lambda x: softplus(x, 2.0, 15.0), {"beta": 2.0, "threshold": 15.0}, -6, 12),
    "softsign": (lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))), {}, -3, 3),
    "stanh": (lambda x: D(F(1.7159)) * np.tanh(D(F(0.67)) * x), {"scale_a": 0.67, "scale_b": 1.7159}, -3, 3),
    "rsqrt": (lambda x: 1 / np.sqrt(x), {}, 0.01, 9),
    "reciprocal": (lambda x: 1 / x, {}, 0.01, 9),
    "floor": (np.floor, {}, -5, 5),
    "ceil": (np.ceil, {}, -5, 5),
    "round": (away, {}, -5, 5),
    "trunc": (np.trunc, {}, -5, 5),
    "sign": (np.sign, {}, -5, 5),
    "sin": (np.sin, {}, -9, 9),
    "cos": (np.cos, {}, -9, 9),
    "tan": (np.tan, {}, -1.4, 1.4),
    "asin": (np.arcsin, {}, -1, 1),
    "acos": (np.arccos, {}, -1, 1),
    "atan": (np.arctan, {}, -9, 9),
    "sinh": (np.sinh, {}, -5, 5),
    "cosh": (np.cosh, {}, -5, 5),
    "asinh": (np.arcsinh, {}, -9, 9),
    "acosh": (np.arccosh, {}, 1, 9),
    "atanh": (np.arctanh, {}, -0.99, 0.99),
    "erf": (erf, {}, -3, 3),
    "expm1": (np.expm1, {}, -3, 3),
    "log2": (np.log2, {}, 0.1, 9),
    "log10": (np.log10, {}, 0.1, 9),
    "log1p": (np.log1p, {}, -0.9, 9),
    "logsigmoid": (lambda x: -np.logaddexp(0, -x), {}, -6, 6),
    "thresholded_relu": (lambda x: keep(x > 1, x), {"threshold": 1.0}, -3, 3),
    "hard_shrink": (lambda x: keep(np.abs(x) > 0.5, x), {"threshold": 0.5}, -3, 3),
    "softshrink": (lambda x: np.where(np.isnan(x), x, np.sign(x) * np.maximum(np.abs(x) - 0.25, 0)), {"lambda": 0.25}, -3, 3),
    "tanh_shrink": (lambda x: x - np.tanh(x), {}, -3, 3),
    "brelu": (lambda x: np.clip(x, -1, 6), {"t_min": -1.0, "t_max": 6.0}, -3, 9),
}


def cases(case):
    rng = np.random.default_rng(11)
    with np.errstate(all="ignore"):
        for op, (function, attrs, low, high) in MAPS.items():
            case(f"{op}", op, {"X": rng.uniform(low, high, (2, 3, 7)).astype(F)}, {"Out": 1}, attrs)
            case(f"{op}_odd", op, {"X": ODD}, {"Out": 1}, attrs, expect={"Out": function(ODD.astype(D)).astype(F)})
            case(f"{op}_scalar", op, {"X": np.array(0.75 if op != "acosh" else 1.75, F)}, {"Out": 1}, attrs)
        for op in ("leaky_relu", "floor", "softplus", "mish"):
            case(f"{op}_empty", op, {"X": np.zeros((0, 3), F)}, {"Out": 1}, MAPS[op][1], expect={"Out": np.zeros((0, 3), F)})
        for op in ("sin", "expm1", "softplus", "sign"):
            case(f"{op}_f64", op, {"X": rng.uniform(-2, 2, (5,))}, {"Out": 1}, MAPS[op][1])
    case("round_halves", "round", {"X": np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609.0, -0.2], F)}, {"Out": 1})
    case("sign_i64", "sign", {"X": np.array([-(2**62), 0, 7], I64)}, {"Out": 1})
    case("trunc_i32", "trunc", {"X": np.array([-(2**31), 0, 7], I32)}, {"Out": 1})
    case("softplus_line", "softplus", {"X": np.array([7.4, 7.6, 40.0, 90.0], F)}, {"Out": 1}, {"beta": 2.0, "threshold": 15.0})
    case("mish_line", "mish", {"X": np.array([-1.0, 0.25, 0.75, 3.0], F)}, {"Out": 1}, {"threshold": 0.5})
    case("elu_negative_alpha", "elu", {"X": np.array([-1.0, 0.0, 2.0], F)}, {"Out": 1}, {"alpha": -0.5})
    for dims, mode, slopes, layout in (
        ((2, 3, 4, 5), "all", (1,), "NCHW"), ((2, 3, 4, 5), "channel", (3,), "NCHW"), ((2, 3, 4, 5), "channel", (1, 3, 1, 1), "NCHW"),
        ((2, 3, 4, 5), "channel", (5,), "NHWC"), ((2, 3, 4, 5), "element", (1, 3, 4, 5), "NCHW"), ((4, 6), "channel", (6,), "NCHW"),
        ((2, 3, 2, 2, 2), "channel", (3,), "NCHW"), ((7,), "all", (1,), "NCHW"), ((), "all", (1,), "NCHW"), ((2, 3), "element", (1, 3), "NCHW"),
    ):
        x, alpha = rng.standard_normal(dims).astype(F), rng.uniform(0, 2, slopes).astype(F)
        name = f"prelu_{mode}_{len(dims)}d_{layout.lower()}_{'x'.join(map(str, slopes))}"
        case(name, "prelu", {"X": np.array(x, F), "Alpha": alpha}, {"Out": 1}, {"mode": mode, "data_format": layout})
    odd = np.where(ODD < 0, 0.5 * ODD, ODD)
    case("prelu_odd", "prelu", {"X": ODD, "Alpha": np.array([0.5], F)}, {"Out": 1}, {"mode": "all", "data_format": "NCHW"}, expect={"Out": odd})
    case("prelu_empty", "prelu", {"X": np.zeros((0, 3, 2), F), "Alpha": np.ones(3, F)}, {"Out": 1}, {"mode": "channel", "data_format": "NCHW"},
         expect={"Out": np.zeros((0, 3, 2), F)})
    x = np.array([[3.5], [-2.0]], F)
    case("increment", "increment", {"X": np.array([3.5], F)}, {"Out": 1}, {"step": -1.25})
    case("increment_i64", "increment", {"X": np.array([2**40], I64)}, {"Out": 1}, {"step": 1.0})
    case("increment_i32_fraction", "increment", {"X": np.array([7], I32)}, {"Out": 1}, {"step": 2.5})
    case("clip_tensors", "clip", {"X": x, "Min": np.array([-1.0], F), "Max": np.array([1.0], F)}, {"Out": 1}, {"min": 0.0, "max": 0.0})
    for axis in (-1, 0, 1):
        case(f"log_softmax_{axis}", "log_softmax", {"X": rng.standard_normal((3, 70, 5)).astype(F)}, {"Out": 1}, {"axis": axis})
    case("log_softmax_scalar", "log_softmax", {"X": np.array(3.0, F)}, {"Out": 1}, {"axis": -1})
    # Paddle's CPU kernel keeps what is left below the maximum above -64.
    far = np.array([[-200.0, 200.0], [-np.inf, 1.0], [np.nan, 1.0]], F)
    case("log_softmax_far", "log_softmax", {"X": far}, {"Out": 1}, {"axis": -1}, expect={"Out": np.array([[-400, 0], [-np.inf, 0], [np.nan, np.nan]], F)})
    case("log_softmax_empty", "log_softmax", {"X": np.zeros((0, 3), F)}, {"Out": 1}, {"axis": -1}, expect={"Out": np.zeros((0, 3), F)})
