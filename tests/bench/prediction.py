"""Section of run.py about what convert predicts: the time of a bf16 model over that of its fp32 original on this CPU, predicted and measured."""
import json
import os

import bf16
import numpy as np
from common import AmpcBench, in_turn, ms, run_ampc, table

NEAR = 0.1  # of a ratio to 1: no sign is expected


def ranks(values):
    """The place of each value among all, equal ones in the middle of theirs."""
    values = np.asarray(values)
    return np.array([(values < v).sum() + ((values == v).sum() - 1) / 2 for v in values])


def section_prediction(args, work):
    rows, results = [["prediction", "fp32", "bf16", "measured", "predicted", "sign"]], []
    for name, original, feeds in bf16.models(args, work):
        low = os.path.join(work, name + "_bf16" + os.path.splitext(original)[1])
        converted = run_ampc(args, "convert", original, "-o", low, "--dtype", "bf16", "--target", "cpu", "--json", "--no-sync")
        if "failed" in converted:
            print(name + ": " + converted["failed"])
            continue
        predicted = json.loads(converted["out"])["predicted"]
        best = in_turn({"fp32": AmpcBench(args, original, feeds, 1), "bf16": AmpcBench(args, low, feeds, 1)}, args.rounds)
        if any("failed" in b for b in best.values()):
            print(name + ": " + str(best))
            continue
        measured, ratio = best["bf16"]["best"] / best["fp32"]["best"], predicted["seconds_after"] / predicted["seconds_before"]
        near = abs(measured - 1) <= NEAR
        results.append({"model": name, "measured": measured, "predicted": ratio, "near": near})
        rows.append([name, ms(best["fp32"]), ms(best["bf16"]), "%.2f" % measured, "%.2f" % ratio, "-" if near else "right" if (measured < 1) == (ratio < 1) else "wrong"])
    table("bf16 / fp32 on one thread", rows)
    if len(results) > 1:
        rank = np.corrcoef(ranks([r["measured"] for r in results]), ranks([r["predicted"] for r in results]))[0, 1]
        clear = [r for r in results if not r["near"]]
        right = sum((r["measured"] < 1) == (r["predicted"] < 1) for r in clear)
        print("rank correlation %.2f of %d models; the right sign in %d of %d that are beyond %d %%" % (rank, len(results), right, len(clear), 100 * NEAR))
    return results
