"""Ops that models of every kind use: a first round over moving, element-wise, summing and normalising ops."""

import numpy as np

F, I32, I64 = np.float32, np.int32, np.int64
ODD = np.array([[-np.inf, -1e30, -2.5, -1e-30], [-0.0, 0.0, 1e-40, np.nan], [0.75, 3.0, 65519.0, np.inf]], F)  # non-finite, tiny, large


def cases(case):
    rng = np.random.default_rng(7)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)
    for op in ("relu", "sigmoid", "tanh", "exp", "sqrt", "square", "abs"):
        keeps_nan = {"Out": np.maximum(ODD, 0)} if op == "relu" else None  # Paddle's CPU kernel makes 0 of it, the GPU's does not
        case(f"{op}_odd", op, {"X": ODD}, {"Out": 1}, expect=keeps_nan)
        case(f"{op}_empty", op, {"X": rand(0, 3)}, {"Out": 1}, expect={"Out": rand(0, 3)})
    for op in ("elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div"):
        case(f"{op}_axis", op, {"X": rand(2, 3, 4), "Y": rand(3)}, {"Out": 1}, {"axis": 1})
        case(f"{op}_both", op, {"X": rand(2, 1, 4), "Y": rand(3, 1)}, {"Out": 1})
        case(f"{op}_odd", op, {"X": ODD, "Y": ODD[::-1].copy()}, {"Out": 1})
    case("elementwise_add_i64", "elementwise_add", {"X": np.array([2**40, -5], I64), "Y": np.array([1], I64)}, {"Out": 1})
    for axis in (-1, 0, 1):
        case(f"softmax_{axis}", "softmax", {"X": rand(3, 4, 5)}, {"Out": 1}, {"axis": axis})
    case("reduce_sum", "reduce_sum", {"X": rand(3, 4, 5)}, {"Out": 1}, {"dim": [-1], "keep_dim": False, "reduce_all": False})
    case("reduce_max_keep", "reduce_max", {"X": rand(3, 4, 5)}, {"Out": 1}, {"dim": [0, -1], "keep_dim": True, "reduce_all": False})
    case("reduce_mean_all", "reduce_mean", {"X": rand(3, 4)}, {"Out": 1}, {"dim": [], "keep_dim": False, "reduce_all": True})
    case("concat", "concat", {"X": [rand(2, 3), rand(2, 1), rand(2, 4)]}, {"Out": 1}, {"axis": -1})
    case("split", "split", {"X": rand(2, 6)}, {"Out": 3}, {"axis": 1, "num": 0, "sections": [1, 2, 3]})
    case("slice", "slice", {"Input": rand(3, 4, 5)}, {"Out": 1}, {"axes": [0, 2], "starts": [-2, 1], "ends": [100, -1]})
    case("transpose2", "transpose2", {"X": rand(2, 3, 4)}, {"Out": 1, "XShape": 1}, {"axis": [2, 0, 1]}, hidden=["XShape"])
    case("reshape2_shape", "reshape2", {"X": rand(2, 6), "Shape": np.array([3, -1], I32)}, {"Out": 1, "XShape": 1}, {"shape": []}, known=["Shape"], hidden=["XShape"])
    case("gather", "gather", {"X": rand(4, 3), "Index": np.array([3, 0, 3], I64)}, {"Out": 1})
    case("cast_to_int", "cast", {"X": np.array([-1.5, 0.0, 2.99], F)}, {"Out": 1}, {"in_dtype": 5, "out_dtype": 3})
    case("lookup_table_v2", "lookup_table_v2", {"W": rand(5, 4), "Ids": np.array([[4, 0], [1, 1]], I64)}, {"Out": 1}, {"padding_idx": -1})
    case("matmul_v2", "matmul_v2", {"X": rand(2, 3, 5), "Y": rand(4, 5)}, {"Out": 1}, {"trans_x": False, "trans_y": True})
    case("conv2d", "conv2d", {"Input": rand(2, 4, 7, 6), "Filter": rand(6, 2, 3, 3)}, {"Output": 1},
         {"strides": [2, 1], "paddings": [1, 0], "dilations": [1, 1], "groups": 2, "data_format": "NCHW", "padding_algorithm": "EXPLICIT"})
    case("pool2d_avg", "pool2d", {"X": rand(1, 2, 5, 5)}, {"Out": 1}, {"pooling_type": "avg", "ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1], "exclusive": True})
    case("layer_norm", "layer_norm", {"X": rand(2, 3, 8), "Scale": rand(8), "Bias": rand(8)}, {"Y": 1, "Mean": 1, "Variance": 1}, {"begin_norm_axis": 2, "epsilon": 1e-5})
    case("batch_norm", "batch_norm", {"X": rand(2, 3, 4, 4), "Scale": rand(3), "Bias": rand(3), "Mean": rand(3), "Variance": np.abs(rand(3)) + 0.5},
         {"Y": 1, "MeanOut": "=Mean", "VarianceOut": "=Variance", "SavedMean": 1, "SavedVariance": 1}, {"is_test": True, "use_global_stats": True, "epsilon": 1e-5},
         hidden=["MeanOut", "VarianceOut", "SavedMean", "SavedVariance"])
