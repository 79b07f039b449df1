#!/usr/bin/env python3
"""Compares ampc with ONNX Runtime and onnxconverter-common on ONNX models, all in the same run; prints tables and, with --json, one file.

  PYTHON tests/bench/onnx_peers.py --models DIRECTORY [--sections convert,chains,check,conformance,latency] [--ampc bazel-bin/tools/ampc]

PYTHON has onnx, onnxruntime and onnxconverter-common; DIRECTORY is what tools/fetch_models.py --onnx made. Sections:
  convert      fp16 conversion of generated models of 100 MB, 1.3 GB in one file and 2.9 GB with external data (--sizes): whole processes,
               time without the peer's imports, peak memory, and what cp takes for the same files. Files are in the page cache, nothing is synced.
  chains       the same of chains of 1k to 100k nodes, time inside the process: reading, converting, writing, and converting alone
  check        every model and its conversions through onnx.checker with full type checking, ONNX Runtime and ampc: error and answer
  conformance  the standard's node tests (--data): where ONNX Runtime (fp16) or ampc gives the recorded outputs for the original, it does for the converted
  latency      one run with batch 1, fp32: both engines in turn, best of all rounds; ampc's fp16 over its fp32; loading; peak memory
"""
import argparse
import glob
import os
import sys
import time

import engines
import numpy as np
import onnx
import onnx_answers
import onnx_made
from common import ROOT, AmpcBench, convert_ampc, in_turn, mb, mean, ms, print_machine, quotient, run_ampc, run_child, run_sections, serve_child, slim, table, text
from convert import copy_seconds, room_for
from onnx import numpy_helper

MODELS = ["ppocrv4_rec_onnx", "ppocr_cls_onnx", "magika", "silero_vad", "silero_vad_ifless", "basic_pitch", "minilm"]
DATA = {"ppocrv4_rec_onnx": ("rec", "rec"), "ppocr_cls_onnx": ("cls", "ppocr_cls_onnx")}  # other names of inputs and outputs
ONE = {"silero_vad": 1, "silero_vad_ifless": 1, "minilm": 1}  # the set of feeds that one row is taken from; else 0
SIZES = {"100MB": (1, 25), "1.3GB": (1, 325), "2.9GB": (2, 725)}  # kind (2: external data), layers of 4 MB


# Children: one job each in a process of its own, whose peak memory is theirs alone.


def child_convert(source, target):
    """Reads, converts and writes as a user of the peer would; seconds without imports."""
    from onnxconverter_common import float16
    external = os.path.exists(source + ".data")
    start = time.perf_counter()
    model = onnx.load(source)
    loaded = time.perf_counter()
    model = float16.convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=external)
    converted = time.perf_counter()
    if external:
        onnx.save(model, target, save_as_external_data=True, location=os.path.basename(target) + ".data")
    else:
        onnx.save(model, target)
    return {"seconds": time.perf_counter() - start, "convert_seconds": converted - loaded}


def files_of(path):
    return [p for p in (path, path + ".data", os.path.splitext(path)[0] + ".data") if os.path.exists(p)]


# Sections.


def section_convert(args, work):
    rows, results = [["model", "ampc", "peer", "x faster", "cp", "x cp", "ampc peak", "peer peak"]], []
    for name in args.sizes.split(","):
        kind, layers = SIZES[name]
        room_for(4 * layers * (4 << 20), work)
        path = os.path.join(work, f"m{layers}.onnx")
        onnx_made.layered(path, layers, kind == 2)
        graph = os.path.getsize(path) if kind == 2 else os.path.getsize(path) - layers * (4 << 20)
        ours = {}
        for _ in range(3):
            result = convert_ampc(args, path, os.path.join(work, "ours.onnx"))
            ours = result if "failed" in result or result["wall"] < ours.get("wall", 1e9) else ours
        cp = copy_seconds(files_of(path), os.path.join(work, "cp"))
        for p in glob.glob(os.path.join(work, "ours*")):
            os.remove(p)
        peer = {}
        for _ in range(3 if layers < 100 else 1):
            result = run_child(__file__, "convert", path, os.path.join(work, "peer.onnx"))
            peer = result if "failed" in result or result["seconds"] < peer.get("seconds", 1e9) else peer
        for p in glob.glob(os.path.join(work, "*")):
            os.remove(p)
        results.append({"model": name, "graph_bytes": graph, "cp_seconds": cp, "ampc": slim(ours), "peer": slim(peer)})
        rows.append([name, text(ours, "seconds", "%.2f s"), text(peer, "seconds", "%.2f s"), ratio(peer, ours, "seconds"), "%.2f s" % cp,
                     "failed" if "failed" in ours else "%.2f" % (ours["seconds"] / cp), "%d MB" % (ours["peak_bytes"] / 1e6), "%d MB" % (peer["peak_bytes"] / 1e6)])
    table("conversion to fp16, whole files", rows)
    return results


