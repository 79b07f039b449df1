"""One network by one exporter, from its module to the verdicts: what the process of a network does."""
import json
import os
import shutil
import time

import boxes
import export
import judge
import lower
import make
import numpy as np
import onnx
import plan
import torch
import variants
from engines import PLAIN, Ampc, Refused, run_ort


class Examination:
    def __init__(self, network, exporter, options, folder):
        self.network, self.exporter, self.options, self.folder = network, exporter, options, folder
        self.facts = {"name": network.name, "family": network.family, "exporter": exporter, "stage": "building", "variants": {}}
        self.ampc = Ampc(options.ampc, folder, options.timeout / 2)
        self.module = self.inputs = self.feeds = self.exact = self.trembling = None

    def save(self, **facts):
        self.facts.update(facts)
        path = os.path.join(self.options.results, f"{self.network.name}.{self.exporter}.json")
        with open(path + ".tmp", "w") as f:
            json.dump(self.facts, f, indent=1)
        os.replace(path + ".tmp", path)

    def path(self, variant):
        return os.path.join(self.folder, f"{variant}.onnx")

    def run(self):
        self.save()
        self.module, self.inputs = make.settle(self.network, self.options.seed)
        self.feeds = {name: value.numpy() for name, value in self.inputs.items()}
        start = time.time()
        self.save(stage="exporting")
        plain = self.path("plain")
        if not os.path.exists(plain):
            try:
                export.export(self.module, self.inputs, self.network, self.exporter, plain + ".part")
                os.replace(plain + ".part", plain)
            except Exception as e:
                self.save(stage="done", exporter_says=sentence(e))
                return
        self.save(stage="exported", export_seconds=time.time() - start, bytes=os.path.getsize(plain))
        if self.options.export:
            np.savez(os.path.join(self.folder, "feeds.npz"), **{i: v for i, v in self.feeds.items() if i in model_inputs(plain)})
            return
        for variant in plan.variants_of(self.network, self.exporter, self.options):
            self.save(stage=variant)
            self.facts["variants"][variant] = self.examine(variant)
            if variant == "plain" and "why" in self.facts["variants"][variant]:
                break  # neither engine's fault can be told from the rest's
        self.save(stage="done", seconds=time.time() - start)

    def examine(self, variant):
        path = self.path(variant)
        try:
            if variant != "plain" and not os.path.exists(path):
                variants.make(variant, self.path("plain"), path, self.feeds)
            wanted, seconds = run_ort(path, self.feeds, repeat=5 if variant == "plain" else 0)
        except Exception as e:
            return {"why": f"ONNX Runtime: {sentence(e)}"}
        self.feeds = {i: v for i, v in self.feeds.items() if i in model_inputs(path)}
        result = {"degenerate": judge.degenerate(wanted)}
        try:
            found, own = self.ampc.run(path, self.feeds, repeat=6 if variant == "plain" else 1)
        except Refused as e:
            return {**result, "ok": False, "refused": str(e), "counted": not (variant == "all" and e.code == 4 and "level" in str(e))}
        result.update(self.judge(variant, path, found, wanted))
        result["counted"] = variant != "all"
        if variant == "plain":
            result["time_ratio"] = own / seconds if own and seconds else None
            if plan.is_converted(self.network, self.exporter, self.options):
                result["low"] = {dtype: lower.lower(self, path, dtype, wanted) for dtype in ("fp16", "bf16")}
        if not self.options.keep and variant != "plain":
            for name in os.listdir(self.folder):
                if name.startswith(variant + "."):
                    os.remove(os.path.join(self.folder, name))
        return result

    def judge(self, variant, path, found, wanted):
        if self.network.boxes:
            why, ties, count = boxes.match(found, wanted)
            return {"ok": not why and count > 0, "ties": ties, "boxes": count, "error": judge.worst(found, wanted)[0], **({"note": why or "no box is found"} if why or not count else {})}
        if variant in variants.QUANTISED:
            return self.judge_quantised(path, found, wanted)
        error, name = judge.worst(found, wanted)
        if error <= judge.BAR:
            return {"ok": True, "error": error}
        note = judge.describe(found, wanted, name) if not np.isfinite(error) else f"{name} differs by {error:.2g}"
        return {"error": error, **self.excuse(path, found, wanted, note)}

    def excuse(self, path, found, wanted, note):
        """Good nevertheless where ONNX Runtime is as far from float64's answer as ampc, or moves as far when its feeds move by a rounding."""
        exact = self.by_float64(wanted)
        if exact is not None:
            mine, theirs = judge.worst(found, exact)[0], judge.worst(wanted, exact)[0]
            if np.isfinite(mine) and mine <= 2 * theirs + judge.BAR / 10:
                return {"ok": True, "note": f"{note}; from float64: ampc {mine:.2g}, ONNX Runtime {theirs:.2g}"}
            note += f"; from float64: ampc {mine:.2g}, ONNX Runtime {theirs:.2g}"
        error, trembling = judge.worst(found, wanted)[0], self.tremble(path, wanted, lambda a, b: judge.worst(a, b)[0])
        return {"ok": bool(error <= 2 * trembling), "note": f"{note}; ONNX Runtime's own answer moves by {trembling:.2g} when its feeds move by a rounding"}

    def judge_quantised(self, path, found, wanted):
        step = judge.steps(path, wanted)
        plain = run_ort(path, self.feeds, PLAIN)[0]
        error, name = min(judge.in_steps(found, wanted, step), judge.in_steps(found, plain, step))
        own = judge.in_steps(plain, wanted, step)[0]
        result = {"steps": error, "error": judge.worst(found, plain)[0], "ok": bool(error <= 1.001)}
        if not result["ok"]:
            def measure(a, b):
                return judge.in_steps(a, b, step)[0]
            moved = max(own, self.tremble(path, plain, measure, PLAIN), self.tremble_scales(path, plain, measure))
            result.update(ok=bool(error <= 2 * moved), note=f"{name} is {error:.3g} steps away; ONNX Runtime's own answers with and without its optimiser, or with feeds or scales moved by a rounding, are {moved:.3g} apart")
        return result

    def tremble(self, path, wanted, measure, *level):
        """How far ONNX Runtime's answer moves when every feed moves by a rounding, the most of four times."""
        generator, most = np.random.default_rng(1), 0.0
        for _ in range(4):
            feeds = {k: judge.moved(v, generator) if v.dtype.kind == "f" else v for k, v in self.feeds.items()}
            moved = measure(run_ort(path, feeds, *level)[0], wanted)
            most = max(most, moved if np.isfinite(moved) else 0.0)
        return most

    def tremble_scales(self, path, wanted, measure):
        """As tremble, of the scales of a quantised model instead: its feeds are rounded to 8 bits first, which hides how they move."""
        generator, most, target = np.random.default_rng(1), 0.0, path + ".moved"
        for _ in range(4):
            variants.move_scales(path, target, lambda v: judge.moved(v, generator))
            moved = measure(run_ort(target, self.feeds, PLAIN)[0], wanted)
            most = max(most, moved if np.isfinite(moved) else 0.0)
        os.remove(target)
        return most

    def by_float64(self, wanted):
        """The module's own answer in float64, by the names of the outputs; None where it has none."""
        if self.exact is None:
            try:
                module = make.Flat(self.module.inner.double(), self.module.names)
                with torch.no_grad():
                    values = module(*[v.double() if v.is_floating_point() else v for v in self.inputs.values()])
                self.exact = {f"out_{k}": v.numpy() for k, v in enumerate(values)}
            except Exception:
                self.exact = {}
        return self.exact if self.exact and all(n in self.exact and self.exact[n].shape == wanted[n].shape for n in wanted) else None


def sentence(error):
    """The first line of the deepest cause."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'nothing said'}"[:300]


def model_inputs(path):
    model = onnx.load(path, load_external_data=False)
    weights = {w.name for w in model.graph.initializer}
    return {i.name for i in model.graph.input if i.name not in weights}


def examine(network, exporter, options):
    folder = os.path.join(options.work, f"{network.name}.{exporter}")
    os.makedirs(folder, exist_ok=True)
    try:
        Examination(network, exporter, options, folder).run()
    finally:
        if not (options.keep or options.export):
            shutil.rmtree(folder, ignore_errors=True)
