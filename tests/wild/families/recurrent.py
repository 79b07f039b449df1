"""Recurrent networks, tables of features, graphs: what is neither an image nor a transformer."""
import torch
from network import Network
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, kind, **words):
        super().__init__()
        self.net = kind(12, 16, batch_first=True, **words)
        self.head = nn.LazyLinear(5)

    def forward(self, x):
        y, state = self.net(x)
        return self.head(y), state


class Tagger(nn.Module):
    """Characters by convolution, words by a bidirectional LSTM, tags by the best path."""

    def __init__(self):
        super().__init__()
        self.chars, self.conv, self.net, self.head, self.moves = nn.Embedding(30, 8), nn.Conv1d(8, 12, 3, padding=1), nn.LSTM(12, 10, bidirectional=True), nn.Linear(20, 4), nn.Parameter(torch.randn(4, 4))

    def forward(self, ids):
        words = self.conv(self.chars(ids).transpose(1, 2)).amax(-1).unsqueeze(1)
        scores = self.head(self.net(words)[0]).squeeze(1)
        best, back = scores[0], []
        for k in range(1, scores.shape[0]):
            best, place = (best.unsqueeze(1) + self.moves).max(0)
            best = best + scores[k]
            back.append(place)
        path = [best.argmax(0, keepdim=True)]
        for place in reversed(back):
            path.append(place.gather(0, path[-1]))
        return torch.cat(path[::-1]), best


class Recommender(nn.Module):
    """Bags of ids and dense features, crossed."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(20, 8, mode=m) for m in ("sum", "mean", "max"))
        self.dense, self.last = nn.Linear(6, 8), nn.Linear(8 + 6, 1)

    def forward(self, ids, dense):
        parts = torch.stack([torch.relu(self.dense(dense))] + [bag(ids) for bag in self.bags], 1)
        crossed = parts @ parts.transpose(1, 2)
        rows, columns = torch.tril_indices(4, 4, -1)
        return torch.sigmoid(self.last(torch.cat([parts[:, 0], crossed[:, rows, columns]], 1)))


class GraphNet(nn.Module):
    """Messages along edges, added where they arrive."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 16), nn.Linear(16, 4)

    def forward(self, x, source, target):
        h = torch.relu(self.a(x))
        total = torch.zeros_like(h).index_add(0, target, h[source])
        degree = torch.zeros(x.shape[0], dtype=x.dtype).scatter_add(0, target, torch.ones(target.shape[0], dtype=x.dtype))
        return self.b(total / degree.clamp(min=1).unsqueeze(1) + h).log_softmax(-1)


class Temporal(nn.Module):
    """Dilated causal convolutions with gates."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 16, 2, dilation=2**k)) for k in range(4))
        self.last = nn.Conv1d(8, 5, 1)

    def forward(self, x):
        for k, layer in enumerate(self.layers):
            a, b = layer(nn.functional.pad(x, (2**k, 0))).chunk(2, 1)
            x = x + torch.tanh(a) * torch.sigmoid(b)
        return self.last(nn.functional.elu(x))


class Activations(nn.Module):
    """Every activation that torch has."""
    KINDS = [nn.ELU, nn.Hardshrink, nn.Hardsigmoid, nn.Hardtanh, nn.Hardswish, nn.LeakyReLU, nn.LogSigmoid, nn.PReLU, nn.ReLU, nn.ReLU6, nn.SELU, nn.CELU, nn.GELU, nn.Sigmoid, nn.SiLU, nn.Mish, nn.Softplus, nn.Softshrink, nn.Softsign, nn.Tanh, nn.Tanhshrink]

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([k() for k in self.KINDS] + [nn.Threshold(0, 0), nn.GELU("tanh")])

    def forward(self, x):
        return [layer(2 * x) for layer in self.layers] + [nn.functional.glu(x, -1), nn.Softmin(-1)(x), nn.LogSoftmax(1)(x)]


class Algebra(nn.Module):
    """einsum, norms, scans, sorts, and the indexing of numpy."""

    def forward(self, x):
        y = torch.einsum("bij,bkj->bik", x, x)
        mask = torch.triu(torch.ones(6, 6, dtype=torch.bool), 1)
        z = y.masked_fill(mask, float("-inf")).softmax(-1)
        values, places = torch.sort(x, dim=-1, descending=True)
        picked = x[:, [0, 2, 4], 1:7:2].roll(1, -1).flip(1)
        w = torch.where(x > 0, x.cumsum(-1), x.exp().cumsum(-1).log())
        return z @ x, values, places, picked, w, torch.linalg.vector_norm(x.unsqueeze(2) - x.flip(1).unsqueeze(1), 2, -1), x.std(-1), torch.linalg.vector_norm(x, 3, -1), x.unfold(2, 3, 2), (x > 0).sum(), \
            torch.nonzero(x > 1.0), x[x > 0.8]


class Signal(nn.Module):
    def forward(self, x):
        spectrum = torch.stft(x, 32, 16, window=torch.hann_window(32).to(x.dtype), return_complex=True)
        return torch.view_as_real(spectrum).square().sum(-1).clamp(min=1e-5).log()


def graph():
    return {"x": torch.randn(7, 6), "source": torch.randint(0, 7, (15,)), "target": torch.randint(0, 7, (15,))}


def networks():
    rows = {"lstm": (nn.LSTM, {}), "lstm_deep": (nn.LSTM, dict(num_layers=2, bidirectional=True)), "lstm_projected": (nn.LSTM, dict(proj_size=6)), "gru": (nn.GRU, {}), "gru_deep": (nn.GRU, dict(num_layers=2, bidirectional=True)), "rnn_relu": (nn.RNN, dict(nonlinearity="relu"))}

    def build(kind, words):
        net = Recurrent(kind, **words)
        inputs = {"x": torch.randn(2, 9, 12)}
        net(**inputs)
        return net, inputs
    for name, (kind, words) in rows.items():
        yield Network("made_" + name, lambda kind=kind, words=words: build(kind, words), dynamic={"x": {0: "batch", 1: "time"}})
    yield Network("made_tagger", lambda: (Tagger(), {"ids": torch.randint(0, 30, (6, 9))}))
    yield Network("made_recommender", lambda: (Recommender(), {"ids": torch.randint(0, 20, (3, 5)), "dense": torch.randn(3, 6)}))
    yield Network("made_graph", lambda: (GraphNet(), graph()), dynamic={"x": {0: "nodes"}, "source": {0: "edges"}, "target": {0: "edges"}})
    yield Network("made_temporal", lambda: (Temporal(), {"x": torch.randn(2, 8, 20)}), dynamic={"x": {2: "time"}})
    yield Network("made_activations", lambda: (Activations(), {"x": torch.randn(2, 4, 10)}))
    yield Network("made_algebra", lambda: (Algebra(), {"x": torch.randn(2, 6, 10)}))
    yield Network("made_stft", lambda: (Signal(), {"x": torch.randn(2, 128)}))
