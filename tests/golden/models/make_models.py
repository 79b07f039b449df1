"""Makes small Paddle models of several kinds with random weights, inputs for them, and what Paddle makes of these: make_models.py [NAME...]

Run by hand with a Python that has Paddle 2.6.2. See README.md.
"""

import os
import sys

import numpy as np

import paddle
from paddle import nn
from paddle.static import InputSpec

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "ops"))
import safetensors_io  # noqa: E402
from program_file import clean  # noqa: E402

F = np.float32


# --- detector: a small YOLO -------------------------------------------------------------------------------------------------------


class ConvBN(nn.Layer):
    def __init__(self, cin, cout, k=3, stride=1, groups=1, act=True):
        super().__init__()
        self.conv = nn.Conv2D(cin, cout, k, stride=stride, padding=k // 2, groups=groups, bias_attr=False)
        self.bn = nn.BatchNorm2D(cout)
        self.act = nn.LeakyReLU(0.1) if act else None

    def forward(self, x):
        x = self.bn(self.conv(x))
        return x if self.act is None else self.act(x)


class Residual(nn.Layer):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = ConvBN(c, c // 2, 1), ConvBN(c // 2, c)

    def forward(self, x):
        return x + self.b(self.a(x))


class Detector(nn.Layer):
    """Two scales of boxes over a residual backbone; the finer one reads the coarser one's features, scaled up."""

    CLASSES, ANCHORS = 4, ([30, 30, 20, 44, 50, 26], [8, 8, 12, 20, 20, 12])
    SHARPEN = ([0.5] * 4 + [0.8] + [1] * CLASSES) * 3  # box, object, classes

    def __init__(self):
        super().__init__()
        heads = 3 * (5 + self.CLASSES)
        self.stem = nn.Sequential(ConvBN(3, 8), ConvBN(8, 16, stride=2), Residual(16))
        self.mid = nn.Sequential(ConvBN(16, 24, stride=2), Residual(24), ConvBN(24, 24, stride=2), Residual(24))
        self.deep = nn.Sequential(ConvBN(24, 32, stride=2), Residual(32), ConvBN(32, 32, 5, groups=32))
        self.head = nn.LayerList([nn.Conv2D(32, heads, 1), nn.Conv2D(32, heads, 1)])
        self.route = ConvBN(32, 16, 1)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.merge = ConvBN(40, 32)

    def last(self):
        return list(self.head)

    def forward(self, image, im_size):
        mid = self.mid(self.stem(image))
        deep = self.deep(mid)
        fine = self.merge(paddle.concat([self.up(self.route(deep)), mid], axis=1))
        boxes, scores = [], []
        for features, head, anchors, ratio in ((deep, self.head[0], self.ANCHORS[0], 16), (fine, self.head[1], self.ANCHORS[1], 8)):
            b, s = paddle.vision.ops.yolo_box(head(features), im_size, anchors, self.CLASSES, 0.02, ratio, clip_bbox=True)
            boxes.append(b)
            scores.append(s.transpose([0, 2, 1]))
        return multiclass_nms(paddle.concat(boxes, axis=1), paddle.concat(scores, axis=2))


def multiclass_nms(boxes, scores):
    if paddle.in_dynamic_mode():
        return boxes, scores  # only the saved program needs it
    helper = paddle.base.layer_helper.LayerHelper("multiclass_nms3")
    out = helper.create_variable_for_type_inference("float32")
    index, count = (helper.create_variable_for_type_inference("int32") for _ in range(2))
    helper.append_op(
        type="multiclass_nms3",
        inputs={"BBoxes": boxes, "Scores": scores},
        outputs={"Out": out, "Index": index, "NmsRoisNum": count},
        attrs={"background_label": -1, "score_threshold": 0.725, "nms_top_k": 40, "nms_threshold": 0.45, "keep_top_k": 40, "nms_eta": 1.0, "normalized": False})
    return out, count


def detector_inputs(rng):
    for batch, h, w in ((1, 64, 64), (2, 48, 64)):
        size = np.array([[2 * h, 3 * w]] * batch, np.int32)
        yield {"image": smooth(rng, batch, 3, h, w), "im_size": size}


# --- recogniser: text lines -------------------------------------------------------------------------------------------------------


class Recogniser(nn.Layer):
    """Convolutions to one row of features, two layers of bidirectional LSTM, a distribution per column."""

    SHARPEN = 20

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2D(1, 12, 3, padding=1), nn.BatchNorm2D(12), nn.ReLU(), nn.MaxPool2D(2),
            nn.Conv2D(12, 24, 3, padding=1), nn.BatchNorm2D(24), nn.Hardswish(), nn.MaxPool2D((2, 1)),
            nn.Conv2D(24, 32, (3, 1), stride=(2, 1)), nn.BatchNorm2D(32), nn.ReLU6())
        self.rnn = nn.LSTM(32, 24, num_layers=2, direction="bidirect")
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(48, 40)

    def last(self):
        return [self.fc]

    def forward(self, x):
        x = self.body(x).max(axis=2)
        x, _ = self.rnn(x.transpose([0, 2, 1]))
        return nn.functional.softmax(self.fc(self.drop(x)), axis=2)


def recogniser_inputs(rng):
    for batch, width in ((1, 64), (3, 90)):
        yield {"x": smooth(rng, batch, 1, 16, width)}


# --- transformer: text classification ---------------------------------------------------------------------------------------------


class Encoder(nn.Layer):
    """Two layers of a BERT-like encoder with a padding mask; the class of the sequence and its states."""

    HIDDEN, VOCABULARY, LONGEST = 48, 300, 40
    SHARPEN = 6

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(self.VOCABULARY, self.HIDDEN), nn.Embedding(self.LONGEST, self.HIDDEN)
        self.norm = nn.LayerNorm(self.HIDDEN, epsilon=1e-12)
        layer = nn.TransformerEncoderLayer(self.HIDDEN, 4, 96, dropout=0.1, activation="gelu")
        self.layers = nn.TransformerEncoder(layer, 2)
        self.pooler, self.classes = nn.Linear(self.HIDDEN, self.HIDDEN), nn.Linear(self.HIDDEN, 5)

    def last(self):
        return [self.classes]

    def forward(self, ids):
        places = paddle.cumsum(paddle.ones_like(ids), axis=1) - 1
        mask = paddle.unsqueeze((ids == 0).astype("float32") * -1e4, axis=[1, 2])
        states = self.layers(self.norm(self.words(ids) + self.places(places)), mask)
        first = paddle.tanh(self.pooler(states[:, 0]))
        return nn.functional.softmax(self.classes(first)), states


def encoder_inputs(rng):
    for batch, length in ((1, 9), (3, 24)):
        ids = rng.integers(1, Encoder.VOCABULARY, (batch, length)).astype(np.int64)
        ids[-1, length // 2:] = 0
        yield {"ids": ids}


# --- speech: frames of a spectrogram ----------------------------------------------------------------------------------------------


class Speech(nn.Layer):
    """1-D convolutions with group norm and SiLU, a gated unit, a bidirectional GRU, log-probabilities per frame."""

    SHARPEN = 6

    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1D(20, 32, 5, stride=2, padding=2), nn.GroupNorm(4, 32), nn.Silu())
        self.gate = nn.Conv1D(32, 64, 3, padding=1)
        self.rnn = nn.GRU(32, 24, direction="bidirect")
        self.fc = nn.Linear(48, 30)

    def last(self):
        return [self.fc]

    def forward(self, frames):
        x = nn.functional.glu(self.gate(self.front(frames.transpose([0, 2, 1]))), axis=1)
        x, _ = self.rnn(x.transpose([0, 2, 1]))
        return nn.functional.log_softmax(self.fc(x))


def speech_inputs(rng):
    for batch, frames in ((1, 50), (2, 31)):
        yield {"frames": rng.standard_normal((batch, frames, 20)).astype(F)}


# --- decoder: a loop --------------------------------------------------------------------------------------------------------------


class Decoder(nn.Layer):
    """Greedy decoding with attention over a source: a while loop that ends when every sequence has ended, or after 12 steps."""

    HIDDEN, VOCABULARY, STEPS, END = 32, 50, 12, 1
    SHARPEN = 14

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(self.VOCABULARY, self.HIDDEN), nn.Embedding(self.VOCABULARY, self.HIDDEN)
        self.cell = nn.GRUCell(self.HIDDEN, self.HIDDEN)
        self.out = nn.Linear(2 * self.HIDDEN, self.VOCABULARY)
        bias = np.zeros(self.VOCABULARY, F)
        bias[self.END] = 3
        self.out.bias.set_value(bias)

    def last(self):
        return [self.out]

    def forward(self, ids):
        memory = self.source(ids)
        state = paddle.tanh(memory.mean(axis=1))
        token = paddle.full_like(ids[:, 0], 2)
        done = token == self.END
        tokens = token.unsqueeze(1)
        total = paddle.zeros_like(state[:, 0])
        step = paddle.full([1], 0, "int64")
        last = paddle.full([1], self.STEPS, "int64")

        def unfinished(step, state, token, done, tokens, total):
            return paddle.logical_and(step < last, paddle.logical_not(paddle.all(done)))

        def advance(step, state, token, done, tokens, total):
            state, _ = self.cell(self.target(token), state)
            weights = nn.functional.softmax(paddle.matmul(memory, state.unsqueeze(2)), axis=1)
            context = paddle.sum(memory * weights, axis=1)
            logits = self.out(paddle.concat([state, context], axis=1))
            best, token = paddle.topk(nn.functional.log_softmax(logits), 1, axis=1)
            token = paddle.where(done, paddle.full_like(done, self.END, "int64"), token.squeeze(1))
            total = total + paddle.where(done, paddle.zeros_like(total), best.squeeze(1))
            done = paddle.logical_or(done, token == self.END)
            return [step + 1, state, token, done, paddle.concat([tokens, token.unsqueeze(1)], axis=1), total]

        _, state, _, _, tokens, total = paddle.static.nn.while_loop(unfinished, advance, [step, state, token, done, tokens, total])
        return tokens, total, state


def decoder_inputs(rng):
    for batch, length in ((1, 7), (3, 12)):
        yield {"ids": rng.integers(2, Decoder.VOCABULARY, (batch, length)).astype(np.int64)}


# ----------------------------------------------------------------------------------------------------------------------------------


def smooth(rng, *dims):
    """Images: noise of several scales, about -2 to 2."""
    h, w = dims[-2:]
    x = rng.standard_normal(dims)
    for step in (4, 8):
        coarse = rng.standard_normal((*dims[:-2], -(-h // step), -(-w // step)))
        x += 1.5 * coarse.repeat(step, -2).repeat(step, -1)[..., :h, :w]
    return (x / 2.5).astype(F)


MODELS = {
    "detector": (Detector, detector_inputs, [InputSpec([None, 3, None, None], "float32", "image"), InputSpec([None, 2], "int32", "im_size")], 11),
    "recogniser": (Recogniser, recogniser_inputs, [InputSpec([None, 1, 16, None], "float32", "x")], 12),
    "encoder": (Encoder, encoder_inputs, [InputSpec([None, None], "int64", "ids")], 13),
    "speech": (Speech, speech_inputs, [InputSpec([None, None, 20], "float32", "frames")], 14),
    "decoder": (Decoder, decoder_inputs, [InputSpec([None, None], "int64", "ids")], 17),
}


def settle(layer, batches):
    """Statistics of batch normalisation that fit the weights, as training would leave them; scales and shifts that are not 1 and 0."""
    rng = np.random.default_rng(3)
    for part in layer.sublayers():
        if isinstance(part, (nn.BatchNorm2D, nn.GroupNorm, nn.LayerNorm)):
            part.weight.set_value((1 + 0.2 * rng.standard_normal(part.weight.shape)).astype(F))
            part.bias.set_value((0.2 * rng.standard_normal(part.bias.shape)).astype(F))
        if isinstance(part, nn.BatchNorm2D):
            part._momentum = 0.5
    if not any(isinstance(part, nn.BatchNorm2D) for part in layer.sublayers()):
        return
    layer.train()
    for _ in range(8):
        for feeds in batches:
            layer(*[paddle.to_tensor(x) for x in feeds.values()])
    layer.eval()


def sharpen(layer):
    """Larger weights in the last layer: answers that are not all alike, as those of a trained model are not."""
    for last in layer.last():
        factor = np.asarray(layer.SHARPEN, F)  # one, or one per output of a convolution
        last.weight.set_value(last.weight.numpy() * factor.reshape(-1, *[1] * (factor.ndim and 3)))


def make(name):
    make_layer, make_inputs, spec, seed = MODELS[name]
    paddle.disable_static()
    paddle.seed(seed)
    layer = make_layer()
    settle(layer, list(make_inputs(np.random.default_rng(seed))))
    sharpen(layer)
    layer.eval()
    path = os.path.join(HERE, name)
    with paddle.utils.unique_name.guard():
        paddle.jit.save(layer, path, input_spec=spec)
    os.remove(path + ".pdiparams.info")
    ops = clean(path + ".pdmodel")
    paddle.enable_static()
    scope = paddle.static.Scope()
    with paddle.static.scope_guard(scope):
        executor = paddle.static.Executor(paddle.CPUPlace())
        program, feeds, fetches = paddle.static.load_inference_model(path, executor)
        tensors = {}
        for k, inputs in enumerate(make_inputs(np.random.default_rng(seed + 100))):
            outputs = executor.run(program, feed={f: inputs[f] for f in feeds}, fetch_list=fetches, return_numpy=False)
            for feed in feeds:
                tensors[f"{k}/in/{feed}"] = inputs[feed]
            for var, out in zip(fetches, outputs):
                tensors[f"{k}/out/{var.name}"] = np.array(out)
    safetensors_io.write(path + ".safetensors", tensors)
    size = sum(os.path.getsize(path + e) for e in (".pdmodel", ".pdiparams", ".safetensors"))
    print(f"{name}: {len(ops)} ops of {len(set(ops))} kinds, {size} bytes")
    print(" ", " ".join(sorted(set(ops))))
    for key, t in tensors.items():
        print(f"  {key} {t.dtype} {t.shape} {t.min():.4g} .. {t.max():.4g}" if t.size else f"  {key} {t.dtype} {t.shape}")


if __name__ == "__main__":
    for each in sys.argv[1:] or MODELS:
        make(each)
