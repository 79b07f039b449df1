"""Makes the programs of this folder, with the outputs of the real Paddle 2.6.2: python3 generate.py, in this folder.

Each NAME.pdmodel (and NAME.pdiparams) has NAME.npz: cases 0, 1, ... with feeds `0.in.x` and outputs `0.out.0` in the order of the fetches.
"""
import os
import sys
import zipfile

import numpy as np
import paddle
from paddle import static
from paddle.static import nn

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from program_file import clean  # noqa: E402

paddle.enable_static()


def keep(name, build, cases):
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 7
    with static.program_guard(main, startup):
        feeds, fetches = build()
    exe = static.Executor(paddle.CPUPlace())
    with static.scope_guard(static.Scope()):
        exe.run(startup)
        static.save_inference_model(name, feeds, fetches, exe, program=main)
    clean(name + ".pdmodel")
    arrays = {}
    for i, case in enumerate(cases):
        with static.scope_guard(static.Scope()):  # Paddle's arrays live on in their scope
            program, _, targets = static.load_inference_model(name, static.Executor(paddle.CPUPlace()))
            outputs = static.Executor(paddle.CPUPlace()).run(program, feed=case, fetch_list=targets)
        arrays.update({f"{i}.in.{k}": v for k, v in case.items()})
        arrays.update({f"{i}.out.{k}": v for k, v in enumerate(outputs)})
        print(name, i, [o.shape for o in outputs])
    if os.path.exists(name + ".pdiparams") and os.path.getsize(name + ".pdiparams") == 0:
        os.remove(name + ".pdiparams")
    with zipfile.ZipFile(name + ".npz", "w", zipfile.ZIP_DEFLATED) as z:  # without the time of day
        for key, value in arrays.items():
            with z.open(zipfile.ZipInfo(key + ".npy"), "w") as f:
                np.lib.format.write_array(f, np.ascontiguousarray(value))


def f32(*dims, seed=0):
    return np.random.RandomState(seed).standard_normal(dims).astype("float32")


def one(value, dtype="int64"):
    return np.array([value], dtype)


def loop_with_arrays():
    """A while with an if inside; its values go through an array."""
    x, n = static.data("x", [-1, 4]), static.data("n", [1], "int64")
    i = paddle.full([1], 0, "int64")
    array = paddle.tensor.array_write(x, i)
    h = x * 1.0

    def body(i, h, array):
        before = paddle.tensor.array_read(array, i)
        low = paddle.less_than(paddle.mean(h), paddle.full([], 0.2))
        h = nn.cond(low, lambda: paddle.tanh(h + before) + 0.5, lambda: h * 0.5)
        i = paddle.increment(i)
        return [i, h, paddle.tensor.array_write(h, i, array)]

    i, h, array = nn.while_loop(lambda i, h, array: paddle.less_than(i, n), body, [i, h, array])
    length = paddle.tensor.array_length(array)
    rows, _ = paddle.tensor.manipulation.tensor_array_to_tensor(array, axis=0, use_stack=True)
    flat, _ = paddle.tensor.manipulation.tensor_array_to_tensor(array, axis=1)
    return [x, n], [paddle.tensor.array_read(array, length - 1), length, h, rows, flat]


def branches():
    """Two results of a cond, of other shapes in each branch; one captured value, one constant."""
    x = static.data("x", [-1, 3])
    y = x * 2.0
    many = paddle.less_than(paddle.full([1], 0.0), paddle.mean(x, keepdim=True).reshape([1]))

    def yes():
        return paddle.concat([y, x]), paddle.full([1], 3.0)

    def no():
        return nn.cond(paddle.less_than(paddle.mean(y), paddle.full([], -1.0)), lambda: (y, paddle.full([1], 1.0)),
                       lambda: (paddle.nn.functional.relu(y), paddle.full([1], 2.0)))

    a, b = nn.cond(many, yes, no)
    return [x], [a + 1.0, b, paddle.sum(a, axis=0)]


def nested_loops():
    """A value that grows by concat in the inner of two loops."""
    x, n = static.data("x", [1, 2]), static.data("n", [1], "int64")
    i = paddle.full([1], 0, "int64")
    all_ = x + 0.0
    all_.desc.set_shape([-1, 2])

    def outer(i, all_):
        j = paddle.full([1], 0, "int64")

        def inner(j, all_):
            last = paddle.slice(all_, axes=[0], starts=[-1], ends=[2147483647])
            grown = paddle.concat([all_, last + paddle.cast(j, "float32")])
            return [paddle.increment(j), grown]

        j, all_ = nn.while_loop(lambda j, all_: paddle.less_than(j, i), inner, [j, all_])
        return [paddle.increment(i), all_]

    i, all_ = nn.while_loop(lambda i, all_: paddle.less_than(i, n), outer, [i, all_])
    return [x, n], [all_, i]


