#!/usr/bin/env python3
"""kill -9 at random moments: the files are the old ones or the new ones, never a mixture, and a training goes on to the same result.

  tests/robust/kill.py --ampc bazel-bin/tools/ampc [--count 100] [--seed N] [--only paddle,separate,apart,onnx,train]

Half of the kills come at a random moment of the whole run, half while files are being replaced: shortly after the save's journal appears.
"""

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import process  # noqa: E402

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
_TEMPORARY = re.compile(r"\.ampc-[0-9a-f]{8}-\d+-\d+\.(tmp|old)$|\.ampc-save-[0-9a-f]{16}$")


class Problem(Exception):
    """Damage that a kill must not do."""


def read_files(folder, names):
    """{name: content} of those that are there."""
    found = {}
    for name in names:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                found[name] = file.read()
    return found


def all_files(folder):
    """The names of the files in the folder and in the folders in it."""
    return sorted(os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names)


def moment(folder, longest, rng):
    """A function that says when to kill, and whether it waits for a journal."""
    start = time.monotonic()
    if rng.random() < 0.5:
        after = rng.random() * longest
        return lambda: time.monotonic() - start > after
    delay = rng.choice([0, 0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3])
    seen = []

    def when():
        if not seen and any(".ampc-save-" in n for n in all_files(folder)):
            seen.append(time.monotonic())
        return bool(seen) and time.monotonic() - seen[0] >= delay

    return when


def kill_converts(ampc, model, to, read, count, seed):
    """Conversions to fp16 and bf16 replace each other's files; `to`: the options that say where, the head first; `read`: those that the
    model is read with then. The numbers of kills, and of those after which the head was absent."""
    rng = random.Random(seed)
    kills = absent = 0
    head = to[0]
    command = [ampc, "convert", model, "-o"] + to + ["--dtype"]
    with tempfile.TemporaryDirectory() as folder:
        for path in to:
            os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        versions = {}
        seconds = 0.0
        for dtype in ("fp16", "bf16"):
            done = process.run(command + [dtype], folder)
            seconds = max(seconds, done.seconds)
            if done.code != 0:
                raise Problem("the conversion itself fails: %r" % done)
            outputs = all_files(folder)
            versions[dtype] = read_files(folder, outputs)
        while kills < count:
            if not process.run_and_kill(command + [rng.choice(sorted(versions))], folder, moment(folder, seconds, rng)):
                continue
            kills += 1
            there = read_files(folder, outputs)
            if head not in there:
                absent += 1
            elif there not in versions.values():
                raise Problem("kill %d: a mixture of files for who knows nothing of journals" % kills)
            names = all_files(folder)
            if not all(n in outputs or _TEMPORARY.match(os.path.basename(n)) for n in names):
                raise Problem("kill %d left %s" % (kills, names))
            seen = process.run([ampc, "inspect", head] + read, folder)
            if seen.code != 0 or read_files(folder, outputs) not in versions.values():
                raise Problem("kill %d: neither the old files nor the new ones: %r" % (kills, seen))
        process.run(command + ["fp16"], folder)
        if all_files(folder) != outputs or read_files(folder, outputs) != versions["fp16"]:
            raise Problem("the last conversion left %s" % all_files(folder))
    return kills, absent


def kill_trainings(ampc, count, seed, steps=400, every=4):
    """A training that is killed again and again and resumed each time ends as one that was left alone. The numbers of kills and resumes."""
    rng = random.Random(seed)
    args = [ampc, "train", "guarded", "--level", "O2", "--no-test", "--threads", "1", "--batch", "16", "--steps", str(steps),
            "-o", "net.pdmodel"]
    kills = resumes = 0
    with tempfile.TemporaryDirectory() as folder:
        alone, often = os.path.join(folder, "alone"), os.path.join(folder, "often")
        os.makedirs(alone)
        os.makedirs(often)
        done = process.run(args, alone, 600)
        if done.code != 0:
            raise Problem("the training itself fails: %r" % done)
        seconds = done.seconds
        checkpoints = os.path.join(often, "saved")
        while True:
            resume = os.path.isdir(checkpoints) and any(n.startswith("step-") for n in os.listdir(checkpoints))
            command = args + ["--checkpoint", "saved", "--checkpoint-every", str(every)] + (["--resume"] if resume else [])
            if kills >= count:
                done = process.run(command, often, 600)
                if done.code != 0:
                    raise Problem("after %d kills the training cannot go on: %r" % (kills, done))
                break
            start = time.monotonic()
            after = rng.random() * seconds * 1.3
            if process.run_and_kill(command, often, lambda: time.monotonic() - start > after or time.sleep(0.001)):
                kills += 1
                resumes += resume
                latest = os.path.join(checkpoints, "latest")
                if os.path.exists(latest):
                    with open(latest, encoding="utf-8") as file:
                        name = file.read().strip()
                    if not os.path.isdir(os.path.join(checkpoints, name)):
                        raise Problem("kill %d: latest names '%s', which is not there" % (kills, name))
            else:
                shutil.rmtree(checkpoints, ignore_errors=True)  # it came to its end: once more
                for name in ("net.pdmodel", "net.pdiparams"):
                    if read_files(often, [name]) != read_files(alone, [name]):
                        raise Problem("after %d kills %s is another" % (kills, name))
        names = ["net.pdmodel", "net.pdiparams"]
        if read_files(often, names) != read_files(alone, names):
            raise Problem("after %d kills the training ends with other bits" % kills)
        os.makedirs(os.path.join(checkpoints, ".unfinished-1"))  # as of a kill within the very last save
        done = process.run(args + ["--checkpoint", "saved", "--resume"], often, 600)
        if done.code != 0:
            raise Problem("a training that is at its end cannot be resumed: %r" % done)
        left = [n for n in os.listdir(checkpoints) if not n.startswith("step-") and n != "latest"]
        if left or set(os.listdir(often)) != set(names + ["saved"]):
            raise Problem("the last training left %s" % sorted(left + os.listdir(often)))
    return kills, resumes


def small(name):
    return os.path.join(_ROOT, "tests/golden", name)


def converts(models=None):
    """The conversions, by name: the model, the options that say where to, and those to read it from there."""
    rec = os.path.join(models, "rec/inference.pdmodel") if models else small("models/encoder.pdmodel")
    return {
        "paddle": (rec, ["out.pdmodel"], []),
        "separate": (rec, ["__model__", "--params-output", "."], []),  # a file for each parameter: many renames
        "apart": (rec, ["p/out.pdmodel", "--params-output", "w/out.pdiparams"], ["--params", "w/out.pdiparams"]),  # in two folders
        "onnx": (small("onnx/external.onnx"), ["out.onnx", "--write-config", "c/out.json"], []),  # with external data
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--models", help="the folder of the real models; else a small one of the tests stands for Paddle")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="paddle,separate,apart,onnx,train")
    options = parser.parse_args()
    ampc = os.path.abspath(options.ampc)
    wanted = options.only.split(",")
    for name, (model, to, read) in converts(options.models).items():
        if name in wanted:
            kills = kill_converts(ampc, model, to, read, options.count, options.seed)
            print("%s: %d kills, after %d of them the program was absent until the next command" % ((name,) + kills), flush=True)
    if "train" in wanted:
        print("train: %d kills, %d of them of a resumed training" % kill_trainings(ampc, options.count, options.seed), flush=True)


if __name__ == "__main__":
    main()
