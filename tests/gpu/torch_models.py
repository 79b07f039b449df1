"""ResNet-50 and BERT base in PyTorch, as `ampc bench resnet50|bert` measures them: a JSON object per line.

torch_models.py [--seconds S] [--models resnet50,bert] [--train BATCHES] [--run BATCHES] [--device cuda]
Channels-last images, autocast in O1, half weights in O2 (inference), scaled dot product attention; each also with torch.compile."""
import argparse
import json
import time

import torch

WORDS, TOKENS, FEATURES, HEADS, LAYERS = 30522, 128, 768, 12, 12


class Bert(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, FEATURES)
        self.positions = torch.nn.Parameter(torch.randn(TOKENS, FEATURES) * 0.02)
        self.norm = torch.nn.LayerNorm(FEATURES)
        layer = torch.nn.TransformerEncoderLayer(FEATURES, HEADS, 4 * FEATURES, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.classes = torch.nn.Linear(FEATURES, 2)

    def forward(self, x):
        return self.classes(self.layers(self.norm(self.words(x) + self.positions)).mean(dim=1))


def build(model):
    torch.manual_seed(0)
    if model == "bert":
        return Bert()
    import torchvision
    return torchvision.models.resnet50(weights=None)


def feeds(model, batch, device):
    if model == "bert":
        return torch.randint(WORDS, (batch, TOKENS), device=device), torch.randint(2, (batch,), device=device)
    x = torch.rand(batch, 3, 224, 224, device=device)
    return x.contiguous(memory_format=torch.channels_last), torch.randint(1000, (batch,), device=device)


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def best_of(call, device, seconds):
    for _ in range(3):
        call()
    wait(device)
    best, end, rounds = 1e9, time.perf_counter() + seconds, 0
    while rounds < 2 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(5):
            call()
        wait(device)
        best, rounds = min(best, (time.perf_counter() - start) / 5), rounds + 1
    return best


def training(net, run, x, y, level, device):
    optimizer = torch.optim.Adam(net.parameters()) if isinstance(net, Bert) else torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
    scaler = torch.amp.GradScaler(device, enabled=level == "O1" and device == "cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16 if device == "cuda" else torch.bfloat16, enabled=level == "O1"):
            loss = torch.nn.functional.cross_entropy(run(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def inference(run, x, level, device):
    def call():
        with torch.inference_mode(), torch.autocast(device, dtype=torch.float16 if device == "cuda" else torch.bfloat16, enabled=level == "O1"):
            run(x)

    return call


def measure(args, model, job, level, batch, compiled):
    net = build(model).to(args.device)
    if model == "resnet50":
        net = net.to(memory_format=torch.channels_last)
    x, y = feeds(model, batch, args.device)
    if job == "run":
        net.eval()
        if level == "O2":
            net = net.half() if args.device == "cuda" else net.bfloat16()
            x = x if model == "bert" else x.to(next(net.parameters()).dtype)
    run = torch.compile(net) if compiled else net
    call = training(net, run, x, y, level, args.device) if job == "train" else inference(run, x, level, args.device)
    seconds = best_of(call, args.device, args.seconds)
    line = {"engine": "torch.compile" if compiled else "torch", "model": model, "job": job, "level": level, "dtype": "fp32" if level == "O0" else "fp16"}
    print(json.dumps({**line, "batch": batch, "p50_seconds": seconds}), flush=True)


def numbers(text):
    return [int(n) for n in text.split(",") if n]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--models", default="resnet50,bert")
    parser.add_argument("--train", type=numbers, default=[32])
    parser.add_argument("--run", type=numbers, default=[1, 8])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-compile", action="store_true")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    for model in args.models.split(","):
        for compiled in (False,) if args.no_compile else (False, True):
            cases = [("train", level, batch) for level in ("O0", "O1") for batch in args.train]
            cases += [("run", level, batch) for level in ("O0", "O1", "O2") for batch in args.run]
            for job, level, batch in cases:
                try:
                    measure(args, model, job, level, batch, compiled)
                except Exception as error:  # a peer that does not run is left out of the table
                    print(json.dumps({"engine": "torch", "model": model, "job": job, "level": level, "error": str(error)[:200]}), flush=True)


main()
