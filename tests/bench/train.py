#!/usr/bin/env python3
"""Times a training step of ampc against PyTorch eager and Paddle static, all in turn in the same run; prints a table and JSON.

  tests/bench/train.py --torch PYTHON --paddle PYTHON [--ampc bazel-bin/tools/ampc] [--nets guarded,simplenet] [--threads 1,2] [--rounds 3]

PYTHON is an interpreter that has the package (a virtual environment); a peer without one is left out. Best of all steps of all rounds, in
seconds; a step takes its batch from memory, computes loss and gradients, and updates.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import time

BATCH = {"guarded": 64, "simplenet": 512}
STEPS = {"guarded": 200, "simplenet": 4}
OURS = {
    "ampc fp32": ["--level", "O0"],
    "ampc O1 fp16": ["--level", "O1"],
    "ampc O2 fp16": ["--level", "O2", "--no-guard"],
    "ampc O2 bf16": ["--level", "O2", "--no-guard", "--dtype", "bf16"],
}


def batches(net, numpy):
    rng = numpy.random.default_rng(0)
    if net == "guarded":
        return [(rng.standard_normal((64, 1, 28, 28), dtype="float32"), rng.integers(0, 10, (64, 1))) for _ in range(8)]
    return [(rng.standard_normal((512, 4096), dtype="float32"), rng.standard_normal((512, 4096), dtype="float32")) for _ in range(2)]


def run_torch(net, threads, steps):
    import numpy
    import torch
    from torch import nn
    torch.set_num_threads(threads)
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
    for step in range(steps):
        start = time.perf_counter()
        x, y = data[step % len(data)]
        loss = lossfn(model(torch.from_numpy(x)), torch.from_numpy(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        times.append(time.perf_counter() - start)
    return times, "torch " + torch.__version__


def run_paddle(net, threads, steps):
    import numpy
    import paddle
    paddle.enable_static()
    paddle.set_flags({"FLAGS_paddle_num_threads": threads})
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
    for step in range(steps):
        start = time.perf_counter()
        x, y = data[step % len(data)]
        executor.run(feed={"x": x, "y": y}, fetch_list=[loss])
        times.append(time.perf_counter() - start)
    return times, "paddle " + paddle.__version__


def peer(name, net, threads, steps):
    times, version = {"torch": run_torch, "paddle": run_paddle}[name](net, threads, steps)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"times": times, "version": version, "peak_bytes": peak}))


def run_peer(python, name, net, threads, steps):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
    command = [python, os.path.abspath(__file__), "--peer", name, "--net", net, "--peer-threads", str(threads), "--steps", str(steps)]
    out = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out.strip().splitlines()[-1])


def run_ours(ampc, flags, net, threads, steps):
    command = [ampc, "train", net, "--steps", str(steps), "--threads", str(threads), "--json", "--log-every", "1", "--no-test"] + flags
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    times = []
    for line in process.stdout:
        record = json.loads(line)
        if record["event"] == "step":
            times.append(record["seconds"])
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit("failed: " + " ".join(command))
    return {"times": times, "peak_bytes": usage.ru_maxrss * 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", default="bazel-bin/tools/ampc")
    parser.add_argument("--torch")
    parser.add_argument("--paddle")
    parser.add_argument("--nets", default="guarded,simplenet")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--net", help=argparse.SUPPRESS)
    parser.add_argument("--peer-threads", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        return peer(args.peer, args.net, args.peer_threads, args.steps)

    results = []
    for net in args.nets.split(","):
        for threads in [int(t) for t in args.threads.split(",")]:
            best, peak, version = {}, {}, {}
            for _ in range(args.rounds):
                runs = {name: lambda flags=flags: run_ours(args.ampc, flags, net, threads, STEPS[net]) for name, flags in OURS.items()}
                for name, python in (("torch", args.torch), ("paddle", args.paddle)):
                    if python:
                        runs[name] = lambda name=name, python=python: run_peer(python, name, net, threads, STEPS[net])
                for name, run in runs.items():
                    result = run()
                    best[name] = min([best.get(name, 1e9)] + result["times"])
                    peak[name] = max(peak.get(name, 0), result["peak_bytes"])
                    version[name] = result.get("version", "")
            for name in best:
                results.append({"net": net, "batch": BATCH[net], "threads": threads, "who": version[name] or name, "best_seconds": best[name],
                                "x_fp32": best[name] / best["ampc fp32"], "peak_bytes": peak[name]})
                row = results[-1]
                print("%-10s %d thread%s  %-16s %9.2f ms  %5.2f x ours fp32  peak %6.0f MB" % (
                    net, threads, " " if threads == 1 else "s", row["who"], 1e3 * row["best_seconds"], row["x_fp32"], row["peak_bytes"] / 1e6), flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    sys.exit(main())
