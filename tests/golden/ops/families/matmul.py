"""Products of matrices and vectors."""

import numpy as np

F, F64, I32, I64 = np.float32, np.float64, np.int32, np.int64


def cases(case):
    rng = np.random.default_rng(13)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)

    def product(name, x, y, tx=False, ty=False, **more):
        case(f"matmul_v2_{name}", "matmul_v2", {"X": x, "Y": y}, {"Out": 1}, {"trans_x": tx, "trans_y": ty}, **more)

    product("vectors", rand(5), rand(5))
    product("vector_matrix", rand(5), rand(5, 3))
    product("vector_stack", rand(5), rand(2, 5, 3))
    product("matrix_vector", rand(4, 5), rand(5))
    product("stack_vector", rand(2, 4, 5), rand(5))
    product("vector_transposed", rand(5), rand(3, 5), ty=True)
    product("broadcast", rand(2, 1, 3, 4), rand(5, 4, 2))
    product("broadcast_transposed", rand(1, 3, 4, 3), rand(2, 1, 2, 4), tx=True, ty=True)
    product("one", rand(1, 1), rand(1, 1))
    product("no_rows", rand(0, 4), rand(4, 3), expect={"Out": rand(0, 3)})
    product("no_sum", rand(2, 0), rand(0, 3), expect={"Out": np.zeros((2, 3), F)})
    case("matmul_alpha", "matmul", {"X": rand(2, 3, 4), "Y": rand(2, 5, 4)}, {"Out": 1}, {"transpose_X": False, "transpose_Y": True, "alpha": 0.125})
    case("mul_flattens", "mul", {"X": rand(2, 3, 2, 2), "Y": rand(2, 2, 5)}, {"Out": 1}, {"x_num_col_dims": 2, "y_num_col_dims": 2})
    case("bmm", "bmm", {"X": rand(3, 4, 5), "Y": rand(3, 5, 2)}, {"Out": 1})
    case("bmm_one", "bmm", {"X": rand(1, 1, 7), "Y": rand(1, 7, 1)}, {"Out": 1})
    case("bmm_no_stack", "bmm", {"X": rand(0, 2, 3), "Y": rand(0, 3, 4)}, {"Out": 1}, expect={"Out": rand(0, 2, 4)})
    case("bmm_no_sum", "bmm", {"X": rand(2, 2, 0), "Y": rand(2, 0, 3)}, {"Out": 1}, expect={"Out": np.zeros((2, 2, 3), F)})
    for name, shape in (("matrix", (4, 3)), ("row", (3,)), ("one_row", (1, 3)), ("column", (4, 1)), ("number", (1,)), ("one", (1, 1))):
        case(f"addmm_{name}", "addmm", {"Input": rand(*shape), "X": rand(4, 5), "Y": rand(5, 3)}, {"Out": 1}, {"Alpha": 0.5, "Beta": 2.0})
    case("addmm_bias", "addmm", {"Input": rand(3), "X": rand(4, 5), "Y": rand(5, 3)}, {"Out": 1}, {"Alpha": 1.0, "Beta": 1.0})
    case("addmm_without_input", "addmm", {"Input": np.full((4, 3), np.nan, F), "X": rand(4, 5), "Y": rand(5, 3)}, {"Out": 1}, {"Alpha": 1.0, "Beta": 0.0})
    i = rand(2, 3)
    case("addmm_no_sum", "addmm", {"Input": i, "X": rand(2, 0), "Y": rand(0, 3)}, {"Out": 1}, {"Alpha": 1.0, "Beta": 3.0}, expect={"Out": 3 * i})
    case("mv", "mv", {"X": rand(4, 6), "Vec": rand(6)}, {"Out": 1})
    case("mv_one", "mv", {"X": rand(1, 1), "Vec": rand(1)}, {"Out": 1})
    case("dot", "dot", {"X": rand(9), "Y": rand(9)}, {"Out": 1})
    case("dot_rows", "dot", {"X": rand(3, 7), "Y": rand(3, 7)}, {"Out": 1})
    case("dot_f64", "dot", {"X": rand(5).astype(F64), "Y": rand(5).astype(F64)}, {"Out": 1})
    case("dot_i32", "dot", {"X": np.arange(5, dtype=I32), "Y": np.full(5, -3, I32)}, {"Out": 1})
    case("dot_i64_rows", "dot", {"X": np.arange(6, dtype=I64).reshape(2, 3), "Y": np.full((2, 3), 2**40, I64)}, {"Out": 1})
