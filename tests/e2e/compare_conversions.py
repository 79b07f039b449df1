#!/usr/bin/env python3
"""Converts models with two builds of ampc and says where what they wrote or decided differs.

    compare_conversions.py BEFORE AFTER [FOLDER...]

BEFORE and AFTER are binaries, the folders are searched for models; without one, the golden models of this tree and those of $AMPC_MODELS. Each is
converted to fp16 and to bf16 at O1 and O2. Of conversions that differ, each change of a decision is a line: how many ops, from which rule to which, and the first of
them. The exit status is 1 if anything differs.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
GOLDEN = os.path.join(os.path.dirname(HERE), "golden")
OPTIONS = [("--dtype", dtype, "--level", level) for dtype in ("fp16", "bf16") for level in ("O1", "O2")]


def models(folders):
    found = []
    for folder in folders:
        for where, _, names in os.walk(folder):
            found += [os.path.join(where, n) for n in names if n.endswith((".pdmodel", ".onnx")) or n == "inference.json"]
    return sorted(found)


def convert(ampc, model, options, folder):
    """Exit status, bytes of the written files by name, {op: (precision, rule)}, what was said of a failure."""
    os.makedirs(folder)
    out = "model" + os.path.splitext(model)[1]
    command = [ampc, "convert", model, "-o", out, "--no-sync", "--report", "report.json", *options]
    run = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if run.returncode != 0 and "--program-only" in run.stderr:  # the model travels without weights
        run = subprocess.run([*command, "--program-only"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    written, decisions = {}, {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        if name == "report.json":
            # An op is named by its first result; a block may define the name again.
            for op in json.loads(data).get("ops", []):
                key = (op["op"], op["value"])
                while key in decisions:
                    key = (*key[:2], len(decisions))
                decisions[key] = (op["precision"], op["rule"])
        else:
            written[name] = data
    return run.returncode, written, decisions, run.stderr.strip()


def compare(before, after, model, options):
    with tempfile.TemporaryDirectory() as folder:
        one = convert(before, model, options, os.path.join(folder, "before"))
        two = convert(after, model, options, os.path.join(folder, "after"))
    changes = collections.defaultdict(list)
    for op in sorted({*one[2], *two[2]}, key=str):
        was, now = one[2].get(op), two[2].get(op)
        if was != now:
            changes[was, now].append(op)
    said = [] if one[0] == two[0] else ["exit %d -> %d: %s" % (one[0], two[0], one[3] or two[3])]
    for (was, now), ops in changes.items():
        said.append("%4d  %s -> %s  %s" % (len(ops), *("none" if d is None else "%s %s" % d for d in (was, now)), " ".join(map(str, ops[0]))))
    # A conversion that only rewrote its marks has equal decisions and other bytes.
    return one[1] == two[1], one[0] == two[0] != 0, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args()
    folders = args.folders or [GOLDEN, *filter(None, [os.environ.get("AMPC_MODELS")])]
    binaries = [os.path.abspath(path) for path in (args.before, args.after)]
    jobs = [(model, options) for model in models(map(os.path.abspath, folders)) for options in OPTIONS]
    same = refused = other_bytes = decided = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (model, options), (equal, alike_refused, said) in zip(jobs, pool.map(lambda job: compare(*binaries, *job), jobs)):
            same += equal and not said
            refused += alike_refused
            other_bytes += not equal and not said
            decided += bool(said)
            if said or not equal:
                print("%s %s %s%s" % (os.path.relpath(model), options[1], options[3], "" if said else ": other bytes, equal decisions"))
            for line in said:
                print("  " + line)
    print("%d conversions: %d equal (%d of them refused), %d with other bytes alone, %d with other decisions" % (len(jobs), same, refused, other_bytes, decided))
    return 1 if same < len(jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
