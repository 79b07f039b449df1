"""Sections of run.py about running models: latency, load and first run, peak memory, a new width of the input."""
import json
import os
import statistics

import engines
import numpy as np
import onnx_answers
from common import AmpcBench, Once, convert_ampc, in_turn, mb, mean, ms, quotient, run_ampc, run_child, slim, table

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS, TOKENS = 30522, 128


def image(*dims):
    return lambda batch: {"x": np.random.default_rng(1).standard_normal((batch, 3, *dims), dtype=np.float32)}


def tokens(batch):
    ids = np.random.default_rng(1).integers(0, WORDS, (batch, TOKENS))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


# Name: folder of the Paddle model and of the same in ONNX below the models ("": there is none; None: networks.py makes both), feeds of a batch.
MODELS = {
    "rec": ("rec", "ppocrv4_rec_onnx", image(48, 320)),
    "cls": ("cls", "ppocr_cls_onnx", image(48, 192)),
    "minilm": ("", "minilm", tokens),
    "resnet50": (None, None, image(224, 224)),
    "mobilenetv3_small": (None, None, image(224, 224)),
}


ways = {}  # by model: the fastest way in which Paddle runs it


class Model:
    """Files of one of MODELS, its feeds by batch, and the way in which Paddle runs it."""

    def __init__(self, args, name, work):
        paddle, onnx, self.make_feeds = MODELS[name]
        self.args, self.name, self.work, made = args, name, work, os.path.join(work, name)
        if paddle is None:
            result = run_child(os.path.join(HERE, "networks.py"), "make", name, made)
            if "failed" in result:
                raise RuntimeError(result["failed"])
        folders = (made, made) if paddle is None else [folder and os.path.join(args.models, folder) for folder in (paddle, onnx)]
        self.paddle, self.onnx = folders[0] and os.path.join(folders[0], "inference.pdmodel"), os.path.join(folders[1], "model.onnx")
        self.ours = self.paddle or self.onnx
        if self.paddle and name not in ways:
            ways[name] = self.fastest_way()
        self.way = ways.get(name)

    def file(self, extension):
        return os.path.join(self.work, f"{self.name}_{extension}")

    def feeds(self, batch):
        path = self.file(f"{batch}.npz")
        if not os.path.exists(path):
            np.savez(path, **self.make_feeds(batch))
        return path

    def fastest_way(self):
        feeds = self.feeds(1)
        found = in_turn({way: engines.paddle(self.paddle, feeds, 1, 5, way) for way in engines.PADDLE}, self.args.rounds)
        print(f"{self.name}: Paddle Inference with " + "; ".join(f"{way}: {ms(result)}" for way, result in found.items()), flush=True)
        return min(found, key=lambda way: found[way].get("best", float("inf")))

    def converted(self, dtype="fp16"):
        path = self.file(dtype + os.path.splitext(self.ours)[1])
        result = {} if os.path.exists(path) else slim(convert_ampc(self.args, self.ours, path, dtype))
        return path, result

    def contest(self, batch, threads):
        """All engines on one batch, in turn; and the largest error of a peer's first output against ours."""
        feeds, outputs = self.feeds(batch), {who: self.file(who + ".out.npz") for who in ("ampc", "ort", "paddle")}
        low, failed = self.converted()
        each = {"ampc": AmpcBench(self.args, self.ours, feeds, threads), "ort": engines.ort(self.onnx, feeds, threads, 10, outputs["ort"])}
        if self.way:
            each["paddle"] = engines.paddle(self.paddle, feeds, threads, 10, self.way, outputs["paddle"])
        if "failed" not in failed:
            each["fp16"] = AmpcBench(self.args, low, feeds, threads)
        best = {"fp16": failed, **in_turn(each, self.args.rounds)}
        run_ampc(self.args, "run", self.ours, "--input", feeds, "-o", outputs["ampc"], "--threads", threads)
        values = {who: list(np.load(path).values())[0] for who, path in outputs.items() if os.path.exists(path)}
        errors = [onnx_answers.error({"": values["ampc"]}, {"": values[who]}) for who in ("ort", "paddle") if who in values] if "ampc" in values else []
        return best, max(errors, default=float("inf"))


def best_peer(best, key="best"):
    return min((best[who] for who in ("paddle", "ort") if "failed" not in best.get(who, {"failed": ""})), key=lambda r: r[key], default={"failed": "no peer"})


def cell(best, who, show, key):
    return show(best[who], key) if who in best else "-"


