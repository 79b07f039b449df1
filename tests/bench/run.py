#!/usr/bin/env python3
"""Measures ampc beside its peers in one run: what tests/bench/run.sh starts. Prints tables; --json writes every number.

Engines take turns, and the best of all their runs counts (20 at least, 10 with --quick); the bars are ratios of such numbers. Nothing is
pinned, files are in the page cache.
"""
import argparse
import os
import sys
import tempfile
import traceback

import bf16
import common
import convert
import executor
import fixed_set
import kinds
import latency
import onnx_peers
import paddle_check
import prediction
import summary
import train

SECTIONS = {
    "latency": (latency.section_latency, "ampc, Paddle Inference and ONNX Runtime, fp32; fp16 over fp32; peak memory"),
    "start": (latency.section_start, "load and first run; a new width of rec's input"),
    "paddle": (paddle_check.section_paddle, "the real Paddle reads converted models and gives the same answers"),
    "bf16": (bf16.section_bf16, "bf16 models over their fp32 originals and over OpenVINO's bf16"),
    "prediction": (prediction.section_prediction, "what convert predicts of bf16 on this CPU, and what is measured"),
    "onnx": (onnx_peers.section_latency, "latency of the ONNX models beside ONNX Runtime"),
    "check": (onnx_peers.section_check, "conversions of the ONNX models in onnx.checker, ONNX Runtime and ampc: answers"),
    "conformance": (onnx_peers.section_conformance, "the standard's own tests, converted, in ONNX Runtime"),
    "kinds": (kinds.section_kinds, "generated networks of one kind each beside ONNX Runtime and OpenVINO: quantised, pooling, activations, element-wise"),
    "set": (fixed_set.section_set, "the fixed set of models: fp32, bf16, fp16 and quantised beside ONNX Runtime and OpenVINO; goes on where --json ends"),
    "executor": (executor.section_executor, "what an operation costs that does next to nothing"),
    "convert": (onnx_peers.section_convert, "conversion of large ONNX models beside onnxconverter-common and cp"),
    "pipeline": (convert.section_pipeline, "chains of 1k to 1M ops through the whole pipeline, in three formats"),
    "streams": (convert.section_streams, "conversion of large Paddle and ONNX models beside cp, and what waiting for the disk takes"),
    "limit": (convert.section_limit, "conversion of a model that is larger than memory"),
    "chains": (onnx_peers.section_chains, "conversion of chains of 1k to 100k nodes"),
    "training": (train.section_training, "a step of training beside Paddle and, with --torch, PyTorch"),
}


def numbers(words):
    return [int(word) for word in words.split(",")]


def arguments():
    about = "\n".join(f"  {name:<14}{what}" for name, (_, what) in SECTIONS.items())
    parser = argparse.ArgumentParser(prog="tests/bench/run.sh", description=f"{__doc__}\nSections:\n{about}", formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", default=os.path.join(common.ROOT, "bazel-bin/tools/ampc"), help="the binary")
    parser.add_argument("--models", required=True, help="folder of tools/fetch_models.py")
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--names", default=",".join(latency.MODELS), help="models of latency; default: %(default)s")
    parser.add_argument("--batches", type=numbers, default=[1, 8], help="of latency and set; default 1,8")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="default 1,2")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each engine, ten runs in each; default %(default)s")
    parser.add_argument("--clock", choices=list(common.CLOCKS), default="wall", help="cpu: seconds of the processor instead, of one thread; where other work disturbs the machine")
    parser.add_argument("--seconds", type=float, default=0.0, help="of a turn, at least; default %(default)s")
    parser.add_argument("--quick", action="store_true", help="one turn, batch 1, small sizes: a look, not a result")
    parser.add_argument("--sizes", default=",".join(onnx_peers.SIZES), help="of convert; default %(default)s")
    parser.add_argument("--data", default="/usr/share/libonnx-testdata/data", help="of conformance; default %(default)s")
    parser.add_argument("--torch", help="an interpreter that has PyTorch; for set, all that tests/wild needs")
    parser.add_argument("--only", type=lambda words: words.split(","), default=[], help="of set: models whose name has one of these in it; a comma between two")
    parser.add_argument("--exports", default=os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "ampc", "bench", "exports"),
                        help="folder for the networks that set exports; default %(default)s")
    parser.add_argument("--work", help="folder for large files; default: a temporary one")
    parser.add_argument("--json", help="file for all numbers; sections of an earlier run of the same file stay")
    args = parser.parse_args()
    args.models_timed, args.names = args.names.split(","), onnx_peers.MODELS
    unknown = [f"{n}: no such section" for n in args.sections.split(",") if n not in SECTIONS] + [f"{n}: no such model" for n in args.models_timed if n not in latency.MODELS]
    if unknown:
        parser.error("; ".join(unknown))
    if args.clock == "cpu" and args.threads != [1]:
        parser.error("--clock cpu adds up threads: it needs --threads 1")
    common.timing.update(clock=args.clock, seconds=args.seconds)
    if args.quick:
        args.rounds, args.batches, args.sizes = 1, [1], "100MB"
    return args


def main():
    args = arguments()
    results = {**common.earlier(args.json), **common.print_machine()}
    broken = []
    for name in args.sections.split(","):
        try:
            with tempfile.TemporaryDirectory(dir=args.work) as work:
                results[name] = SECTIONS[name][0](args, work)
        except Exception:  # the other sections still run
            traceback.print_exc()
            results.pop(name, None)
            broken.append(name)
        if args.json:
            common.write(args.json, results)
    results["summary"] = summary.show(results)
    if args.json:
        common.write(args.json, results)
    return "sections that broke off: " + ", ".join(broken) if broken else 0


if __name__ == "__main__":
    sys.exit(main())
