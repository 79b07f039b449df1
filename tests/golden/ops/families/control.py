"""Control flow: loops, branches, tensor arrays. Programs of several ops."""

import numpy as np
import paddle

F, I64 = np.float32, np.int64


def cases(case):
    rng = np.random.default_rng(21)
    x = rng.standard_normal((2, 3)).astype(F)

    def count(v):
        """Doubles x until its sum of squares passes a limit: the number of steps depends on the data."""
        step = paddle.zeros([1], "int64")

        def more(step, y):
            return paddle.sum(y * y) < v["limit"]

        def grow(step, y):
            return [step + 1, y * 2.0]

        return paddle.static.nn.while_loop(more, grow, [step, v["x"] * 1.0])

    for name, limit in (("none", 0.0), ("several", 1e4)):
        case.program(f"while_{name}", count, {"x": x, "limit": np.array([limit], F)})

    def branch(v):
        return [paddle.static.nn.cond(paddle.mean(v["x"]) > v["limit"], lambda: paddle.exp(v["x"]), lambda: v["x"] - 1.0)]

    for name, limit in (("true", -100.0), ("false", 100.0)):
        case.program(f"cond_{name}", branch, {"x": x, "limit": np.array(limit, F)})

    def array(v):
        """Partial products of the rows, each written at its place and read back."""
        zero, one = paddle.zeros([1], "int64"), paddle.ones([1], "int64")
        values = paddle.tensor.array_write(v["x"], zero)
        paddle.tensor.array_write(paddle.tensor.array_read(values, zero) * 3.0, one, array=values)
        return [paddle.tensor.array_read(values, one), paddle.tensor.array_length(values)]

    case.program("array", array, {"x": x})

    def in_loop(v):
        """An array that grows in a loop."""
        i, n = paddle.zeros([1], "int64"), v["n"]
        values = paddle.tensor.array_write(v["x"], i)

        def more(i, values):
            return paddle.less_than(i, n)

        def body(i, values):
            row = paddle.tensor.array_read(values, i)
            i = paddle.increment(i)
            values = paddle.tensor.array_write(row * 0.5 + 1.0, i, array=values)
            return [i, values]

        i, values = paddle.static.nn.while_loop(more, body, [i, values])
        return [paddle.tensor.array_read(values, n), paddle.tensor.array_length(values)]

    case.program("array_in_loop", in_loop, {"x": x, "n": np.array([4], I64)})