def gru_decoder():
    """Greedy decoding with attention: embedding, GRU cell, arg max; ends at token 0 or after `n` steps."""
    hidden, words = 8, 12
    memory, n = static.data("memory", [-1, 5, hidden]), static.data("n", [1], "int64")

    def weight(name, *dims):
        return static.create_parameter(dims, "float32", name, default_initializer=paddle.nn.initializer.Normal(0, 0.8))

    embed, w_x, w_h = weight("embed", words, hidden), weight("w_x", 2 * hidden, 3 * hidden), weight("w_h", hidden, 3 * hidden)
    w_out, bias = weight("w_out", hidden, words), weight("bias", 3 * hidden)
    i = paddle.full([1], 0, "int64")
    state = paddle.mean(memory, axis=1)
    token = paddle.cast(paddle.zeros_like(paddle.mean(state, axis=1)), "int64") + 1
    tokens = paddle.tensor.array_write(token, i)
    going = paddle.less_than(i, n)

    def body(i, state, token, tokens, going):
        score = paddle.nn.functional.softmax(paddle.matmul(memory, paddle.unsqueeze(state, 2)), axis=1)
        context = paddle.sum(memory * score, axis=1)
        x = paddle.concat([paddle.nn.functional.embedding(token, embed), context], axis=1)
        gates = paddle.split(paddle.matmul(x, w_x) + bias, 3, axis=1)
        back = paddle.split(paddle.matmul(state, w_h), 3, axis=1)
        r, z = paddle.nn.functional.sigmoid(gates[0] + back[0]), paddle.nn.functional.sigmoid(gates[1] + back[1])
        state = z * state + (1.0 - z) * paddle.tanh(gates[2] + r * back[2])
        token = paddle.argmax(paddle.matmul(state, w_out), axis=1)
        i = paddle.increment(i)
        tokens = paddle.tensor.array_write(token, i, tokens)
        alive = paddle.less_than(paddle.full([1], 0, "int64"), paddle.max(token).reshape([1]))
        return [i, state, token, tokens, paddle.logical_and(paddle.less_than(i, n), alive)]

    i, state, token, tokens, going = nn.while_loop(lambda i, state, token, tokens, going: going, body, [i, state, token, tokens, going])
    text, _ = paddle.tensor.manipulation.tensor_array_to_tensor(tokens, axis=1, use_stack=True)
    return [memory, n], [text, state, i]


def chosen_rows():
    """As many rows as have a positive first column, then a range as long, and a slice at a place that was computed."""
    x = static.data("x", [-1, 4])
    rows = paddle.nonzero(paddle.slice(x, axes=[1], starts=[0], ends=[1]).reshape([-1]) > paddle.full([1], 0.0))
    picked = paddle.gather_nd(x, rows)
    count = paddle.shape(picked)[0:1]
    places = paddle.arange(0, paddle.cast(count, "int64"), 1, "int64")
    half = paddle.slice(picked, axes=[0], starts=[0], ends=[paddle.cast(paddle.cast(count, "float32") * 0.5, "int32")])
    return [x], [picked * 2.0, places, half]


if __name__ == "__main__":
    keep("loop_with_arrays", loop_with_arrays, [{"x": f32(2, 4), "n": one(n)} for n in (3, 0, 7)] + [{"x": f32(1, 4, seed=1), "n": one(2)}])
    keep("branches", branches, [{"x": x} for x in (f32(2, 3) + 1, f32(2, 3) - 3, f32(4, 3, seed=3) * 0.1 - 0.2, f32(1, 3) + 1)])
    keep("nested_loops", nested_loops, [{"x": f32(1, 2), "n": one(n)} for n in (4, 1, 0, 6)])
    keep("gru_decoder", gru_decoder, [{"memory": f32(b, 5, 8, seed=b), "n": one(n)} for b, n in ((1, 12), (3, 20), (2, 1))])
    keep("chosen_rows", chosen_rows, [{"x": f32(n, 4, seed=n)} for n in (6, 9, 2)])
