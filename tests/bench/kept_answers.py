"""Which answers conversions keep, and how much of each model becomes low: for every model of a folder a row per kind of conversion.

  python3 tests/bench/kept_answers.py AMPC FOLDER [--seeds N] [--inputs FEEDS] [--kinds KIND...]

AMPC: the command. FOLDER: models, such as those that tools/quickstart.sh fetches. An answer is kept where `ampc compare` says PASS for every
seed of made-up feeds, and for each file of FEEDS: both models run unfused there, each result rounded to its type. Prints Markdown; exit status 1 where an answer is lost.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

TUNED = "bf16 tuned"  # on forty made-up feeds, of other seeds than those that judge
KINDS = {"fp16": [], "fp16 --probe 2": ["--probe", "2"], "bf16": ["--dtype", "bf16"], TUNED: ["--dtype", "bf16"]}


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True)


def models(folder):
    names = [p for p in sorted(folder.rglob("*")) if p.suffix in (".onnx", ".pdmodel") or p.name == "inference.json"]
    return [p for p in names if p.is_file()]


def convert(ampc, model, kind, work):
    low, plan, begin = work / ("low" + model.suffix), work / "plan.json", time.monotonic()
    more = KINDS[kind]
    if kind == TUNED:
        done = run(ampc, "tune", model, "--random", "--runs", 40, "--seed", 1000, "--plan-out", plan, *more)
        if done.returncode > 1:
            sys.exit(f"{model}: {done.stderr.strip()}")
        more = [*more, *(["--plan", plan] if done.returncode == 0 else [])]
    done = run(ampc, "convert", model, "-o", low, "--no-sync", "--json", *more)
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr.strip()}")
    return low, json.loads(done.stdout), time.monotonic() - begin


def kept(ampc, model, low, seeds, inputs):
    feeds = [["--random", "--seed", seed] for seed in range(seeds)]
    feeds += [["--input", file] for file in sorted(inputs.glob(model.parent.name + "_inputs_*.npz"))] if inputs else []
    codes = [run(ampc, "compare", model, low, *words, "--json").returncode for words in feeds]
    if any(code > 1 for code in codes):
        return None
    return all(code == 0 for code in codes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ampc", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--inputs", type=pathlib.Path, help="a folder with FOLDER_inputs_*.npz for models in folders of that name, such as tools/quickstart/data")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="which columns (default: all)")
    args = parser.parse_args()
    args.ampc = args.ampc.resolve()
    rows = {kind: [] for kind in args.kinds}
    print("| model | " + " | ".join(f"{kind}: answer | low flops | ms" for kind in args.kinds) + " |")
    print("|---" * (1 + 3 * len(args.kinds)) + "|")
    with tempfile.TemporaryDirectory() as work:
        for model in models(args.folder):
            cells = []
            for kind in args.kinds:
                low, report, seconds = convert(args.ampc, model, kind, pathlib.Path(work))
                same, share = kept(args.ampc, model, low, args.seeds, args.inputs), report["after"]["low_flops_share"]
                rows[kind].append((same, share))
                word = {True: "kept", False: "lost", None: "does not run"}[same]
                cells += [word, f"{100 * share:.1f} %", f"{1000 * seconds:.0f}"]
            print(f"| {model.relative_to(args.folder).parent} | " + " | ".join(cells) + " |", flush=True)
    print()
    for kind, results in rows.items():
        shares = [share for _, share in results]
        print(f"{kind}: {sum(1 for same, _ in results if same)} of {len(results)} answers kept, "
              f"{100 * sum(shares) / len(shares):.1f} % of the flops of convolutions and products low on average, least {100 * min(shares):.1f} %")
    return 0 if all(same for results in rows.values() for same, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
