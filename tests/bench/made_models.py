"""Generated models of any size, written piece by piece with nothing but the standard library: chains of ops, and layers with real weights."""
import os
import random
import struct

LAYER = 1024  # a layer's weight is LAYER x LAYER
F32 = 4 * LAYER * LAYER


# Protobuf's wire format.


def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def weights(count):
    """`count` different blocks of F32 bytes, roughly normal: one block of random floats, turned by a different amount for each."""
    rng = random.Random(0)
    block = b"".join(struct.pack("<f", rng.gauss(0, 0.03)) for _ in range(LAYER * 16)) * (LAYER // 16)
    for k in range(count):
        turn = 4 * (k * 37 % (LAYER * 16))
        yield block[turn:] + block[:turn]


# ONNX.


def onnx_value(name, dims):
    shape = b"".join(text(1, text(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return text(1, name) + text(2, text(1, number(1, 1) + text(2, shape)))


def onnx_node(kind, name, inputs, output):
    return text(1, b"".join(text(1, i) for i in inputs) + text(2, output) + text(3, name) + text(4, kind))


def onnx_tensor(name, dims, tail):
    return b"".join(number(1, d) for d in dims) + number(2, 1) + text(8, name) + tail


def onnx_write(path, parts, total):
    """A model whose graph is the list `parts`: bytes, or (head, iterator of bytes) of `total` bytes in all."""
    with open(path, "wb") as f:
        f.write(number(1, 8) + varint(7 << 3 | 2) + varint(total))
        for part in parts:
            f.write(part)
        f.write(text(8, number(2, 17)))


def onnx_chain(path, length):
    kinds = ["Relu", "Add", "Sigmoid", "Mul"]
    parts = [onnx_node(k := kinds[i % 4], f"n{i}", [f"v{i}", "w"] if k in ("Add", "Mul") else [f"v{i}"], f"v{i + 1}") for i in range(length)]
    parts += [text(2, "made"), text(5, onnx_tensor("w", [4], text(9, struct.pack("<4f", *[0.3] * 4))))]
    parts += [text(11, onnx_value("v0", ["n", 4])), text(12, onnx_value(f"v{length}", ["n", 4]))]
    onnx_write(path, parts, sum(map(len, parts)))


def onnx_layers(path, layers, external):
    """MatMul, Add, Relu over and over; with `external` the weights lie in `path`.data."""
    nodes, heads = [], []
    for k in range(layers):
        x = "x" if k == 0 else f"r{k - 1}"
        nodes += [onnx_node("MatMul", f"matmul{k}", [x, f"w{k}"], f"m{k}"), onnx_node("Add", f"add{k}", [f"m{k}", f"b{k}"], f"a{k}"),
                  onnx_node("Relu", f"relu{k}", [f"a{k}"], f"r{k}")]
        place = b"".join(text(13, text(1, key) + text(2, value)) for key, value in (("location", os.path.basename(path) + ".data"), ("offset", str(k * F32)),
                                                                                   ("length", str(F32))))
        data = place + number(14, 1) if external else varint(9 << 3 | 2) + varint(F32)
        head = onnx_tensor(f"w{k}", [LAYER, LAYER], data)
        size = len(head) + (0 if external else F32)
        heads.append((varint(5 << 3 | 2) + varint(size) + head, text(5, onnx_tensor(f"b{k}", [LAYER], text(9, struct.pack("<f", 0.01) * LAYER)))))
    tail = text(2, "made") + text(11, onnx_value("x", ["n", LAYER])) + text(12, onnx_value(f"r{layers - 1}", ["n", LAYER]))
    total = sum(map(len, nodes)) + sum(len(a) + len(b) for a, b in heads) + len(tail) + (0 if external else layers * F32)

    def parts():
        yield from nodes
        for (head, bias), block in zip(heads, weights(layers)):
            yield head
            if external:
                data_file.write(block)
            else:
                yield block
            yield bias
        yield tail

    data_file = open(path + ".data", "wb") if external else None
    onnx_write(path, parts(), total)
    if external:
        data_file.close()


# Paddle.

FP32, LOD_TENSOR, FEED, FETCH = 5, 7, 9, 10
INT, STRING, BOOL, LONG = 0, 2, 6, 9


def paddle_tensor(dims):
    return number(1, FP32) + b"".join(number(2, d) for d in dims)


def paddle_var(name, dims, kind=LOD_TENSOR, persistable=False):
    body = number(1, kind) + (text(3, text(1, paddle_tensor(dims)) + number(2, 0)) if kind == LOD_TENSOR else b"")
    return text(3, text(1, name) + text(2, body) + number(3, int(persistable)))


def paddle_op(kind, inputs, outputs, attrs=b""):
    slots = [text(field, text(1, slot) + text(2, name)) for field, side in ((1, inputs), (2, outputs)) for slot, name in side.items()]
    return text(4, b"".join(slots) + text(3, kind) + attrs)


def paddle_attr(name, kind, value):
    return text(4, text(1, name) + number(2, kind) + {INT: lambda: number(3, value), BOOL: lambda: number(10, int(value))}[kind]())


def paddle_write(path, head, ops, feed, fetch):
    vars_and_ops = [paddle_var("feed", [], FEED, True), paddle_var("fetch", [], FETCH, True)] + head
    vars_and_ops += [paddle_op("feed", {"X": "feed"}, {"Out": feed}, paddle_attr("col", INT, 0))] + ops
    vars_and_ops += [paddle_op("fetch", {"X": fetch}, {"Out": "fetch"}, paddle_attr("col", INT, 0))]
    block = number(1, 0) + number(2, (1 << 32) - 1) + b"".join(vars_and_ops)
    with open(path, "wb") as f:
        f.write(text(1, block) + text(4, number(1, 0)))


def paddle_stream(f, dims, pieces):
    desc = paddle_tensor(dims)
    f.write(struct.pack("<IQIi", 0, 0, 0, len(desc)) + desc)
    for piece in pieces:
        f.write(piece)


def paddle_chain(path, length):
    kinds = ["relu", "elementwise_add", "sigmoid", "elementwise_mul"]
    head = [paddle_var("w", [4], persistable=True)] + [paddle_var(f"v{i}", [-1, 4]) for i in range(length + 1)]
    axis = paddle_attr("axis", INT, -1)
    ops = [paddle_op(k, {"X": f"v{i}", "Y": "w"} if i % 2 else {"X": f"v{i}"}, {"Out": f"v{i + 1}"}, axis if i % 2 else b"") for i in range(length) for k in [kinds[i % 4]]]
    paddle_write(path, head, ops, "v0", f"v{length}")
    with open(os.path.splitext(path)[0] + ".pdiparams", "wb") as f:
        paddle_stream(f, [4], [struct.pack("<4f", *[0.3] * 4)])


def paddle_layers(path, layers):
    head, ops = [paddle_var("x", [-1, LAYER])], []
    names = []
    for k in range(layers):
        x = "x" if k == 0 else f"r{k - 1}"
        names += [f"b{k:05}", f"w{k:05}"]
        head += [paddle_var(f"w{k:05}", [LAYER, LAYER], persistable=True), paddle_var(f"b{k:05}", [LAYER], persistable=True)]
        head += [paddle_var(f"{v}{k}", [-1, LAYER]) for v in "mar"]
        ops += [paddle_op("matmul_v2", {"X": x, "Y": f"w{k:05}"}, {"Out": f"m{k}"}, paddle_attr("trans_x", BOOL, False) + paddle_attr("trans_y", BOOL, False)),
                paddle_op("elementwise_add", {"X": f"m{k}", "Y": f"b{k:05}"}, {"Out": f"a{k}"}, paddle_attr("axis", INT, -1)),
                paddle_op("relu", {"X": f"a{k}"}, {"Out": f"r{k}"})]
    paddle_write(path, head, ops, "x", f"r{layers - 1}")
    with open(os.path.splitext(path)[0] + ".pdiparams", "wb") as f:
        for _ in range(layers):  # sorted by name: all biases come first
            paddle_stream(f, [LAYER], [struct.pack("<f", 0.01) * LAYER])
        for block in weights(layers):
            paddle_stream(f, [LAYER, LAYER], [block])


# Text.


def text_chain(path, length):
    kinds = ["relu({})", "elementwise_add({}, w)", "sigmoid({})", "elementwise_mul({}, w)"]
    with open(path, "w") as f:
        f.write("program chain version=1\n\nblock main {\n  feed  v0 : f32 [?, 4]\n  param w : f32 [4] = 0.3\n")
        f.writelines(f"  v{i + 1} = {kinds[i % 4].format(f'v{i}')} : f32 [?, 4]\n" for i in range(length))
        f.write(f"  fetch v{length}\n}}\n")
