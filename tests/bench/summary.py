"""The last table of run.py: every bar, what was measured, and whether it holds. Sections that did not run have no rows."""
from common import table


def ok(result):
    return bool(result) and "failed" not in result


def peers(row):
    return [row[who] for who in ("paddle", "ort") if ok(row.get(who))]


def where(row):
    return " ".join([row["model"], *(["batch %d" % row["batch"]] if "batch" in row else []), "threads %d" % row["threads"]])


def geometric(values):
    product = 1.0
    for value in values:
        product *= value ** (1 / len(values))
    return product


def worst_and_mean(name, ratios, worst_bar, mean_bar):
    """Rows about ratios by place: none above the one bar, their geometric mean not above the other."""
    if not ratios:
        return []
    place = max(ratios, key=ratios.get)
    rows = [[f"{name}, worst", "<= %.2f" % worst_bar, "%.2f (%s)" % (ratios[place], place), ratios[place] <= worst_bar]]
    if mean_bar:
        value = geometric(list(ratios.values()))
        rows.append([f"{name}, geometric mean of {len(ratios)}", "<= %.2f" % mean_bar, "%.2f" % value, value <= mean_bar])
    return rows


def latency(rows):
    timed = [r for r in rows if ok(r["ampc"])]
    against = {where(r): r["ampc"]["best"] / min(p["best"] for p in peers(r)) for r in timed if peers(r)}
    low = {where(r): r["fp16"]["best"] / r["ampc"]["best"] for r in timed if ok(r["fp16"])}
    memory = {where(r): r["ampc"]["peak_bytes"] / min(p["peak_bytes"] for p in peers(r)) for r in timed if peers(r)}
    return [*worst_and_mean("fp32 latency / best peer's", against, 1.05, 1 / 1.2), *worst_and_mean("fp16 model / its fp32 original", low, 1.05, None),
            *worst_and_mean("peak memory / best peer's", memory, 1.0, None)]


def start(found):
    rows = []
    rec = [r["ampc"]["first"] for r in found["load_and_first_run"] if r["model"] == "rec" and ok(r["ampc"])]
    wide = [r["ampc"]["more"] for r in found["new_width"] if ok(r["ampc"])]
    if rec:
        rows.append(["load + first run of rec", "< 0.5 s", "%.3f s" % max(rec), max(rec) < 0.5])
    if wide:
        rows.append(["new input width of rec", "< 20 ms", "%.1f ms" % (1e3 * max(wide)), max(wide) < 0.02])
    return rows


def onnx(rows):
    timed = [r for r in rows if ok(r["ampc"])]
    return worst_and_mean("ONNX models, fp32 latency / ONNX Runtime's", {where(r): r["ampc"]["best"] / r["ort"]["best"] for r in timed if ok(r["ort"])}, 1.25, 1.0)


def bf16(rows):
    """Beyond what OpenVINO's second time over its first says of the machine's noise."""
    done = [r for r in rows if ok(r["bf16"]) and ok(r["fp32"])]
    noise = {where(r): max(1.0, r["again"]["best"] / r["openvino"]["best"]) if ok(r["openvino"]) and ok(r["again"]) else 1.0 for r in done}
    beside = {where(r): r["bf16"]["best"] / r["openvino"]["best"] / noise[where(r)] for r in done if ok(r["openvino"])}
    original = {where(r): r["bf16"]["best"] / r["fp32"]["best"] / noise[where(r)] for r in done}
    return [*worst_and_mean("bf16 model / its fp32 original", original, 1.05, None), *worst_and_mean("bf16 model / OpenVINO's bf16", beside, 1.1, 0.95)]


def executor(rows):
    return [["executor, one operation", "< 100 ns", "%.1f ns (threads %d)" % (1e9 * r["ampc"]["seconds_per_op"], r["threads"]), r["ampc"]["seconds_per_op"] < 1e-7]
            for r in rows if ok(r["ampc"])]


