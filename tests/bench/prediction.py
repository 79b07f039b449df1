"""Prediction of convert: the time of a bf16 model over that of its fp32 original on this CPU, predicted and measured. A section of run.py, and by itself, with
nothing but the command:

  python3 tests/bench/prediction.py AMPC FOLDER...

AMPC: the command. FOLDER: models, such as those that tools/quickstart.sh fetches, on made-up feeds. Times are those of `ampc profile`: both types take turns, in
seconds of the one thread that runs them, so that what else the machine does takes none of them.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

NEAR = 0.1  # of a ratio to 1: no sign is expected
SECONDS = 1  # of runs in each type


def ranks(values):
    """The place of each value among all, equal ones in the middle of theirs."""
    return [sum(v < value for v in values) + (sum(v == value for v in values) - 1) / 2 for value in values]


def correlation(a, b):
    a, b = ([v - sum(values) / len(values) for v in values] for values in (a, b))
    return sum(x * y for x, y in zip(a, b)) / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5


def measure(ampc, models, work):
    """`models`: name, file and feeds, which may be None. Prints a row for each, and what they say together."""
    results = []
    print("%-40s %12s %12s %9s %9s" % ("bf16 / fp32 on one thread", "fp32", "bf16", "measured", "predicted"))
    for name, model, feeds in models:
        words = ["--input", feeds] if feeds else []
        done = subprocess.run([ampc, "profile", model, *words, "-o", os.path.join(work, "times.json"), "--seconds", str(SECONDS), "--json"], capture_output=True,
                              text=True)
        if done.returncode != 0:
            print(name + ": " + done.stderr.strip())
            continue
        profile = json.loads(done.stdout)
        if "bf16" not in profile:
            print("this CPU computes in no low type")
            return results
        measured, predicted = (profile["bf16"][key] / profile["fp32"][key] for key in ("seconds", "predicted"))
        near = abs(measured - 1) <= NEAR
        results.append({"model": name, "measured": measured, "predicted": predicted, "near": near})
        sign = "" if near else "right" if (measured < 1) == (predicted < 1) else "wrong"
        print("%-40s %9.3f ms %9.3f ms %9.2f %9.2f  %s" % (name, 1e3 * profile["fp32"]["seconds"], 1e3 * profile["bf16"]["seconds"], measured, predicted, sign),
              flush=True)
    if len(results) > 1:
        rank = correlation(ranks([r["measured"] for r in results]), ranks([r["predicted"] for r in results]))
        clear = [r for r in results if not r["near"]]
        right = sum((r["measured"] < 1) == (r["predicted"] < 1) for r in clear)
        print("rank correlation %.2f of %d models; the right sign in %d of %d that are beyond %d %%" % (rank, len(results), right, len(clear), 100 * NEAR))
    return results


def section_prediction(args, work):
    import bf16  # what its models need is not needed by itself
    return measure(args.ampc, bf16.models(args, work), work)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ampc")
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    args = parser.parse_args()
    files = [p for folder in args.folders for p in sorted(folder.rglob("*")) if p.suffix in (".onnx", ".pdmodel") or p.name == "inference.json"]
    with tempfile.TemporaryDirectory() as work:
        measure(args.ampc, [("/".join(p.parts[-2:]), str(p), None) for p in files if p.is_file()], work)


if __name__ == "__main__":
    sys.exit(main())
