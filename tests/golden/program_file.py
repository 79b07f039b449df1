"""Common parts of the generators of programs: files without traces of the machine that made them."""
from paddle.base.proto import framework_pb2

DROPPED_ATTRS = {"op_callstack"}  # paths of the machine


def clean(path):
    """Rewrites the program at `path`; Paddle adds the attributes to the ops that it appends while it saves, too. Returns the ops' types."""
    with open(path, "rb") as f:
        desc = framework_pb2.ProgramDesc.FromString(f.read())
    for block in desc.blocks:
        for op in block.ops:
            kept = [a for a in op.attrs if a.name not in DROPPED_ATTRS]
            del op.attrs[:]
            op.attrs.extend(kept)
    with open(path, "wb") as f:
        f.write(desc.SerializeToString(deterministic=True))
    return [op.type for block in desc.blocks for op in block.ops]
