"""Greedy decoding inside of the model: loops that torch.jit scripts, that torch.while_loop writes, or that are unrolled."""
import torch
from families.config import model
from network import Network
from torch import Tensor, nn


class ScriptedGreedy(nn.Module):
    """A GRU that writes until it has written the end or 12 tokens; the row of tokens grows."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(24, 16), nn.GRUCell(16, 16), nn.Linear(16, 24)

    def forward(self, state: Tensor):
        token = torch.ones(state.shape[0], dtype=torch.int64)
        written = torch.zeros(state.shape[0], 0, dtype=torch.int64)
        step = 0
        going = True
        while going and step < 12:
            state = self.cell(self.embed(token), state)
            token = self.head(state).argmax(-1)
            written = torch.cat([written, token.unsqueeze(1)], 1)
            step += 1
            going = bool((token != 2).any())
        return written, state


class ScriptedCache(nn.Module):
    """Attention over keys and values that grow by one in every iteration of a loop."""

    def __init__(self):
        super().__init__()
        self.embed, self.q, self.k, self.v, self.head = nn.Embedding(24, 16), nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 24)

    def forward(self, token: Tensor, steps: Tensor):
        keys = torch.zeros(token.shape[0], 0, 16)
        values = torch.zeros(token.shape[0], 0, 16)
        written = token.unsqueeze(1)
        logits = torch.zeros(token.shape[0], 24)
        for _ in range(int(steps)):
            x = self.embed(token).unsqueeze(1)
            keys, values = torch.cat([keys, self.k(x)], 1), torch.cat([values, self.v(x)], 1)
            mix = torch.softmax(self.q(x) @ keys.transpose(1, 2) * 0.25, -1) @ values
            logits = self.head(mix.squeeze(1) + x.squeeze(1))
            token = logits.argmax(-1)
            written = torch.cat([written, token.unsqueeze(1)], 1)
        return written, logits, keys


class ScriptedBranch(nn.Module):
    """Branches that a value of the data decides, one inside of a loop."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor):
        for k in range(5):
            if bool(x.sum() > 0.5 * k):
                x = torch.tanh(self.a(x)) - 0.3
            else:
                x = x + torch.sigmoid(self.b(x))
        if bool(x.max() > 1):
            x = x / x.max()
        return x


class WhileGreedy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(24, 16), nn.Linear(32, 16), nn.Linear(16, 24)

    def forward(self, state):
        def going(step, written, token, state):
            return (step < 6) & (token != 2).any()

        def body(step, written, token, state):
            state = torch.tanh(self.cell(torch.cat([self.embed(token), state], -1)))
            token = self.head(state).argmax(-1)
            return step + 1, torch.where(torch.arange(6) == step, token.unsqueeze(1), written), token, state
        start = (torch.tensor(0), torch.zeros(state.shape[0], 6, dtype=torch.int64), torch.ones(state.shape[0], dtype=torch.int64), state)
        return torch.while_loop(going, body, start)[1:]


class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: torch.tanh(self.a(v)), lambda v: self.b(v) * 2, (x,))


class Unrolled(nn.Module):
    def __init__(self, net, steps):
        super().__init__()
        self.net, self.steps = net, steps

    def forward(self, input_ids):
        for _ in range(self.steps):
            logits = self.net(input_ids=input_ids, attention_mask=torch.ones_like(input_ids)).logits[:, -1]
            input_ids = torch.cat([input_ids, logits.argmax(-1, keepdim=True)], 1)
        return input_ids, logits


class Beam(nn.Module):
    """Two steps of a beam search: the best of beams times words, and the beams put in their order."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(24, 16), nn.GRUCell(16, 16), nn.Linear(16, 24)

    def forward(self, state):
        beams, score = state.unsqueeze(1).repeat(1, 3, 1), torch.tensor([[0.0, -1e9, -1e9]]).to(state.dtype).repeat(state.shape[0], 1)
        token, written = torch.ones(state.shape[0], 3, dtype=torch.int64), torch.zeros(state.shape[0], 3, 0, dtype=torch.int64)
        for _ in range(3):
            beams = self.cell(self.embed(token).flatten(0, 1), beams.flatten(0, 1)).unflatten(0, (-1, 3))
            total = (score.unsqueeze(-1) + self.head(beams).log_softmax(-1)).flatten(1)
            score, place = total.topk(3, -1)
            origin, token = place // 24, place % 24
            beams = beams.gather(1, origin.unsqueeze(-1).expand(-1, -1, 16))
            written = torch.cat([written.gather(1, origin.unsqueeze(-1).expand(-1, -1, written.shape[2])), token.unsqueeze(-1)], -1)
        return written, score


def networks():
    yield Network("loop_scripted_greedy", lambda: (torch.jit.script(ScriptedGreedy()), {"state": torch.randn(3, 16)}), exporters=("script",), dynamic={"state": {0: "batch"}}, scale=False)
    yield Network("loop_scripted_cache", lambda: (torch.jit.script(ScriptedCache()), {"token": torch.tensor([3, 5]), "steps": torch.tensor(5)}), exporters=("script",), dynamic={"token": {0: "batch"}}, scale=False)
    yield Network("loop_scripted_branch", lambda: (torch.jit.script(ScriptedBranch()), {"x": torch.randn(2, 8)}), exporters=("script",), scale=False)
    yield Network("loop_while_greedy", lambda: (WhileGreedy(), {"state": torch.randn(3, 16)}), exporters=("dynamo",), scale=False)
    yield Network("loop_cond", lambda: (Cond(), {"x": torch.randn(2, 8)}), exporters=("dynamo",), scale=False)
    yield Network("loop_gpt2_unrolled", lambda: (Unrolled(model("GPT2", "LMHeadModel"), 4), {"input_ids": torch.randint(3, 96, (2, 5))}))
    yield Network("loop_llama_unrolled", lambda: (Unrolled(model("Llama", "ForCausalLM"), 4), {"input_ids": torch.randint(3, 96, (1, 5))}))
    yield Network("loop_beam", lambda: (Beam(), {"state": torch.randn(2, 16)}))