def section_latency(args, work):
    rows = [["fp32 latency", "batch", "threads", "ampc", "Paddle", "ONNX Runtime", "ampc / best peer", "fp16 / fp32", "error"]]
    more = [["peak memory", "batch", "threads", "ampc", "Paddle", "ONNX Runtime", "Paddle own", "ORT own"]]
    results = []
    for name in args.models_timed:
        model = Model(args, name, work)
        for batch in args.batches:
            for threads in args.threads:
                best, error = model.contest(batch, threads)
                results.append({"model": name, "batch": batch, "threads": threads, "paddle_way": model.way, "error": error, **best})
                print(f"{name} batch {batch} threads {threads}: " + ", ".join(f"{who} {ms(r)}" for who, r in best.items()), flush=True)
                where = [name, str(batch), str(threads)]
                rows.append(where + [cell(best, who, ms, "best") for who in ("ampc", "paddle", "ort")]
                            + [quotient(best["ampc"], best_peer(best)), quotient(best["fp16"], best["ampc"]), "%.1e" % error])
                more.append(where + [cell(best, who, mb, "peak_bytes") for who in ("ampc", "paddle", "ort")] + [cell(best, who, mb, "own_peak_bytes") for who in ("paddle", "ort")])
    for title, keep in (("all", lambda r: True), *((f"batch {b}", lambda r, b=b: r["batch"] == b) for b in args.batches)):
        done = [r for r in results if keep(r) and "failed" not in r["ampc"] and "failed" not in best_peer(r)]
        low = [r for r in done if "failed" not in r["fp16"]]
        rows.append(["geometric mean of %d" % len(done), title, "", "", "", "", mean([r["ampc"]["best"] / best_peer(r)["best"] for r in done]),
                     mean([r["fp16"]["best"] / r["ampc"]["best"] for r in low]), ""])
    table("latency of one run, fp32, best of all; error: of the peers' first output against ampc's, over its largest value", rows)
    table("peak memory of the process; own: its growth since the imports of Python", more)
    return results


WIDTHS = range(328, 488, 8)  # of rec, after a run with 320


def first_runs(model, threads):
    """Load and first run with batch 1: each engine in processes of its own."""
    args, feeds = model.args, model.feeds(1)
    each = {"ampc": AmpcBench(args, model.ours, feeds, threads), "ort": Once(lambda: engines.once("measure", "ort", model.onnx, feeds, threads, 0, ""))}
    if model.way:
        each["paddle"] = Once(lambda: engines.once("measure", "paddle", model.paddle, feeds, threads, 0, "", model.way))
    return in_turn(each, args.rounds)


def new_widths(model, threads):
    """Medians of the first run with a width, of the fastest of the next ones, and of what the first takes more."""
    args, feeds = model.args, model.feeds(1)

    def ask_ampc():
        dims = [word for width in (320, *WIDTHS) for word in ("--dims", f"x=1,3,48,{width}")]
        result = run_ampc(args, "bench", model.ours, *dims, "--threads", threads, "--seconds", 0, "--ops", 0, "--json")
        lines = [json.loads(line) for line in result["out"].splitlines()][1:]
        return slim(result) if "failed" in result else {"first": [line["first_run_seconds"] for line in lines], "later": [line["best_seconds"] for line in lines]}

    words = (feeds, threads, ",".join(map(str, WIDTHS)))
    each = {"ampc": ask_ampc(), "paddle": engines.once("widths", "paddle", model.paddle, *words, model.way), "ort": engines.once("widths", "ort", model.onnx, *words)}
    for r in each.values():
        if "failed" not in r:
            r.update({"more": statistics.median(a - b for a, b in zip(r["first"], r["later"])), "first": statistics.median(r["first"]), "later": statistics.median(r["later"])})
    return each


def section_start(args, work):
    results, rows = {"load_and_first_run": [], "new_width": []}, [["load + first run", "threads", "ampc", "Paddle", "ONNX Runtime"]]
    for name in args.models_timed:
        model = Model(args, name, work)
        for threads in args.threads:
            best = first_runs(model, threads)
            results["load_and_first_run"].append({"model": name, "threads": threads, **best})
            rows.append([name, str(threads)] + [cell(best, who, ms, "first") for who in ("ampc", "paddle", "ort")])
    table("from the files to the first result, batch 1, without the imports of Python", rows)
    rows = [["new width of rec", "threads", "first run", "next runs", "more"]]
    for threads in args.threads if "rec" in args.models_timed else []:
        each = new_widths(Model(args, "rec", work), threads)
        results["new_width"].append({"threads": threads, **each})
        rows += [[who, str(threads), ms(r, "first"), ms(r, "later"), ms(r, "more")] for who, r in each.items()]
    table("medians of %d widths that the session has not seen" % len(WIDTHS), rows)
    return results
