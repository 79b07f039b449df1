"""Section of run.py: a fixed set of models in fp32, bf16, fp16 and, where it is quantised, as it is, beside ONNX Runtime and OpenVINO in f32 and bf16.

The set: every model that the repository fetches or makes, those of kinds.py, and networks of tests/wild, which --torch exports.
A model is measured with all engines in turn, its row is written to --json at once, and a later run with the same file goes on with what it has not.
"""
import json
import os
import subprocess
import sys

import bf16
import common
import engines
import kinds
import latency
import numpy as np
from common import ROOT, AmpcBench, convert_ampc, in_turn, mean, ms, quotient, slim, table

WILD = os.path.join(ROOT, "tests", "wild")
# Networks of tests/wild by what they are; the side of the images that they get instead of their own where they leave it open.
NETWORKS = {
    "convolutional": {"tv_alexnet": 0, "tv_vgg_bn": 0, "tv_resnet18": 224, "tv_resnext": 0, "tv_densenet": 0, "tv_squeezenet1_1": 224, "tv_googlenet": 0, "tv_inception_v3": 0,
                      "tv_mobilenet_v2": 224, "tv_mobilenet_v3_large": 0, "tv_shufflenet_v2": 0, "tv_efficientnet_b0": 0, "tv_regnet_y": 0, "tv_convnext": 0, "timm_repvgg_a0": 0,
                      "timm_hrnet_w18_small": 0, "timm_vovnet39a": 0, "dense_fcn": 128, "dense_lraspp": 224, "dense_unet_transposed": 128, "tv_r3d": 0, "tv_s3d": 0},
    "transformer": {"tv_vit": 0, "tv_swin": 0, "timm_crossvit_tiny_240": 0, "timm_mobilevit_xxs": 0, "hf_image_segformer": 0, "hf_bert": 0, "hf_deberta": 0, "hf_t5_encoder": 0,
                    "hf_gpt2": 0, "hf_llama": 0},
    "detector": {"tv_ssdlite320": 0, "tv_retinanet": 0, "hf_image_detr": 0},
    "recurrent": {"made_lstm_deep": 0, "made_gru": 0, "made_tagger": 0, "loop_while_greedy": 0},
    "speech": {"hf_whisper_encoder": 0, "hf_wav2vec2": 0},
    "tiny": {"timm_lcnet_035": 0, "timm_mobilenetv3_small_050": 0, "timm_tinynet_e": 0},
}
QUANTISED = {"qdq": ["tv_resnet18", "tv_mobilenet_v2", "tv_vgg_bn", "dense_fcn", "tv_vit"], "dynamic": ["hf_bert", "hf_gpt2", "made_lstm_deep"]}
# Parts of the names of the ops that are convolutions and products, and whole names.
PRODUCTS, PRODUCT = ("conv", "matmul", "linear", "attention", "rnn", "lstm", "gru"), ("fc", "mul")


class Row:
    """`make(work)` gives a model's file and one of feeds."""

    def __init__(self, name, kind, make, batches=(1,)):
        self.name, self.kind, self.make, self.batches = name, kind, make, batches


def fetched(args, name, batch):
    def make(work):
        found = next(m for m in bf16.models(args, work, [name]))
        if batch > 1:
            np.savez(found[2], **latency.MODELS[name][2](batch))
        return found[1:]
    return make


