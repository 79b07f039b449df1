"""The sentence model all-MiniLM-L6-v2 (BERT, 6 layers, width 384) as an ONNX file, from its weights in a .safetensors file.

write(weights, file) writes the same bytes on every machine. The graph is what exporters usually make of this model: opset 14, batch
and length open, shapes computed with integers, layer norm and GELU in single operators, the mask scaled by the lowest fp32 number.
Nothing but Python's own library is needed.
"""
import array
import json
import math
import struct

LAYERS, HEADS, WIDTH = 6, 12, 384
HEAD = WIDTH // HEADS
FLOAT, INT64 = 1, 7  # TensorProto.DataType
INT, TENSOR, INTS = 2, 4, 7  # AttributeProto.AttributeType
LOWEST = -3.4028234663852886e38
FEEDS, FETCH = ("input_ids", "attention_mask", "token_type_ids"), "last_hidden_state"


def varint(value):
    out = bytearray()
    while value >> 7:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, kind, dims, raw):
    return b"".join(number(1, d) for d in dims) + number(2, kind) + text(8, name) + text(9, raw)


def scalar(value):
    return tensor("", FLOAT, [], struct.pack("<f", value))


def integers(value):
    values = value if isinstance(value, list) else [value]
    return tensor("", INT64, [len(values)] if isinstance(value, list) else [], struct.pack(f"<{len(values)}q", *values))


def signature(name, kind, dims):
    shape = b"".join(text(1, text(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return text(1, name) + text(2, text(1, number(1, kind) + text(2, shape)))


def attribute(name, value):
    if isinstance(value, int):
        body = number(3, value) + number(20, INT)
    elif isinstance(value, list):
        body = b"".join(number(8, v) for v in value) + number(20, INTS)
    else:
        body = text(5, value) + number(20, TENSOR)
    return text(5, text(1, name) + body)


class Weights:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        self.start = 8 + struct.unpack("<Q", self.data[:8])[0]
        self.entries = json.loads(self.data[8:self.start])

    def get(self, name):
        entry = self.entries[name]
        if entry["dtype"] != "F32":
            raise ValueError(f"{name} is {entry['dtype']}, F32 is needed")
        begin, end = entry["data_offsets"]
        return entry["shape"], self.data[self.start + begin:self.start + end]


class Builder:
    def __init__(self, weights):
        self.weights, self.nodes, self.initializers = weights, [], []

    def op(self, kind, *inputs, out=None, **attributes):
        k = len(self.nodes)
        out = out or f"/{kind}_{k}_output_0"
        head = b"".join(text(1, name) for name in inputs) + text(2, out) + text(3, f"/{kind}_{k}") + text(4, kind)
        self.nodes.append(head + b"".join(attribute(*item) for item in sorted(attributes.items())))
        return out

    def constant(self, proto):
        return self.op("Constant", value=proto)

    def weight(self, name):
        self.initializers.append(tensor(name, FLOAT, *self.weights.get(name)))
        return name

    def transposed(self, name):
        (rows, columns), raw = self.weights.get(name)
        values = array.array("f", raw)
        turned = array.array("f", (v for c in range(columns) for v in values[c::columns]))
        self.initializers.append(tensor("onnx::MatMul_" + name, FLOAT, [columns, rows], turned.tobytes()))
        return "onnx::MatMul_" + name

    def linear(self, x, scope):
        bias = self.weight(scope + ".bias")
        return self.op("Add", bias, self.op("MatMul", x, self.transposed(scope + ".weight")))

    def layer_norm(self, x, scope, out=None):
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centred, self.constant(scalar(2.0))), axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", variance, self.constant(scalar(1e-12))))
        scaled = self.op("Mul", self.op("Div", centred, deviation), self.weight(scope + ".weight"))
        return self.op("Add", scaled, self.weight(scope + ".bias"), out=out)

    def dim(self, x, axis):
        return self.op("Gather", self.op("Shape", x), self.constant(integers(axis)), axis=0)

    def one_dim(self, x, axis):
        return self.op("Unsqueeze", self.dim(x, axis), self.constant(integers([0])))

    def reshape(self, x, tail):
        parts = [self.one_dim(x, 0), self.one_dim(x, 1)] + [self.constant(integers([d])) for d in tail]
        return self.op("Reshape", x, self.op("Concat", *parts, axis=0))

    def mask(self):
        m = self.op("Unsqueeze", "attention_mask", self.constant(integers([1])))
        m = self.op("Cast", self.op("Unsqueeze", m, self.constant(integers([2]))), to=FLOAT)
        masked = self.op("Sub", self.constant(scalar(1.0)), m)
        return self.op("Mul", masked, self.constant(scalar(LOWEST)))

    def embeddings(self):
        words = self.op("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids")
        types = self.op("Gather", self.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
        length = self.one_dim("input_ids", 1)
        table = self.weight("embeddings.position_embeddings.weight")
        positions = self.op("Slice", table, self.constant(integers([0])), length, self.constant(integers([0])))
        return self.layer_norm(self.op("Add", self.op("Add", words, types), positions), "embeddings.LayerNorm")

    def attention(self, x, mask, scope):
        heads = [self.reshape(self.linear(x, scope + "self." + role), [HEADS, HEAD]) for role in ("query", "key", "value")]
        query, key, value = (self.op("Transpose", h, perm=p) for h, p in zip(heads, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = self.op("Div", self.op("MatMul", query, key), self.constant(scalar(math.sqrt(HEAD))))
        shares = self.op("Softmax", self.op("Add", scores, mask), axis=-1)
        context = self.op("Transpose", self.op("MatMul", shares, value), perm=[0, 2, 1, 3])
        return self.op("Add", self.linear(self.reshape(context, [WIDTH]), scope + "output.dense"), x)

    def gelu(self, h):
        e = self.op("Erf", self.op("Div", h, self.constant(scalar(math.sqrt(2)))))
        return self.op("Mul", self.op("Mul", h, self.op("Add", e, self.constant(scalar(1.0)))), self.constant(scalar(0.5)))

    def layer(self, x, mask, scope, out):
        x = self.layer_norm(self.attention(x, mask, scope + "attention."), scope + "attention.output.LayerNorm")
        h = self.gelu(self.linear(x, scope + "intermediate.dense"))
        return self.layer_norm(self.op("Add", self.linear(h, scope + "output.dense"), x), scope + "output.LayerNorm", out)


def write(weights, path):
    b = Builder(Weights(weights))
    mask = b.mask()
    x = b.embeddings()
    for k in range(LAYERS):
        x = b.layer(x, mask, f"encoder.layer.{k}.", FETCH if k == LAYERS - 1 else None)
    graph = b"".join(text(1, node) for node in b.nodes) + text(2, "minilm") + b"".join(text(5, t) for t in b.initializers)
    graph += b"".join(text(11, signature(name, INT64, ["batch", "sequence"])) for name in FEEDS)
    graph += text(12, signature(FETCH, FLOAT, ["batch", "sequence", WIDTH]))
    with open(path, "wb") as f:
        f.write(number(1, 7) + text(2, "export_minilm") + text(7, graph) + text(8, number(2, 14)))