def section_chains(args, work):
    rows, results = [["nodes", "ampc", "peer", "x faster", "ampc alone", "peer alone", "x faster", "ampc peak", "peer peak"]], []
    for length in (1000, 10000, 100000):
        path = os.path.join(work, "chain.onnx")
        onnx_made.chain(path, length)
        ours, peer = {}, {}
        for _ in range(5):
            result = convert_ampc(args, path, os.path.join(work, "ours.onnx"))
            result["seconds"] = result.get("inside")
            ours = result if "failed" in result or result["seconds"] < ours.get("seconds", 1e9) else ours
            result = run_child(__file__, "convert", path, os.path.join(work, "peer.onnx"))
            peer = result if "failed" in result or result["seconds"] < peer.get("seconds", 1e9) else peer
        results.append({"nodes": length, "ampc": slim(ours), "peer": slim(peer)})
        rows.append([str(length), text(ours, "seconds", "%.4f s"), text(peer, "seconds", "%.4f s"), ratio(peer, ours, "seconds"), text(ours, "convert_seconds", "%.4f s"),
                     text(peer, "convert_seconds", "%.4f s"), ratio(peer, ours, "convert_seconds"), "%d MB" % (ours["peak_bytes"] / 1e6), "%d MB" % (peer["peak_bytes"] / 1e6)])
    table("conversion of chains, inside the process", rows)
    return results


def ratio(above, below, key):
    return quotient(above, below, key, "%.1f")


def stored(name, what, k):
    prefix = DATA.get(name, (name, name))[what == "outputs"]
    for folder in ("tools/quickstart/data", "tests/golden/onnx"):
        path = os.path.join(ROOT, folder, f"{prefix}_{what}_{k}.npz")
        if os.path.exists(path):
            return path
    sys.exit(f"there is no {prefix}_{what}_{k}.npz")


def judge(name, run):
    """The largest error and whether all answers are the same, of both sets of feeds; run(k, feeds) gives fetches by name."""
    worst, same = 0.0, True
    for k in (0, 1):
        feeds, want = dict(np.load(stored(name, "inputs", k))), dict(np.load(stored(name, "outputs", k)))
        got = run(k, feeds)
        worst = max(worst, onnx_answers.error(want, got))
        same = same and onnx_answers.same(name, onnx_answers.answer(name, feeds, want), onnx_answers.answer(name, feeds, got))
    return "%.1e %s" % (worst, "same" if same else "CHANGED")


def by_ort(path):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return lambda k, feeds: dict(zip(names, session.run(None, feeds)))


def by_ampc(args, path, name, work):
    def run(k, feeds):
        out = os.path.join(work, "out.npz")
        result = run_ampc(args, "run", path, "--input", stored(name, "inputs", k), "-o", out)
        if "failed" in result:
            raise RuntimeError(result["failed"])
        return dict(np.load(out))
    return run


def attempt(job):
    try:
        return job() or "ok"
    except Exception as e:  # whatever a peer throws is the result
        return "FAILS " + str(e).strip().splitlines()[0][:70]


def section_check(args, work):
    rows, results = [["model", "low flops", "checker", "ONNX Runtime", "ampc"]], []
    for name in args.names:
        original = os.path.join(args.models, name, "model.onnx")
        for dtype in ("fp32", "fp16", "bf16"):
            path, low = original, "-"
            if dtype != "fp32":
                path = os.path.join(work, f"{name}_{dtype}.onnx")
                result = convert_ampc(args, original, path, dtype)
                if "failed" in result:
                    rows.append([f"{name} {dtype}", "-", "FAILS " + result["failed"][:70], "", ""])
                    results.append({"model": name, "dtype": dtype, "failed": result["failed"]})
                    continue
                low = "none" if result["low_flops"] is None else "%.1f %%" % (100 * result["low_flops"])
            row = {"model": name, "dtype": dtype, "low_flops": low, "checker": attempt(lambda: onnx.checker.check_model(path, full_check=True)),
                   "onnxruntime": "-" if dtype == "bf16" else attempt(lambda: judge(name, by_ort(path))),
                   "ampc": attempt(lambda: judge(name, by_ampc(args, path, name, work)))}
            results.append(row)
            rows.append([f"{name} {dtype}", low, row["checker"], row["onnxruntime"], row["ampc"]])
    table("models and conversions: error against the stored fp32 outputs, answer", rows)
    return results


