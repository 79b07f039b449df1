#!/usr/bin/env python3
"""Damaged copies of models, through the command line: each ends in one sentence and a polite exit code, or works, within 10 s and 2 GB.

  tests/robust/corrupt.py --ampc bazel-bin/tools/ampc --models FOLDER        2,000 copies of the real models
      [--count N] [--seed N] [--only rec,cls] [--case N] [--json FILE]       --case N makes and runs one of them and keeps it in ./case

tools/fetch_models.py [--onnx] FOLDER gets the models. Every copy is converted; every third one is run too, where the model has inputs
beside the tests. Exit codes that are polite: 3; 4 for what became a well-formed file with an operation, a type or a version that does not
exist; 2 for what no longer takes the inputs it had. The exit status is 1 if any was something else, took longer, or needed more.
"""

import argparse
import collections
import json
import os
import random
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import damage  # noqa: E402
import process  # noqa: E402

SECONDS = 10
MEMORY = 2 << 30
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

# Folder below the models, share of all copies, and the inputs, if any.
_REAL = [
    ("rec", 500, "tools/quickstart/data/rec_inputs_1.npz"),
    ("cls", 450, "tools/quickstart/data/cls_inputs_0.npz"),
    ("ppocrv5_rec", 100, "tools/quickstart/data/rec_inputs_1.npz"),
    ("silero_vad", 250, "tools/quickstart/data/silero_vad_inputs_0.npz"),
    ("silero_vad_ifless", 150, "tests/golden/onnx/silero_vad_ifless_inputs_0.npz"),
    ("magika", 200, "tests/golden/onnx/magika_inputs_0.npz"),
    ("basic_pitch", 150, "tests/golden/onnx/basic_pitch_inputs_0.npz"),
    ("ppocr_cls_onnx", 150, "tools/quickstart/data/cls_inputs_0.npz"),
    ("ppocrv4_rec_onnx", 100, "tools/quickstart/data/rec_inputs_1.npz"),
    ("minilm", 50, "tools/quickstart/data/minilm_inputs_0.npz"),
]
# Small models in the source tree: files, share, inputs.
_SMALL = [
    (["tests/golden/models/%s.%s" % (name, extension) for extension in ("pdmodel", "pdiparams")], 10, None)
    for name in ("decoder", "detector", "encoder", "recogniser", "speech")
] + [
    (["tests/golden/control/gru_decoder.pdmodel", "tests/golden/control/gru_decoder.pdiparams"], 10, None),
    (["tests/golden/control/nested_loops.pdmodel"], 5, None),
    (["tests/golden/paddle3/lenet/inference.json", "tests/golden/paddle3/lenet/inference.pdiparams"], 10, "tests/golden/paddle3/lenet/inputs.npz"),
    (["tests/golden/paddle3/while_loop/inference.json", "tests/golden/paddle3/while_loop/inference.pdiparams"], 10, "tests/golden/paddle3/while_loop/inputs.npz"),
    (["tests/golden/onnx/small.onnx"], 20, "tests/golden/onnx/small_inputs_0.npz"),
    (["tests/golden/onnx/external.onnx", "tests/golden/onnx/external.data"], 15, None),
]


class Model:
    def __init__(self, name, paths, share, inputs):
        self.name, self.share = name, share
        self.inputs = os.path.join(_ROOT, inputs) if inputs else None
        self.files = {}
        for path in paths:
            with open(path, "rb") as file:
                self.files[os.path.basename(path)] = file.read()
        self.program = os.path.basename(paths[0])


def small_models():
    return [Model(os.path.basename(paths[0]), [os.path.join(_ROOT, p) for p in paths], share, inputs) for paths, share, inputs in _SMALL]


def real_models(folder, only=()):
    """Those that are there."""
    found = []
    for name, share, inputs in _REAL:
        for stem, rest in (("inference.pdmodel", ["inference.pdiparams"]), ("inference.json", ["inference.pdiparams"]), ("model.onnx", [])):
            paths = [os.path.join(folder, name, f) for f in [stem] + rest]
            if (not only or name in only) and all(os.path.exists(p) for p in paths):
                found.append(Model(name, paths, share, inputs))
    return found


