#!/usr/bin/env python3
"""Records what Paddle 2.6.2 makes of programs with control flow in control flow, in the format that make_cases.py reads.

  PYTHONHASHSEED=0 record_nested.py OP_SUPPORT.json FOLDER    # Paddle orders some operands by hash

The other programs were recorded with the GPU build, which knows the kernels of a GPU. The CPU build gets that from OP_SUPPORT.json (per op
`g3`: `registered`, `gpu_fp16`, `gpu_bf16`); with it it makes of those programs what the GPU build made.
"""
import json
import pathlib
import sys

import numpy as np
import paddle
from paddle import static
from paddle.base import core
from paddle.base.proto import framework_pb2
from paddle.static import nn
from paddle.static.amp import fp16_lists, fp16_utils

FP16, FP32 = 4, 5


def support(path):
    table = {op: entry["g3"] for op, entry in json.loads(path.read_text())["ops"].items() if entry.get("g3", {}).get("registered")}

    def infos(_, dtype):
        key = "gpu_fp16" if dtype == core.VarDesc.VarType.FP16 else "gpu_bf16"
        low = {op for op, entry in table.items() if entry.get(key)}
        return set(table), low, set(table) - low

    return infos


def count(n):
    return paddle.full([1], n, "int64")


# A level of nesting: a while of two rounds or a cond that is taken where the feed n is below 2. `body(h)` gives the new value of `h`.
def in_while(h, body, g):
    def step(i, h):
        return [i + 1, body(h)]

    return nn.while_loop(lambda i, h: i < g["two"], step, [count(0), h])[1]


def in_cond(h, body, g):
    return nn.cond(g["yes"], lambda: body(h), lambda: h * 0.5)


LEVELS = {"w": in_while, "c": in_cond}


