#!/usr/bin/env python3
"""Section of run.py: a training step of ampc beside Paddle static and PyTorch eager, all in turn.

Best of all steps of all rounds; a step takes its batch from memory, computes loss and gradients, and updates.
"""
import json
import os
import time

import common
from common import Once, mb, ms, quotient, run_ampc, run_child, table

STEPS = {"guarded": 200, "simplenet": 4}
OURS = {
    "ampc fp32": ["--level", "O0"],
    "ampc O1 fp16": ["--level", "O1"],
    "ampc O2 fp16": ["--level", "O2", "--no-guard"],
    "ampc O2 bf16": ["--level", "O2", "--no-guard", "--dtype", "bf16"],
}


def limit_threads(threads):
    """Of the libraries, before they are loaded."""
    os.environ.update(OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads)


def batches(net, numpy):
    rng = numpy.random.default_rng(0)
    if net == "guarded":
        return [(rng.standard_normal((64, 1, 28, 28), dtype="float32"), rng.integers(0, 10, (64, 1))) for _ in range(8)]
    return [(rng.standard_normal((512, 4096), dtype="float32"), rng.standard_normal((512, 4096), dtype="float32")) for _ in range(2)]


def child_torch(net, threads, steps):
    limit_threads(threads)
    import numpy
    import torch
    from torch import nn
    torch.set_num_threads(int(threads))
    if net == "guarded":
        model = nn.Sequential(nn.Conv2d(1, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1014, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        lossfn = lambda out, y: nn.functional.cross_entropy(out, y[:, 0])
    else:
        model = nn.Sequential(nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 4096))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
        lossfn = nn.MSELoss()
    data = batches(net, numpy)
    times = []
    for step in range(int(steps)):
        start = time.perf_counter()
        x, y = data[step % len(data)]
        loss = lossfn(model(torch.from_numpy(x)), torch.from_numpy(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        times.append(time.perf_counter() - start)
    return {"times": times, "version": "torch " + torch.__version__}


def child_paddle(net, threads, steps):
    limit_threads(threads)
    import numpy
    import paddle
    paddle.enable_static()
    paddle.set_flags({"FLAGS_paddle_num_threads": int(threads)})
    if net == "guarded":
        x = paddle.static.data("x", [64, 1, 28, 28])
        y = paddle.static.data("y", [64, 1], "int64")
        h = paddle.static.nn.conv2d(x, 6, 3, bias_attr=False)
        h = paddle.static.nn.batch_norm(h, act="relu")
        h = paddle.nn.functional.max_pool2d(h, 2, 2)
        h = paddle.static.nn.fc(h, 10)
        loss = paddle.mean(paddle.nn.functional.softmax_with_cross_entropy(h, y))
        optimizer = paddle.optimizer.Momentum(0.01, 0.9)
    else:
        x = paddle.static.data("x", [512, 4096])
        y = paddle.static.data("y", [512, 4096])
        h = paddle.static.nn.fc(x, 4096, activation="relu")
        h = paddle.static.nn.fc(h, 4096, activation="relu")
        loss = paddle.nn.functional.mse_loss(paddle.static.nn.fc(h, 4096), y)
        optimizer = paddle.optimizer.SGD(0.0001)
    optimizer.minimize(loss)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    data = batches(net, numpy)
    times = []
    for step in range(int(steps)):
        start = time.perf_counter()
        x, y = data[step % len(data)]
        executor.run(feed={"x": x, "y": y}, fetch_list=[loss])
        times.append(time.perf_counter() - start)
    return {"times": times, "version": "paddle " + paddle.__version__}


def step_ampc(args, flags, net, threads, steps):
    result = run_ampc(args, "train", net, "--steps", steps, "--threads", threads, "--json", "--log-every", "1", "--no-test", *flags)
    if "failed" in result:
        return {"failed": result["failed"]}
    records = map(json.loads, result["out"].splitlines())
    return {"times": [r["seconds"] for r in records if r["event"] == "step"], "peak_bytes": result["peak_bytes"]}


def section_training(args, work):
    rows, results = [["network", "threads", "who", "step", "x ampc fp32", "peak"]], []
    for net in ["guarded"] if args.quick else STEPS:
        for threads in args.threads:
            words = (net, threads, STEPS[net])
            each = {name: Once(lambda flags=flags: step_ampc(args, flags, *words)) for name, flags in OURS.items()}
            each["paddle"] = Once(lambda: run_child(__file__, "paddle", *words))
            if args.torch:
                each["torch"] = Once(lambda: run_child(__file__, "torch", *words, python=args.torch))
            best = common.in_turn(each, args.rounds)
            results.append({"network": net, "threads": threads, **best})
            rows += [[net, str(threads), r.get("version", name), ms(r), quotient(r, best["ampc fp32"]), mb(r)] for name, r in best.items()]
    table("training: best step", rows)
    return results


if __name__ == "__main__":
    common.serve_child({"torch": child_torch, "paddle": child_paddle})