class Case:
    """Copy number `index`: made from the seed and the number alone."""

    def __init__(self, models, index, seed):
        rng = random.Random("%d %d" % (seed, index))
        self.index = index
        self.model = rng.choices(models, [m.share for m in models])[0]
        donors = [m.files for m in models if m is not self.model and len(m.files) > 1]
        self.files, self.what = damage.damaged(self.model.files, rng, donors)
        self.runs = self.model.inputs is not None and rng.random() < 0.34

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        for name, content in self.files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)

    def commands(self, ampc):
        extension = os.path.splitext(self.model.program)[1]
        out = [[ampc, "convert", self.model.program, "-o", "out" + extension, "--no-sync"]]
        if self.runs:
            out.append([ampc, "run", self.model.program, "--input", self.model.inputs, "-o", "out.npz", "--threads", "1"])
        return out


def problem(outcome):
    """The fault of its end; None for none."""
    if outcome.seconds > SECONDS and outcome.cpu > SECONDS / 2:
        return "took %.1f s" % outcome.seconds
    if outcome.memory > MEMORY:
        return "needed %.0f MB" % (outcome.memory / 1e6)
    if outcome.code not in (0, 2, 3, 4):
        return "exit %d" % outcome.code
    if outcome.code != 0 and not outcome.one_sentence():
        return "not one sentence"
    return None


def run_case(case, ampc, folder):
    """[(command, outcome, problem or None)]; the folder is emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    case.write(folder)
    results = []
    for command in case.commands(ampc):
        outcome = process.run(command, folder, 6 * SECONDS)
        wrong = problem(outcome)
        left = set(os.listdir(folder)) - set(case.files)
        if wrong is None and outcome.code != 0 and left:
            wrong = "left %s behind" % ", ".join(sorted(left))
        results.append((command, outcome, wrong))
        for name in left:
            os.remove(os.path.join(folder, name))
    return results


def run_cases(models, indexes, seed, ampc, report):
    """Runs them, calls report(case, command, outcome, problem) for each; counts by (verb, exit code), and the largest time and memory."""
    counts = collections.Counter()
    most = [0.0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for index in indexes:
            case = Case(models, index, seed)
            for command, outcome, wrong in run_case(case, ampc, os.path.join(folder, "copy")):
                counts[command[1], outcome.code if wrong is None else wrong] += 1
                most = [max(most[0], outcome.seconds), max(most[1], outcome.memory)]
                report(case, command, outcome, wrong)
    return counts, most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--models")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--case", type=int)
    parser.add_argument("--json")
    options = parser.parse_args()
    ampc = os.path.abspath(options.ampc)
    models = real_models(options.models, [n for n in options.only.split(",") if n]) if options.models else small_models()
    if not models:
        sys.exit("no models in %s" % options.models)
    if options.case is not None:
        case = Case(models, options.case, options.seed)
        case.write("case")
        print(case.model.name, case.what)
        for command, outcome, wrong in run_case(case, ampc, "case"):
            print(" ".join(command), "\n", outcome, wrong or "")
        return
    bad = []

    def report(case, command, outcome, wrong):
        if wrong is not None:
            bad.append({"case": case.index, "model": case.model.name, "damage": case.what, "verb": command[1], "problem": wrong,
                        "said": outcome.err[:400]})
            print(json.dumps(bad[-1]), flush=True)

    counts, most = run_cases(models, range(options.first, options.first + options.count), options.seed, ampc, report)
    for key, count in sorted(counts.items(), key=str):
        print("%-8s %-24s %6d" % (key[0], key[1] if isinstance(key[1], str) else "exit %d" % key[1], count))
    print("longest %.1f s, largest %.0f MB, %d copies, %d problems" % (most[0], most[1] / 1e6, options.count, len(bad)))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            texts = {"%s %s" % key: count for key, count in counts.items()}
            json.dump({"counts": texts, "seconds": most[0], "memory": most[1], "problems": bad}, out, indent=1)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
