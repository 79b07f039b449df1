"""Which answers conversions keep, and how much of each model becomes low: for every model of a folder a row per kind of conversion.

  python3 tests/bench/kept_answers.py AMPC FOLDER [--seeds N]

AMPC: the command. FOLDER: models, such as those that tools/quickstart.sh fetches. An answer is kept where `ampc compare` says PASS for every
seed of made-up feeds: both models run unfused there, each result rounded to its type. Prints Markdown; exit status 1 where an answer is lost.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

KINDS = {"fp16": [], "fp16 --probe 2": ["--probe", "2"], "bf16": ["--dtype", "bf16"]}


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True)


def models(folder):
    names = [p for p in sorted(folder.rglob("*")) if p.suffix in (".onnx", ".pdmodel") or p.name == "inference.json"]
    return [p for p in names if p.is_file()]


def convert(ampc, model, more, work):
    low = work / ("low" + model.suffix)
    done = run(ampc, "convert", model, "-o", low, "--no-sync", "--json", *more)
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr.strip()}")
    return low, json.loads(done.stdout)


def kept(ampc, model, low, seeds):
    codes = [run(ampc, "compare", model, low, "--random", "--seed", seed, "--json").returncode for seed in range(seeds)]
    if any(code > 1 for code in codes):
        return None
    return all(code == 0 for code in codes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ampc", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    rows = {kind: [] for kind in KINDS}
    print("| model | " + " | ".join(f"{kind}: answer | low flops | ms" for kind in KINDS) + " |")
    print("|---" * (1 + 3 * len(KINDS)) + "|")
    with tempfile.TemporaryDirectory() as work:
        for model in models(args.folder):
            cells = []
            for kind, more in KINDS.items():
                low, report = convert(args.ampc, model, more, pathlib.Path(work))
                same, share = kept(args.ampc, model, low, args.seeds), report["after"]["low_flops_share"]
                seconds = report["load_seconds"] + report["pass_seconds"] + report["save_seconds"]
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
