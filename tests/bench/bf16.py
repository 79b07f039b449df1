"""Section of run.py about bf16: models as they are and converted, beside OpenVINO's bf16 in its fastest configuration for one stream.

OpenVINO takes part twice: its second time over its first is what the machine's noise makes of equal things.
"""
import json
import os
import struct

import engines
import latency
import numpy as np
import onnx_peers
from common import ROOT, AmpcBench, convert_ampc, in_turn, mean, ms, quotient, run_child, slim, table

GOLDEN = os.path.join(ROOT, "tests", "golden", "models")
NUMPY = {"F32": np.float32, "I64": np.int64, "I32": np.int32}


def golden_feeds(name, work):
    """The feeds that are recorded for a model of tests/golden/models, as .npz."""
    with open(os.path.join(GOLDEN, name + ".safetensors"), "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    path, feeds = os.path.join(work, name + ".npz"), {}
    for key, t in header.items():
        if key.startswith("0/in/"):
            begin, end = t["data_offsets"]
            feeds[key[5:]] = np.frombuffer(data[begin:end], NUMPY[t["dtype"]]).reshape(t["shape"])
    np.savez(path, **feeds)
    return path


ONE_ROW = ("silero_vad", "silero_vad_ifless", "magika", "basic_pitch")
RECORDED = ("decoder", "detector", "encoder", "recogniser", "speech")
PADDLE_3 = {"ppocrv5_det": latency.image(320, 320), "ppocrv5_rec": latency.image(48, 320)}  # no peer reads them
NAMES = (*latency.MODELS, *ONE_ROW, *RECORDED, *PADDLE_3)


def models(args, work, names=(*latency.MODELS, *ONE_ROW, *RECORDED)):
    """Name, file and feeds of each."""
    for name, (paddle, onnx, make_feeds) in latency.MODELS.items():
        if name not in names:
            continue
        folder, feeds = os.path.join(args.models, paddle or onnx or ""), os.path.join(work, name + ".npz")
        if paddle is None:
            folder = os.path.join(work, name)
            run_child(os.path.join(os.path.dirname(os.path.abspath(__file__)), "networks.py"), "make", name, folder)
        np.savez(feeds, **make_feeds(1))
        yield name, os.path.join(folder, "inference.pdmodel" if paddle else "model.onnx"), feeds
    for name in filter(names.__contains__, ONE_ROW):
        yield name, os.path.join(args.models, name, "model.onnx"), onnx_peers.one_row(name, work)
    for name in filter(names.__contains__, RECORDED):
        yield name, os.path.join(GOLDEN, name + ".pdmodel"), golden_feeds(name, work)
    for name in filter(names.__contains__, PADDLE_3):
        feeds = os.path.join(work, name + ".npz")
        np.savez(feeds, **PADDLE_3[name](1))
        yield name, os.path.join(args.models, name, "inference.json"), feeds


def section_bf16(args, work):
    rows, results = [["bf16", "threads", "fp32", "bf16", "OpenVINO", "bf16 / fp32", "bf16 / OpenVINO", "OpenVINO / itself", "arena bf16 / fp32"]], []
    for name, original, feeds in models(args, work):
        low = os.path.join(work, name + "_bf16" + os.path.splitext(original)[1])
        converted = slim(convert_ampc(args, original, low, "bf16"))
        for threads in args.threads:
            contest = {"fp32": AmpcBench(args, original, feeds, threads), "openvino": engines.openvino(original, feeds, threads, 10),
                       "again": engines.openvino(original, feeds, threads, 10)}
            if "failed" not in converted:
                contest["bf16"] = AmpcBench(args, low, feeds, threads)
            best = {"bf16": converted, **in_turn(contest, args.rounds)}
            results.append({"model": name, "threads": threads, **best})
            high, half, peer = best["fp32"], best["bf16"], best["openvino"]
            rows.append([name, str(threads), ms(high), ms(half), ms(peer), quotient(half, high), quotient(half, peer), quotient(best["again"], peer),
                         quotient(half, high, "arena_bytes")])
    for threads in args.threads:
        done = [r for r in results if r["threads"] == threads and "failed" not in r["fp32"] and "failed" not in r["bf16"]]
        beside = [r for r in done if "failed" not in r["openvino"] and "failed" not in r["again"]]
        rows.append(["geometric mean of %d" % len(done), str(threads), "", "", "", mean([r["bf16"]["best"] / r["fp32"]["best"] for r in done]),
                     mean([r["bf16"]["best"] / r["openvino"]["best"] for r in beside]), mean([r["again"]["best"] / r["openvino"]["best"] for r in beside]), ""])
    table("one run, batch 1, best of all", rows)
    return results