def convert(rows):
    out = []
    for r in rows:
        ours, peer, least = r["ampc"], r["peer"], 10 if r["model"] == "100MB" else 15
        if not ok(ours):
            out.append([f"convert {r['model']}", "works", "failed", False])
            continue
        if ok(peer):
            faster = peer["seconds"] / ours["seconds"]
            out.append([f"convert {r['model']}, times faster than the peer", ">= %d" % least, "%.1f" % faster, faster >= least])
        if least == 15:
            copies, limit = ours["seconds"] / r["cp_seconds"], 300e6 + 2 * r["graph_bytes"]
            out.append([f"convert {r['model']}, time / cp's", "<= 2", "%.2f" % copies, copies <= 2])
            out.append([f"convert {r['model']}, peak memory", "<= %d MB" % (limit / 1e6), "%d MB" % (ours["peak_bytes"] / 1e6), ours["peak_bytes"] <= limit])
    return out


def chains(rows):
    return [["convert a chain of %d nodes, times faster than the peer" % r["nodes"], ">= 10", "%.1f" % (r["peer"]["seconds"] / r["ampc"]["seconds"]),
             r["peer"]["seconds"] >= 10 * r["ampc"]["seconds"]] for r in rows if ok(r["ampc"]) and ok(r["peer"])]


def pipeline(rows):
    largest = max(r["ops"] for r in rows)
    out = []
    for r in rows:
        if r["ops"] < 1_000_000 or r["ops"] < largest:
            continue
        name = f"{r['ops']:,} ops, {r['format']}, whole pipeline"
        if not ok(r):
            out.append([name, "works", "failed", False])
            continue
        out.append([name, "<= 10 s", "%.1f s" % r["inside"], r["inside"] <= 10])
        out.append([f"{name}: memory", "<= 4 GB", "%.1f GB" % (r["peak_bytes"] / 1e9), r["peak_bytes"] <= 4e9])
        less = [s for s in rows if s["format"] == r["format"] and s["ops"] == largest // 10 and ok(s)]
        if less:
            # In user mode: what the kernel takes to hand out pages depends on the host of a virtual machine. Caches become too small; 100 would be quadratic.
            growth, with_kernel = (r[k] / less[0][k] for k in ("user", "inside"))
            out.append([f"{name}: time in user mode / that of a tenth of it", "<= 15", "%.1f (%.1f with the kernel's)" % (growth, with_kernel), growth <= 15])
    return out


def streams(rows):
    out = []
    for r in rows:
        if not ok(r["ampc"]):
            out.append([f"stream {r['model']}", "works", "failed", False])
            continue
        speed, copies, limit = r["bytes"] / 1e9 / r["ampc"]["wall"], r["ampc"]["wall"] / r["cp_seconds"], 300e6 + 2 * r["graph_bytes"]
        out.append([f"stream {r['model']}", ">= 1 GB/s", "%.2f GB/s" % speed, speed >= 1])
        out.append([f"stream {r['model']}, time / cp's", "<= 2", "%.2f" % copies, copies <= 2])
        out.append([f"stream {r['model']}, peak memory", "<= %d MB" % (limit / 1e6), "%d MB" % (r["ampc"]["peak_bytes"] / 1e6), r["ampc"]["peak_bytes"] <= limit])
    return out


def limit(rows):
    if isinstance(rows, dict):  # no control group
        return []
    return share("models larger than memory: converted, same bytes", sum(ok(r) and r["same"] for r in rows), len(rows))


def share(name, good, all_of_them):
    return [[name, "all", f"{good} of {all_of_them}", good == all_of_them]]


def paddle(rows):
    return share("converted models in the real Paddle: same answers", sum(r.get("same", False) for r in rows), len(rows))


def check(rows):
    good = [r for r in rows if "failed" not in r and all("FAILS" not in r[k] and "CHANGED" not in r[k] for k in ("checker", "onnxruntime", "ampc"))]
    return share("ONNX models and conversions: checker, answers", len(good), len(rows))


def conformance(found):
    return [row for dtype, r in found.items() for row in share(f"the standard's tests converted to {dtype}", r["good"] + len(r["declined"]), r["models"])]


BARS = {"latency": latency, "start": start, "bf16": bf16, "onnx": onnx, "executor": executor, "convert": convert, "chains": chains, "pipeline": pipeline, "streams": streams,
        "limit": limit, "paddle": paddle, "check": check, "conformance": conformance}


def show(results):
    rows = [row for name, bars in BARS.items() if name in results for row in bars(results[name])]
    if rows:
        table("summary", [["what", "bar", "measured", ""]] + [[*row[:3], "holds" if row[3] else "MISSED"] for row in rows])
    return [dict(zip(("what", "bar", "measured", "holds"), row)) for row in rows]
