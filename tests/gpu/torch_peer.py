"""SimpleNet in PyTorch, as `ampc bench simplenet --train --optimizer sgd` measures it: a JSON object per line."""
import json
import time

import torch

BATCH, FEATURES, LAYERS, STEPS = 512, 4096, 3, 50


def measure(level, dtype, compiled):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = level == "TF32"
    parts = []
    for layer in range(LAYERS):
        parts += [torch.nn.Linear(FEATURES, FEATURES)] + ([torch.nn.ReLU()] if layer + 1 < LAYERS else [])
    model = torch.nn.Sequential(*parts).cuda()
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda", enabled=level == "O1")
    x, y = torch.rand(BATCH, FEATURES, device="cuda"), torch.rand(BATCH, FEATURES, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16, enabled=level == "O1"):
            loss = torch.nn.functional.mse_loss(run(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    for _ in range(10):
        step()
    torch.cuda.synchronize()
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / STEPS)
    engine = "torch.compile" if compiled else "torch"
    print(json.dumps({"engine": engine, "model": "simplenet", "job": "train", "level": level, "dtype": dtype, "batch": BATCH, "p50_seconds": best}), flush=True)


for compiled in (False, True):
    for level, dtype in (("O0", "fp32"), ("TF32", "fp32"), ("O1", "fp16")):
        try:
            measure(level, dtype, compiled)
        except Exception as error:  # a peer that does not run is left out of the table
            print(json.dumps({"engine": "torch", "model": "simplenet", "job": "train", "level": level, "error": str(error)[:200]}), flush=True)