def read_tensors(folder, kind):
    tensors = []
    for k in range(len(glob.glob(os.path.join(folder, f"{kind}_*.pb")))):
        with open(os.path.join(folder, f"{kind}_{k}.pb"), "rb") as f:
            tensors.append(numpy_helper.to_array(onnx.load_tensor_from_string(f.read())))
    return tensors


NEAR = {"fp16": 1e-2, "bf16": 8e-2}  # of each value or of the largest: twenty units of half the last place


def difference(want, got, near):
    """The fault of the second list of tensors, "" for none."""
    for a, b in zip(want, got):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype} {a.shape} became {b.dtype} {b.shape}"
        if a.dtype.kind != "f":
            if not np.array_equal(a, b):
                return "differs"
        elif not np.allclose(a, b, rtol=near, atol=near * float(np.max(np.abs(a[np.isfinite(a)]), initial=0)), equal_nan=True):
            return "differs by %.2g" % float(np.nanmax(np.abs(a - b)))
    return ""


def is_valid(path):
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception:
        return False
    return True


class Case:
    """One of the standard's tests: a model with recorded inputs and outputs."""

    def __init__(self, args, folder, work):
        self.args, self.path, self.work = args, os.path.join(folder, "model.onnx"), work
        data = os.path.join(folder, "test_data_set_0")
        model = onnx.load(self.path, load_external_data=False)
        self.old = any(o.domain in ("", "ai.onnx") and o.version < 7 for o in model.opset_import)
        weights = {w.name for w in model.graph.initializer}
        self.names = [i.name for i in model.graph.input if i.name not in weights], [o.name for o in model.graph.output]
        self.feeds, self.want = dict(zip(self.names[0], read_tensors(data, "input"))), read_tensors(data, "output")

    def by_ort(self, model):
        import onnxruntime
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        return session.run(None, self.feeds)

    def by_ampc(self, model):
        ins, outs = os.path.join(self.work, "in.npz"), os.path.join(self.work, "out.npz")
        np.savez(ins, **self.feeds)
        result = run_ampc(self.args, "run", model, "--input", ins, "-o", outs)
        if "failed" in result:
            raise RuntimeError(result["failed"])
        found = dict(np.load(outs))
        return [found[name] for name in self.names[1]]

    def verdict(self, engine, model, near):
        """"" where the engine loads the model and gives the recorded outputs, else why not."""
        try:
            wrong = difference(self.want, engine(model), near)
        except Exception as e:
            return "load: " + str(e).strip().splitlines()[0]
        return wrong and "output: " + wrong

    def converted(self, dtype, engines_that_run):
        """The fault of the conversion: "" if all is well."""
        low = os.path.join(self.work, "low.onnx")
        result = convert_ampc(self.args, self.path, low, dtype)
        if "failed" in result:
            return "declined: " + result["failed"] if result["code"] == 4 else "convert: " + result["failed"]
        if is_valid(self.path) and not is_valid(low):
            return "the checker refuses it"
        for name, engine in engines_that_run:
            verdict = self.verdict(engine, low, NEAR[dtype])
            if verdict:
                return f"{name}: {verdict}"
        return ""


def conformance_case(args, folder, work):
    """Verdicts by dtype. Nothing where no engine gives the recorded outputs for the original (strings, sequences, random numbers), or its operator set is
    older than 7; ONNX Runtime has no bf16 on a CPU."""
    try:
        case = Case(args, folder, work)
    except Exception:  # inputs that are no tensors
        return {}
    if case.old:
        return {}
    able = [(name, engine) for name, engine in (("ONNX Runtime", case.by_ort), ("ampc", case.by_ampc)) if not case.verdict(engine, case.path, NEAR["fp16"])]
    return {dtype: case.converted(dtype, runs) for dtype, runs in (("fp16", able), ("bf16", able[-1:] if ("ampc", case.by_ampc) in able else [])) if runs}