def program(shape, start, inner):
    """`shape`: the levels from outside, e.g. wcw; `start(g)` gives the first `h`, `inner(h, g)` stands in the innermost block."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        x = static.data("x", [4, 8])
        z = static.data("z", [4, 8])
        attr = lambda name: paddle.ParamAttr(name, initializer=paddle.nn.initializer.Constant(0.03125))  # noqa: E731
        g = {"x": x, "z": z, "w": paddle.create_parameter([8, 8], "float32", attr=attr("w")),
             "u": paddle.create_parameter([8, 8], "float32", attr=attr("u")), "two": count(2)}
        g["yes"] = static.data("n", [1], "int64") < g["two"]
        g["s"] = paddle.nn.functional.relu(x)
        g["low"] = paddle.matmul(x, g["u"])
        h = start(g)

        def at(level):
            if level == len(shape):
                return lambda h: inner(h, g)
            return lambda h: LEVELS[shape[level]](h, at(level + 1), g)

        h = at(0)(h)
        out = paddle.mean(paddle.matmul(h, g["u"]))
    return main, startup, out.name


def product(g):  # low at every level
    return g["low"]


def distribution(g):  # fp32 at O1
    return paddle.nn.functional.softmax(g["x"])


# The innermost block reads of the outermost a feed, a weight, values that AMP makes low.
def reads_feed(h, g):
    return h + g["z"]


def reads_weight(h, g):
    return paddle.nn.functional.softmax(paddle.matmul(h, g["w"]))


def reads_low(h, g):
    return paddle.nn.functional.softmax(paddle.exp(g["low"]) * h)


def reads_all(h, g):
    return paddle.exp(paddle.matmul(h + g["s"], g["w"])) * g["z"]


PROGRAMS = {
    "feed": (product, reads_feed),
    "all": (product, reads_all),
    "weight_fp32": (distribution, reads_weight),
    "low_fp32": (distribution, reads_low),
}
SHAPES = ["w", "c", "wc", "cww", "wcw", "www"]
CONFIGS = {
    "o1": {"level": "O1"},
    "o2": {"level": "O2"},
    "o2_promote": {"level": "O2", "use_promote": True},
    "o2_black": {"level": "O2", "custom_black_list": ["exp", "softmax", "elementwise_add"]},
}


def cleaned(bytes_):
    desc = framework_pb2.ProgramDesc.FromString(bytes_)
    for block in desc.blocks:
        for op in block.ops:
            kept = [a for a in op.attrs if a.name != "op_callstack"]
            del op.attrs[:]
            op.attrs.extend(kept)
    return desc.SerializeToString(deterministic=True)


def run(bytes_, startup, fetch):
    """The results of the program with float32 in the place of float16, with all conditions true and with none."""
    desc = framework_pb2.ProgramDesc.FromString(bytes_)
    for block in desc.blocks:
        for var in block.vars:
            if var.type.HasField("lod_tensor") and var.type.lod_tensor.tensor.data_type == FP16:
                var.type.lod_tensor.tensor.data_type = FP32
        for op in block.ops:
            for attr in op.attrs:
                if attr.name.endswith("dtype") and attr.i == FP16:
                    attr.i = FP32
    main = static.Program.parse_from_string(desc.SerializeToString())
    feeds = np.random.RandomState(1).rand(2, 4, 8).astype("float32")
    with static.scope_guard(static.Scope()):
        exe = static.Executor(paddle.CPUPlace())
        exe.run(startup)
        return [exe.run(main, feed={"x": feeds[0], "z": feeds[1], "n": np.array([n])}, fetch_list=[fetch])[0] for n in (0, 2)]


FOLLOWING = {"matmul_v2", "elementwise_add", "elementwise_mul", "relu", "exp", "softmax", "scale", "assign", "reduce_mean"}


def contradiction(bytes_):
    """An op whose result is declared another float type than it computes: right only as long as nobody computes in float16."""
    desc = framework_pb2.ProgramDesc.FromString(bytes_)

    def declared(block, name):
        while block >= 0:
            for var in desc.blocks[block].vars:
                if var.name == name and var.type.HasField("lod_tensor"):
                    return var.type.lod_tensor.tensor.data_type
            block = desc.blocks[block].parent_idx
        return None

    for number, block in enumerate(desc.blocks):
        for op in block.ops:
            slots = op.inputs, op.outputs
            types = [{declared(number, name) for slot in side for name in slot.arguments if slot.parameter != "XShape"} & {FP16, FP32} for side in slots]
            if op.type in FOLLOWING and types[1] and types[0] != types[1]:
                return f"block {number}: {op.type} of {types[0]} is declared {types[1]}"
    return ""


def record(case, shape, start, inner, config, folder):
    main, startup, fetch = program(shape, start, inner)
    given = cleaned(main.desc.serialize_to_string())
    lists = fp16_lists.AutoMixedPrecisionLists(custom_black_list=set(config.get("custom_black_list", [])), dtype="float16")
    entry = {"case": case, "config": {"entry": "rewrite", "dtype": "float16", "use_fp16_guard": False, "use_promote": False, **config}}
    (folder / case).mkdir(parents=True, exist_ok=True)
    (folder / case / "input.pdmodel").write_bytes(given)
    (folder / case / "config.json").write_text(json.dumps({**entry, "meta": {"fetch": [fetch]}}))
    c = entry["config"]
    try:
        fp16_utils.cast_model_to_fp16(main, lists, use_fp16_guard=False, level=c["level"], use_promote=c["use_promote"])
    except (ValueError, AttributeError) as error:
        return {**entry, "raises": str(error)}
    made = cleaned(main.desc.serialize_to_string())
    (folder / case / "output.pdmodel").write_bytes(made)
    if contradiction(made):
        return {**entry, "low_as_fp32_execution": "contradicts itself: " + contradiction(made)}
    before = run(given, startup, fetch)
    try:
        after = run(made, startup, fetch)
        entry["low_as_fp32_execution"] = "same" if np.array_equal(before, after) else "DIFFERENT VALUES"
    except Exception as error:  # what the executor throws has no common type
        entry["low_as_fp32_execution"] = "cannot execute: " + str(error).strip().split("\n")[-1][:200]
    return entry


def main():
    support_path, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    paddle.enable_static()
    core.op_supported_infos = support(support_path)
    cases = []
    for shape in SHAPES:
        for name, (start, inner) in PROGRAMS.items():
            for config, options in CONFIGS.items():
                cases.append(record(f"nested_{shape}_{name}_{config}.g3", shape, start, inner, options, folder))
                print(cases[-1]["case"], cases[-1].get("low_as_fp32_execution"), cases[-1].get("raises", ""))
    (folder / "case_index.json").write_text(json.dumps({"cases": cases}, indent=1))


if __name__ == "__main__":
    main()
