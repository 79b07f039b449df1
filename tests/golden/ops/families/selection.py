"""Ops whose results have as many elements as the operands' values say."""

import numpy as np

F, I32, I64 = np.float32, np.int32, np.int64


def cases(case):
    rng = np.random.default_rng(15)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)
    ints = lambda *v: np.array(v, I64)

    case("where_index", "where_index", {"Condition": np.array([[True, False, True], [False, False, True]])}, {"Out": ["int64"]})
    case("where_index_floats", "where_index", {"Condition": np.array([0.0, -0.0, np.nan, 1e-40, -np.inf], F)}, {"Out": ["int64"]})
    case("where_index_ints", "where_index", {"Condition": np.array([[[0], [2]], [[-1], [0]]], I32)}, {"Out": ["int64"]})
    case("where_index_nothing", "where_index", {"Condition": np.zeros((2, 3), bool)}, {"Out": ["int64"]})
    case("where_index_one", "where_index", {"Condition": np.array([True])}, {"Out": ["int64"]})
    x = rand(3, 4)
    case("masked_select", "masked_select", {"X": x, "Mask": x > 0}, {"Y": 1})
    case("masked_select_nothing", "masked_select", {"X": x, "Mask": x > 99}, {"Y": 1})
    case("masked_select_i64", "masked_select", {"X": ints(1, 2, 3), "Mask": np.array([True, False, True])}, {"Y": ["int64"]})
