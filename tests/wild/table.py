"""The results as tables: a line per network and exporter, what was not good with its sentence, and the sums that the bar asks for."""
import collections
import glob
import json
import math
import os
import statistics

SHORT = {"plain": "fp32", "basic": "basic", "extended": "extd", "all": "all", "qdq": "qdq", "qoperator": "qop", "dynamic": "dyn", "external": "ext"}


def load(folder, names=None):
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as f:
            facts = json.load(f)
        if names is None or facts["name"] in names:
            found.append(facts)
    return found


def number(value, form="%.1e"):
    return "-" if value is None else form % value if math.isfinite(value) else "inf"


def mark(result):
    """One word about a variant."""
    if result is None:
        return ""
    if "why" in result:
        return "n/a"
    if "refused" in result:
        return "refused"
    if not result["ok"]:
        return "WRONG"
    return "amplifies" if "note" in result else f"{result['steps']:.1f}" if "steps" in result else number(result.get("error"))


def low_mark(low):
    if low is None:
        return ""
    if low.get("declined"):
        return "declined"
    return ("FAULT" if low["faults"] else number(low.get("error"))) + f" {100 * low.get('low_flops', 0):.0f}%"


def row(facts):
    done = facts["variants"]
    low = done.get("plain", {}).get("low") or {}
    ratio = done.get("plain", {}).get("time_ratio")
    cells = [facts["name"], facts["exporter"], *(mark(done.get(v)) for v in SHORT), low_mark(low.get("fp16")), low_mark(low.get("bf16")), number(ratio, "%.2f") if ratio else ""]
    return cells


def show_rows(results):
    rows = [["network", "exporter", *SHORT.values(), "fp16", "bf16", "time"]] + [row(facts) for facts in results if facts["variants"]]
    widths = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
    for r in rows:
        print("  ".join(c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(r, widths))).rstrip())


def exceptions(results):
    """(network, exporter, variant, sentence) of what counts and is not good."""
    for facts in results:
        for variant, result in facts["variants"].items():
            if "why" in result or result["ok"] or not result.get("counted", True):
                continue
            yield facts["name"], facts["exporter"], variant, result.get("refused") or result.get("note", "")


def low_faults(results):
    for facts in results:
        for dtype, low in (facts["variants"].get("plain", {}).get("low") or {}).items():
            for fault in low.get("faults", []):
                yield facts["name"], facts["exporter"], dtype, fault


def outside(results):
    """Models that were no test of ampc, each with its sentence."""
    for facts in results:
        if facts.get("exporter_says"):
            yield facts["name"], facts["exporter"], "export", facts["exporter_says"]
        if facts["stage"] not in ("done", "exported"):
            yield facts["name"], facts["exporter"], facts["stage"], facts.get("broke", "broken off")
        for variant, result in facts["variants"].items():
            if "why" in result:
                yield facts["name"], facts["exporter"], variant, result["why"]
            elif result.get("degenerate"):
                yield facts["name"], facts["exporter"], variant, "degenerate: " + result["degenerate"]
        for dtype, low in (facts["variants"].get("plain", {}).get("low") or {}).items():
            if low.get("ort_crash"):
                yield facts["name"], facts["exporter"], dtype, low["ort_crash"]


def listing(title, lines):
    lines = list(lines)
    print(f"\n{title}: {len(lines)}")
    for name, exporter, what, why in lines:
        print(f"  {name} {exporter} {what}: {why}")


def show_boxes(results):
    """How many of a detector's boxes stay where they are in a lower precision."""
    found = [(f["name"], f["exporter"], dtype, low["boxes"]) for f in results for dtype, low in (f["variants"].get("plain", {}).get("low") or {}).items() if low.get("boxes")]
    if found:
        print("\nboxes at the place, of the label and with the score of fp32's, or ONNX Runtime's of the same model, to 90 % overlap and 0.02")
    for name, exporter, dtype, shares in found:
        print(f"  {name} {exporter} {dtype}: " + ", ".join(f"{who} {100 * share:.0f} %" for who, share in shares.items()))


def summary(results):
    """The sums: by variant, how many counted, good, good within rounding, not good; of conversions; geometric mean of times."""
    sums = collections.OrderedDict()
    for variant in SHORT:
        found = [f["variants"][variant] for f in results if variant in f["variants"] and "why" not in f["variants"][variant]]
        good = [r for r in found if r["ok"]]
        sums[variant] = {"models": len(found), "good": len(good), "of these amplify rounding": sum("note" in r for r in good), "not counted": sum(not r.get("counted", True) for r in found)}
    plain = [f["variants"]["plain"] for f in results if "plain" in f["variants"] and "why" not in f["variants"]["plain"]]
    ratios = [r["time_ratio"] for r in plain if r.get("time_ratio")]
    ran = collections.Counter(f["name"] for f in results if "plain" in f["variants"] and "why" not in f["variants"]["plain"])
    low = {}
    for dtype in ("fp16", "bf16"):
        found = [r["low"][dtype] for r in plain if r.get("low")]
        errors = [r["error"] for r in found if math.isfinite(r.get("error", math.inf))]
        low[dtype] = {"models": len(found), "without fault": sum(not r.get("faults") and not r.get("declined") for r in found), "declined": sum(bool(r.get("declined")) for r in found),
                      "median error": statistics.median(errors) if errors else None, "median share of low flops": statistics.median(r["low_flops"] for r in found if "low_flops" in r) if found else None}
    counted = sum(r.get("counted", True) for f in results for r in f["variants"].values() if "why" not in r)
    bad = len(list(exceptions(results)))
    return {"networks": len({f["name"] for f in results}), "run by both exporters": sum(count == 2 for count in ran.values()), "run by one": sum(count == 1 for count in ran.values()),
            "exported": len({(f["name"], f["exporter"]) for f in results if "plain" in f["variants"]}), "variants": sums, "low": low,
            "time ratio, geometric mean": math.exp(statistics.mean(map(math.log, ratios))) if ratios else None, "counted": counted, "exceptions": bad, "share": bad / counted if counted else None}


def show(results):
    show_rows(results)
    listing("no test of ampc", outside(results))
    listing("conversions with a fault", low_faults(results))
    listing("exceptions", exceptions(results))
    show_boxes(results)
    sums = summary(results)
    print()
    for name, value in sums.items():
        if isinstance(value, dict):
            for key, facts in value.items():
                print(f"{name} {key}: " + ", ".join(f"{k} {v if not isinstance(v, float) else '%.3g' % v}" for k, v in facts.items()))
        else:
            print(f"{name}: {value if not isinstance(value, float) else '%.3g' % value}")
    return sums
