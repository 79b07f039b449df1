"""Ops that take, change or move elements by position."""

import numpy as np

F, I32, I64 = np.float32, np.int32, np.int64


def cases(case):
    rng = np.random.default_rng(12)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)
    ints = lambda *v: np.array(v, I64)
    whole = lambda *dims: rng.integers(-99, 99, dims).astype(I64)

    case("gather_nd", "gather_nd", {"X": rand(3, 4, 5), "Index": ints([[0, 3], [2, 1]], [[1, 1], [1, 1]])}, {"Out": 1})
    case("gather_nd_rows", "gather_nd", {"X": rand(3, 4), "Index": np.array([[2], [0], [2]], I32)}, {"Out": 1})
    case("gather_nd_elements", "gather_nd", {"X": whole(3, 4), "Index": ints([0, 0], [2, 3])}, {"Out": 1})
    case("gather_nd_one", "gather_nd", {"X": rand(1), "Index": ints([0])}, {"Out": 1})
    case("gather_nd_whole", "gather_nd", {"X": rand(2, 3), "Index": np.zeros((2, 0), I64)}, {"Out": 1})
    x = rand(3, 4)
    case("gather_nd_none", "gather_nd", {"X": x, "Index": np.zeros((0, 1), I64)}, {"Out": 1}, expect={"Out": np.zeros((0, 4), F)})
    case("index_select", "index_select", {"X": rand(3, 4, 2), "Index": ints(3, 0, 0)}, {"Out": 1}, {"dim": 1})
    case("index_select_negative_axis", "index_select", {"X": whole(3, 4), "Index": np.array([1, 1, 3], I32)}, {"Out": 1}, {"dim": -1})
    case("index_select_none", "index_select", {"X": x, "Index": np.zeros(0, I64)}, {"Out": 1}, {"dim": 0}, expect={"Out": np.zeros((0, 4), F)})
    case("index_sample", "index_sample", {"X": rand(3, 4), "Index": ints([0, 3], [1, 1], [2, 0])}, {"Out": 1})
    case("index_sample_one", "index_sample", {"X": whole(1, 1), "Index": np.array([[0, 0, 0]], I32)}, {"Out": 1})
    i = rng.integers(0, 4, (3, 2, 5))
    case("take_along_axis", "take_along_axis", {"Input": rand(3, 4, 5), "Index": i.astype(I64)}, {"Result": 1}, {"Axis": 1})
    x, i = whole(2, 4), np.array([[3, 3, 0], [1, 2, 0]], I32)
    case("take_along_axis_last", "take_along_axis", {"Input": x, "Index": i}, {"Result": 1}, {"Axis": -1}, expect={"Result": np.take_along_axis(x, i, 1)})

    for overwrite in (True, False):
        word = "write" if overwrite else "add"
        x = rand(5, 3)
        x[4] = [np.nan, np.inf, -np.inf]
        u = rand(3, 3)
        case(f"scatter_{word}", "scatter", {"X": x, "Ids": ints(4, 0, 2), "Updates": u}, {"Out": 1}, {"overwrite": overwrite})
        case(f"scatter_{word}_twice", "scatter", {"X": x, "Ids": np.array([1, 1, 3], I32), "Updates": u}, {"Out": 1}, {"overwrite": overwrite})
        case(f"scatter_{word}_i64", "scatter", {"X": whole(4, 2), "Ids": ints(3, 3), "Updates": whole(2, 2)}, {"Out": 1}, {"overwrite": overwrite})
        case(f"scatter_{word}_none", "scatter", {"X": x, "Ids": np.zeros(0, I64), "Updates": np.zeros((0, 3), F)}, {"Out": 1}, {"overwrite": overwrite}, expect={"Out": x})
    case("scatter_vector", "scatter", {"X": rand(4), "Ids": ints(2), "Updates": rand(1)}, {"Out": 1}, {"overwrite": True})
    case("scatter_nd_add", "scatter_nd_add", {"X": rand(3, 4), "Index": ints([2], [0], [2]), "Updates": rand(3, 4)}, {"Out": 1})
    case("scatter_nd_add_elements", "scatter_nd_add", {"X": rand(3, 4), "Index": ints([[2, 3], [0, 0]], [[2, 3], [1, 1]]), "Updates": rand(2, 2)}, {"Out": 1})
    case("scatter_nd_add_i64", "scatter_nd_add", {"X": whole(4), "Index": ints([1], [1], [3]), "Updates": whole(3)}, {"Out": 1})

    case("unstack", "unstack", {"X": rand(2, 3, 4)}, {"Y": 3}, {"axis": 1, "num": 3})
    case("unstack_last", "unstack", {"X": whole(2, 2)}, {"Y": 2}, {"axis": -1, "num": 2})
    case("unstack_vector", "unstack", {"X": rand(2)}, {"Y": 2}, {"axis": 0, "num": 2})
    case("unbind", "unbind", {"X": rand(2, 3)}, {"Out": 2}, {"axis": 0})
    steps = lambda name, dims, axes, starts, ends, strides: case(
        f"strided_slice_{name}", "strided_slice", {"Input": rand(*dims)}, {"Out": 1},
        {"axes": axes, "starts": starts, "ends": ends, "strides": strides, "infer_flags": [1] * len(axes), "decrease_axis": []})
    steps("forward", (3, 9), [1], [1], [8], [3])
    steps("backward", (3, 9), [1], [8], [0], [-2])
    steps("whole_backward", (7,), [0], [6], [-1], [-1])
    steps("backward_far_end", (7,), [0], [4], [-8], [-1])
    steps("backward_far_start", (7,), [0], [20], [2], [-2])
    steps("both", (4, 9), [0, 1], [-1, 2], [0, 100], [-1, 4])
    steps("nothing", (4,), [0], [2], [2], [2])
    case("flip", "flip", {"X": rand(2, 3, 4)}, {"Out": 1}, {"axis": [0, -1]})
    case("flip_one", "flip", {"X": whole(1)}, {"Out": 1}, {"axis": [0]})
    case("roll", "roll", {"X": rand(3, 4)}, {"Out": 1}, {"shifts": [1, -2], "axis": [0, 1]})
    case("roll_far", "roll", {"X": whole(5)}, {"Out": 1}, {"shifts": [-13], "axis": [0]})
    case("roll_flat", "roll", {"X": rand(3, 4)}, {"Out": 1}, {"shifts": [5], "axis": []})
    case("expand_as_v2", "expand_as_v2", {"X": rand(1, 4), "Y": whole(2, 3, 4)}, {"Out": 1}, {"target_shape": [2, 3, 4]})
    case("expand_as_v2_one", "expand_as_v2", {"X": rand(1)}, {"Out": 1}, {"target_shape": [2, 2]})
    case("size", "size", {"Input": rand(3, 4)}, {"Out": ["int64"]})
    case("linspace", "linspace", {"Start": np.array([-1], F), "Stop": np.array([2.5], F), "Num": np.array([7], I32)}, {"Out": 1}, {"dtype": 5}, known=["Num"])
    case("linspace_one", "linspace", {"Start": np.array([3], F), "Stop": np.array([2.5], F), "Num": np.array([1], I32)}, {"Out": 1}, {"dtype": 5}, known=["Num"])
    case("eye", "eye", {}, {"Out": 1}, {"num_rows": 2, "num_columns": 3, "dtype": 5})
    case("lookup_table_v2_padding", "lookup_table_v2", {"W": rand(4, 3), "Ids": ints([1, 2], [2, 0])}, {"Out": 1}, {"padding_idx": 2})
    case("lookup_table_padding", "lookup_table", {"W": rand(4, 3), "Ids": ints([1], [3], [0])}, {"Out": 1}, {"padding_idx": 0})
