"""Makes the golden data of single ops: make_golden.py FAMILY...  (all families when none is named).

Run by hand with a Python that has Paddle 2.6.2. See README.md.
"""

import importlib
import os
import sys

import numpy as np

import paddle
from paddle.base import framework
from paddle.base.proto import framework_pb2

import safetensors_io

HERE = os.path.dirname(os.path.abspath(__file__))
DROPPED_ATTRS = {"op_callstack", "op_role_var", "op_namescope", "op_device", "with_quant_attr"}
FEED_MINIBATCH, FETCH_LIST, INT, FP32 = 9, 10, 0, 5


class Family:
    """Collects the cases of one file."""

    def __init__(self, name):
        self.name, self.tensors, self.names = name, {}, set()

    def __call__(self, name, op, inputs, outputs, attrs=None, expect=None, known=(), hidden=()):
        """One op on its own.

        inputs: slot -> array, or a list of arrays for a variadic slot.
        outputs: slot -> number of results, or a list of their dtypes (for ops whose results Paddle does not type by itself), or "=Slot"
            for results that overwrite the operands of that slot (MeanOut of batch_norm).
        expect: slot -> array or list, where the reference is not Paddle: the program is built, but not run, and Paddle's own
            checks of shapes are off. Slots that are absent from it are not compared.
        known: slots whose values are constants of the program (shape tensors, axes), not feeds.
        hidden: result slots that the op has but that are not compared (XShape, Mask).
        """
        ins = {slot: _named(slot, "in", arrays) for slot, arrays in inputs.items()}
        outs, types = {}, {}
        for slot, n in outputs.items():
            if isinstance(n, str):
                outs[slot] = ins[n[1:]]
                continue
            given = [None] * n if isinstance(n, int) else n
            if expect is not None and slot in expect:
                arrays = expect[slot] if isinstance(expect[slot], list) else [expect[slot]]
                given = [np.asarray(a) for a in arrays]
            outs[slot] = _named(slot, "out", list(given))
            types.update(outs[slot])
        program = paddle.static.Program()
        block = program.global_block()
        with paddle.static.program_guard(program, paddle.static.Program()):
            for args in ins.values():
                for var, array in args.items():
                    block.create_var(name=var, shape=array.shape, dtype=array.dtype.name, is_data=True, need_check_feed=False)
            for var, given in types.items():
                if isinstance(given, np.ndarray):
                    block.create_var(name=var, shape=given.shape, dtype=given.dtype.name)
                else:
                    block.create_var(name=var, dtype=given)
            checks = framework.Operator._has_kernel
            if expect is not None:
                framework.Operator._has_kernel = lambda self, op_type: False
            try:
                block.append_op(type=op, inputs={s: list(a) for s, a in ins.items()}, outputs={s: list(a) for s, a in outs.items()}, attrs=attrs or {})
            finally:
                framework.Operator._has_kernel = checks
        feeds = {var: array for args in ins.values() for var, array in args.items()}
        fetched = [var for slot, args in outs.items() if slot not in hidden and (expect is None or slot in expect) for var in args]
        results = None if expect is None else [types[var] for var in fetched]
        consts = {var for slot in known for var in ins[slot]}
        self._add(name, program, feeds, fetched, consts, results)

    def program(self, name, build, feeds, expect=None):
        """A small program of several ops: `build(vars)` gets the variables of `feeds` (name -> array) in a fresh program and returns
        the variables to fetch. `expect`: a list of arrays for a reference that is not Paddle."""
        program = paddle.static.Program()
        with paddle.utils.unique_name.guard(), paddle.static.program_guard(program, paddle.static.Program()):
            made = {}
            for var, array in feeds.items():
                made[var] = paddle.static.data(var, array.shape, array.dtype.name)
            fetched = [var.name for var in build(made)]
        self._add(name, program, feeds, fetched, set(), expect)

    def _add(self, name, program, feeds, fetched, consts, results):
        if name in self.names:
            raise ValueError(f"{self.name}: two cases are named {name}")
        self.names.add(name)
        if results is None:
            executor = paddle.static.Executor(paddle.CPUPlace())
            results = [np.array(r) for r in executor.run(program, feed=dict(feeds), fetch_list=list(fetched), return_numpy=False)]
        self.tensors[f"{name}/program"] = np.frombuffer(_serialize(program, list(feeds), fetched), dtype=np.uint8)
        for var, array in feeds.items():
            self.tensors[f"{name}/{'const' if var in consts else 'in'}/{var}"] = array
        for var, array in zip(fetched, results):
            self.tensors[f"{name}/out/{var}"] = np.asarray(array)

    def write(self):
        path = os.path.join(HERE, self.name + ".safetensors")
        safetensors_io.write(path, self.tensors)
        print(f"{self.name}: {len(self.names)} cases, {os.path.getsize(path)} bytes")


def _named(slot, suffix, arrays):
    if not isinstance(arrays, list):
        arrays = [arrays]
    arrays = [np.asarray(a) if isinstance(a, (int, float, bool, np.generic)) else a for a in arrays]
    if len(arrays) == 1:
        return {f"{slot}.{suffix}": arrays[0]}
    return {f"{slot}.{suffix}{i}": array for i, array in enumerate(arrays)}


def _serialize(program, feeds, fetched):
    """The bytes of the program with feed and fetch ops, without what depends on the machine."""
    desc = framework_pb2.ProgramDesc.FromString(program.desc.serialize_to_string())
    used = set()
    for block in desc.blocks:
        for var in block.vars:  # results that nothing types: what the op's record says of them counts
            if var.type.HasField("lod_tensor") and not var.type.lod_tensor.tensor.HasField("data_type"):
                var.type.lod_tensor.tensor.data_type = FP32
        for op in block.ops:
            used.add(op.type)
            kept = [a for a in op.attrs if a.name not in DROPPED_ATTRS]
            del op.attrs[:]
            op.attrs.extend(kept)
    pairs = [p for p in desc.op_version_map.pair if p.op_name in used]
    desc.op_version_map.Clear()
    desc.op_version_map.pair.extend(pairs)
    main = desc.blocks[0]
    ops = list(main.ops)
    del main.ops[:]
    for name, kind in (("feed", FEED_MINIBATCH), ("fetch", FETCH_LIST)):
        var = main.vars.add(name=name, persistable=True)
        var.type.type = kind
    for col, var in enumerate(feeds):
        _transfer(main.ops.add(type="feed"), "feed", var, col)
    main.ops.extend(ops)
    for col, var in enumerate(fetched):
        _transfer(main.ops.add(type="fetch"), var, "fetch", col)
    return desc.SerializeToString(deterministic=True)


def _transfer(op, source, target, col):
    op.inputs.add(parameter="X", arguments=[source])
    op.outputs.add(parameter="Out", arguments=[target])
    op.attrs.add(name="col", type=INT, i=col)


def main():
    paddle.enable_static()
    paddle.seed(1)
    sys.path.insert(0, os.path.join(HERE, "families"))
    names = sys.argv[1:] or sorted(f[:-3] for f in os.listdir(os.path.join(HERE, "families")) if f.endswith(".py"))
    for name in names:
        family = Family(name)
        importlib.import_module(name).cases(family)
        family.write()


if __name__ == "__main__":
    main()