def exported(args, name, side):
    """The model that the first of torch's exporters that can makes of a network, and its feeds; kept in --exports."""
    def make(work):
        for exporter in ("script", "dynamo"):
            folder = os.path.join(args.exports, f"{name}.{exporter}")
            model, feeds = os.path.join(folder, "plain.onnx"), os.path.join(folder, "feeds.npz")
            if not (os.path.exists(model) and os.path.exists(feeds)):
                subprocess.run([args.torch, os.path.join(WILD, "run.py"), "--export", "--only", name, "--exporters", exporter, "--work", args.exports,
                                "--results", os.path.join(args.exports, "results")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if os.path.exists(model):
                break
        else:
            raise RuntimeError("neither exporter takes it")
        if not side:
            return model, feeds
        resized = os.path.join(work, name + ".npz")
        np.savez(resized, **{k: np.resize(v, (*v.shape[:2], side, side)) for k, v in np.load(feeds).items()})
        return model, resized
    return make


def quantised(make, how):
    def changed(work):
        sys.path.insert(0, WILD)
        import variants
        model, feeds = make(work)
        path = os.path.join(work, f"{how}.onnx")
        variants.make(how, model, path, dict(np.load(feeds)), bits={})
        return path, feeds
    return changed


def generated(write):
    def make(work):
        path, feeds = os.path.join(work, "model.onnx"), os.path.join(work, "feeds.npz")
        write(path)
        np.savez(feeds, **kinds.feeds_of(path))
        return path, feeds
    return make


def rows_of(args):
    for name in bf16.NAMES:
        for batch in args.batches if name in latency.MODELS else [1]:
            yield Row(name if batch == 1 else f"{name} x {batch}", "fetched or made", fetched(args, name, batch))
    for kind, name, write in kinds.NETWORKS:
        yield Row(f"{kind}: {name}", kind, generated(write))
    if not args.torch:
        return
    sides = {name: side for kind in NETWORKS.values() for name, side in kind.items()}
    for kind, names in NETWORKS.items():
        for name, side in names.items():
            yield Row(name, kind, exported(args, name, side))
    for how, names in QUANTISED.items():
        for name in names:
            yield Row(f"{name} {how}", "quantised", quantised(exported(args, name, sides[name]), how))


def share_of_products(args, model, feeds):
    """Of a run's time in ampc, the least disturbed of three."""
    results = [common.run_ampc(args, "bench", model, "--input", feeds, "--threads", 1, "--seconds", 0, "--ops", 1000, "--json") for _ in range(3)]
    lines = [json.loads(result["out"]) for result in results if "failed" not in result]
    best = min(lines, key=lambda line: line["profiled_seconds"], default={"profile": []})
    return sum(op["share"] for op in best["profile"] if op["op"] in PRODUCT or any(part in op["op"] for part in PRODUCTS)) if lines else None


def measure(args, row, threads, work):
    model, feeds = row.make(work)
    paddle3 = model.endswith(".json")  # no peer reads it
    contest = {"ampc": AmpcBench(args, model, feeds, threads)}
    if model.endswith(".onnx"):
        contest["ort"] = engines.ort(model, feeds, threads, 10)
    if not paddle3:
        contest.update({who: engines.openvino(model, feeds, threads, 10, "f32") for who in ("openvino", "again")})
    failed = {}
    for dtype in ("bf16", "fp16") if row.kind != "quantised" else ():
        low = os.path.join(work, dtype + os.path.splitext(model)[1])
        converted = slim(convert_ampc(args, model, low, dtype))
        if "failed" in converted:
            failed[dtype] = converted
        else:
            contest[dtype] = AmpcBench(args, low, feeds, threads)
    if row.kind != "quantised" and not paddle3:
        contest["openvino_bf16"] = engines.openvino(model, feeds, threads, 10, "bf16")
    return {"model": row.name, "kind": row.kind, "threads": threads, "clock": common.timing["clock"], "products": share_of_products(args, model, feeds),
            **failed, **in_turn(contest, args.rounds)}


def ok(row, *who):
    return all("failed" not in row.get(w, {"failed": ""}) for w in who)


def ratio(row, above, below):
    """None where one has no time. `below` "peer": the faster of the two in fp32."""
    if below == "peer":
        peers = [row[who] for who in ("ort", "openvino") if ok(row, who)]
        return row[above]["best"] / min(p["best"] for p in peers) if peers and ok(row, above) else None
    return row[above]["best"] / row[below]["best"] if ok(row, above, below) else None


RATIOS = [("ampc", "peer"), ("bf16", "openvino_bf16"), ("bf16", "ampc"), ("fp16", "ampc"), ("again", "openvino")]


def text(value):
    return "-" if value is None else "%.2f" % value


def show(results):
    rows = [["model", "threads", "products", "ampc", "ONNX Runtime", "OpenVINO", "ampc / faster", "bf16", "OpenVINO bf16", "bf16 / OpenVINO's", "bf16 / fp32", "fp16 / fp32",
             "OpenVINO / itself"]]
    for r in results:
        cells = [ms(r[who]) if who in r else "-" for who in ("ampc", "ort", "openvino", "bf16", "openvino_bf16")]
        found = [text(ratio(r, *pair)) for pair in RATIOS]
        rows.append([r["model"], str(r["threads"]), "-" if r["products"] is None else "%.0f %%" % (100 * r["products"]), *cells[:3], found[0], *cells[3:], *found[1:]])
    for title, keep in (("products over 80 %", lambda r: (r["products"] or 0) > 0.8), ("the rest", lambda r: (r["products"] or 0) <= 0.8), ("quantised", None)):
        group = [r for r in results if (r["kind"] == "quantised") == (keep is None) and (keep is None or keep(r))]
        found = [[v for v in (ratio(r, *pair) for r in group) if v is not None] for pair in RATIOS]
        rows.append([f"geometric mean: {title}", "", "", "", "", "", mean(found[0]), "", "", *map(mean, found[1:])])
    table("the fixed set, %s" % ("seconds of the processor" if results and results[0]["clock"] == "cpu" else "wall-clock time"), rows)


def section_set(args, work):
    results = common.earlier(args.json).get("set", [])
    done = {(r["model"], r["threads"]) for r in results}
    for number, row in enumerate(rows_of(args)):
        if args.only and not any(part in row.name for part in args.only):
            continue
        for threads in args.threads:
            if (row.name, threads) in done:
                continue
            folder = os.path.join(work, f"{number}_{threads}")
            os.makedirs(folder)
            try:
                results.append(measure(args, row, threads, folder))
            except Exception as e:
                print(f"{row.name}: {e}", flush=True)
                continue
            line = results[-1]
            print(f"{row.name} threads {threads}: " + ", ".join(f"{a} / {b} {text(ratio(line, a, b))}" for a, b in RATIOS), flush=True)
            if args.json:
                common.write(args.json, {**common.earlier(args.json), "set": results})
    show(results)
    return results