def section_conformance(args, work):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    folders = sorted(glob.glob(os.path.join(args.data, "*", "*")))
    verdicts = {os.path.basename(folder): conformance_case(args, folder, work) for folder in folders}
    results, rows = {}, [["type", "models", "good", "declined", "not good"]]
    for dtype in NEAR:
        found = {name: v[dtype] for name, v in verdicts.items() if dtype in v}
        declined = {name: v for name, v in found.items() if v.startswith("declined")}
        bad = {name: v for name, v in found.items() if v and name not in declined}
        good = len(found) - len(declined) - len(bad)
        results[dtype] = {"models": len(found), "good": good, "declined": declined, "bad": bad}
        rows.append([dtype, str(len(found)), str(good), str(len(declined)), str(len(bad))])
    table("the standard's tests, converted: the checker, ONNX Runtime (fp16) and ampc, where they take the original", rows)
    for dtype, result in results.items():
        for name, verdict in {**result["bad"], **result["declined"]}.items():
            print(f"  {dtype} {name}: {verdict[:200]}")
    return results


def one_row(name, work):
    """The feeds of one run with batch 1."""
    feeds = dict(np.load(stored(name, "inputs", ONE.get(name, 0))))
    rows = {k: v if v.ndim == 0 or k == "state" else v[:1] for k, v in feeds.items()}
    path = os.path.join(work, name + ".npz")
    np.savez(path, **rows)
    return path


def section_latency(args, work):
    rows, results = [["model", "threads", "ampc", "ONNX Runtime", "ampc / ORT", "fp16 / fp32", "load", "ORT load", "peak", "ORT peak", "ORT own"]], []
    for name in args.names:
        original, low, feeds = os.path.join(args.models, name, "model.onnx"), os.path.join(work, name + "_low.onnx"), one_row(name, work)
        converted = convert_ampc(args, original, low)
        for threads in args.threads:
            contest = {"ampc": AmpcBench(args, original, feeds, threads), "ort": engines.ort(original, feeds, threads, 10)}
            if "failed" not in converted:
                contest["fp16"] = AmpcBench(args, low, feeds, threads)
            best = {"fp16": slim(converted), **in_turn(contest, args.rounds)}
            a, o, h = best["ampc"], best["ort"], best["fp16"]
            results.append({"model": name, "threads": threads, **best})
            rows.append([name, str(threads), ms(a), ms(o), quotient(a, o), quotient(h, a), ms(a, "load"), ms(o, "load"), mb(a), mb(o), mb(o, "own_peak_bytes")])
    for threads in args.threads:
        done = [r for r in results if r["threads"] == threads and "failed" not in r["ampc"] and "failed" not in r["ort"]]
        low = [r for r in done if "failed" not in r["fp16"]]
        rows.append(["geometric mean of %d" % len(done), str(threads), "", "", mean([r["ampc"]["best"] / r["ort"]["best"] for r in done]),
                     mean([r["fp16"]["best"] / r["ampc"]["best"] for r in low]), "", "", "", "", ""])
    table("one run, batch 1; ORT own: its peak without the interpreter and its libraries", rows)
    return results


SECTIONS = {"convert": section_convert, "chains": section_chains, "check": section_check, "conformance": section_conformance, "latency": section_latency}


def main():
    if serve_child({"convert": child_convert}):
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", required=True)
    parser.add_argument("--ampc", default=os.path.join(ROOT, "bazel-bin/tools/ampc"))
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--names", default=",".join(MODELS), type=str)
    parser.add_argument("--threads", type=lambda words: [int(word) for word in words.split(",")], default=[1, 2], help="of latency")
    parser.add_argument("--rounds", type=int, default=3, help="of latency; each has ten runs of each engine")
    parser.add_argument("--data", default="/usr/share/libonnx-testdata/data")
    parser.add_argument("--work", help="folder for large files; default: a temporary one")
    parser.add_argument("--json", help="file for all numbers")
    args = parser.parse_args()
    args.names = args.names.split(",")
    run_sections(SECTIONS, args, print_machine())


if __name__ == "__main__":
    main()
