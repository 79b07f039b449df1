#!/usr/bin/env python3
"""The cost of a conversion by itself, on generated models; onnx_peers.py has it beside a peer.

  python3 tests/bench/convert.py [--sections pipeline,streams,limit] [--ampc bazel-bin/tools/ampc] [--json FILE]

Needs nothing but Python. Sections:
  pipeline  chains of 1k to 1M ops as a native program, a Paddle model and an ONNX model, through the whole pipeline with its verification:
            reading, passes, writing, in the process; peak memory
  streams   Paddle and ONNX models of 1.3 GB and 2.9 GB beside cp: files are in the page cache, nothing is synced; waiting for the disk is a
            column of its own. "graph" is the model without its weights
  limit     a model larger than memory: a conversion in a control group with less memory than the weights have; says why not where none can be made
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

import common
import made_models

SIZES = {"100MB": 25, "1.3GB": 325, "2.9GB": 725}  # layers of 4 MB
LENGTHS = [1000, 10_000, 100_000, 1_000_000]
PIPELINE = {"native": ("prog", made_models.text_chain), "Paddle": ("pdmodel", made_models.paddle_chain), "ONNX": ("onnx", made_models.onnx_chain)}
ONE_FILE = 450  # layers that an ONNX file holds: below 2 GB
MEMORY = 128 << 20  # of the control group


def copy_seconds(paths, target, runs=3):
    """Seconds of cp for the files, best of `runs`; the copies are deleted."""
    best = 1e9
    for _ in range(runs):
        start = time.perf_counter()
        for k, p in enumerate(paths):
            subprocess.run(["cp", "--reflink=never", p, f"{target}.copy{k}"], check=True)
        best = min(best, time.perf_counter() - start)
    for k in range(len(paths)):
        os.remove(f"{target}.copy{k}")
    return best


def room_for(bytes_needed, folder):
    free = shutil.disk_usage(folder).free
    if free < bytes_needed:
        sys.exit(f"{folder}: {free >> 20} MB are free, {int(bytes_needed) >> 20} MB are needed; --work names another folder")


def remove(folder):
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))


def section_pipeline(args, work):
    rows, results = [["ops", "format", "load", "passes", "save", "all", "us per op", "user", "kernel", "peak"]], []
    for length in getattr(args, "lengths", LENGTHS):
        for name, (extension, make) in PIPELINE.items():
            path = os.path.join(work, "chain." + extension)
            make(path, length)
            best = {}
            for _ in range(5 if length < 1_000_000 else 2):
                result = common.convert_ampc(args, path, os.path.join(work, "out." + extension))
                if "failed" not in result:
                    result.update({k: v for k, v in json.loads(result["out"]).items() if k.endswith("_seconds")})
                best = result if "failed" in result or result["inside"] < best.get("inside", 1e9) else best
            remove(work)
            results.append({"ops": length, "format": name, **common.slim(best)})
            rows.append([f"{length:,}", name, *(common.text(best, k, "%.4f s") for k in ("load_seconds", "pass_seconds", "save_seconds", "inside")),
                         "-" if "failed" in best else "%.2f" % (1e6 * best["inside"] / length),
                         *(common.text(best, k, "%.2f s") for k in ("user", "system")), common.mb(best)])
    common.table("chains through the whole pipeline, verification on", rows)
    return results


def make_layers(path, kind, layers):
    if kind == "Paddle":
        made_models.paddle_layers(path, layers)
    else:
        made_models.onnx_layers(path, layers, layers > ONE_FILE)


def model_path(work, kind, name="model"):
    return os.path.join(work, name + (".pdmodel" if kind == "Paddle" else ".onnx"))


def files_of(path):
    beside = [os.path.splitext(path)[0] + ".pdiparams"] if path.endswith(".pdmodel") else [path + ".data"]
    return [p for p in [path, *beside] if os.path.exists(p)]


def synced(args, path, target):
    """Seconds that one conversion waits for the disk."""
    result = common.run_ampc(args, "convert", path, "-o", target, "--json")
    return result.get("failed") or json.loads(result["out"]).get("sync_seconds", "not reported")


def section_streams(args, work):
    rows, results = [["model", "bytes", "ampc", "GB/s", "cp", "x cp", "fsync", "peak", "graph"]], []
    for size in args.sizes.split(","):
        for kind in ("Paddle", "ONNX"):
            layers = SIZES[size]
            room_for(3.2 * layers * made_models.F32, work)
            path, target = model_path(work, kind), model_path(work, kind, "out")
            make_layers(path, kind, layers)
            bytes_in = sum(map(os.path.getsize, files_of(path)))
            graph = bytes_in - layers * (made_models.F32 + 4 * made_models.LAYER)
            best, copy = {}, float("inf")
            for _ in range(3):
                result = common.convert_ampc(args, path, target)
                best = result if "failed" in result or result["wall"] < best.get("wall", 1e9) else best
                copy = min(copy, copy_seconds(files_of(path), os.path.join(work, "cp"), 1))
            wait = synced(args, path, target)
            remove(work)
            results.append({"model": f"{kind} {size}", "bytes": bytes_in, "graph_bytes": graph, "cp_seconds": copy, "sync_seconds": wait, "ampc": common.slim(best)})
            failed = "failed" in best
            rows.append([f"{kind} {size}", "%.2f GB" % (bytes_in / 1e9), common.text(best, "wall", "%.2f s"), "-" if failed else "%.2f" % (bytes_in / 1e9 / best["wall"]),
                         "%.2f s" % copy, "-" if failed else "%.2f" % (best["wall"] / copy), wait if isinstance(wait, str) else "%.2f s" % wait, common.mb(best),
                         "%d kB" % (graph / 1e3)])
    common.table("conversion to fp16 beside cp, whole processes", rows)
    return results


# A control group with less memory than a model.


class Group:
    """A control group of either version below this process's own; `error` says why there is none."""

    def __init__(self, limit):
        self.path, self.error = None, None
        try:
            base, name = self.place()
            self.path = os.path.join(base, "ampc-bench-%d" % os.getpid())
            os.mkdir(self.path)
            with open(os.path.join(self.path, name), "w") as f:
                f.write(str(limit))
        except (OSError, StopIteration) as e:
            self.error = "no control group with a limit of memory can be made here: %s" % e
            self.close()

    @staticmethod
    def place():
        """The folder to make one in, and the file that holds the limit."""
        with open("/proc/self/cgroup") as f:
            groups = [line.strip().split(":", 2) for line in f]
        for _, controllers, path in groups:
            if "memory" in controllers.split(","):
                return "/sys/fs/cgroup/memory" + path, "memory.limit_in_bytes"
        path = "/sys/fs/cgroup" + next(path for _, controllers, path in groups if controllers == "")
        return path, "memory.max"

    def command(self, words):
        return ["/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', self.path, *words]

    def peak(self):
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            if os.path.exists(os.path.join(self.path, name)):
                with open(os.path.join(self.path, name)) as f:
                    return int(f.read())
        return None

    def close(self):
        if self.path and os.path.isdir(self.path):
            os.rmdir(self.path)


def drop_from_cache(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def section_limit(args, work):
    rows, results = [["model", "bytes", "limit", "ampc", "same bytes", "peak", "group's peak"]], []
    size = "1.3GB" if "1.3GB" in args.sizes else args.sizes.split(",")[0]
    for kind in ("Paddle", "ONNX"):
        layers = SIZES[size]
        room_for(3.2 * layers * made_models.F32, work)
        path, target, free = model_path(work, kind), model_path(work, kind, "out"), model_path(work, kind, "free")
        make_layers(path, kind, layers)
        bytes_in = sum(map(os.path.getsize, files_of(path)))
        limit = min(MEMORY, bytes_in // 2)
        common.run_ampc(args, "convert", path, "-o", free, "--no-sync")
        for p in files_of(path) + files_of(free):
            drop_from_cache(p)  # what others have in the cache would not count as this group's
        group = Group(limit)
        if group.error:
            print("\n" + group.error)
            return {"failed": group.error}
        result = common.run_process(group.command([args.ampc, "convert", path, "-o", target, "--no-sync"]))
        peak = group.peak()
        group.close()
        pairs = list(zip(files_of(target), files_of(free)))
        pairs = [p for p in pairs if len(pairs) == 1 or not p[0].endswith(".onnx")]  # an ONNX model names its file of external data
        same = result["code"] == 0 and bool(pairs) and all(subprocess.run(["cmp", "-s", *p]).returncode == 0 for p in pairs)
        row = {"model": kind, "bytes": bytes_in, "limit_bytes": limit, "wall": result["wall"], "peak_bytes": result["peak_bytes"], "group_peak_bytes": peak, "same": same}
        if result["code"] != 0:
            row["failed"] = common.why(result["code"], result["err"])
        remove(work)
        results.append(row)
        rows.append([f"{kind} {size}", "%.2f GB" % (bytes_in / 1e9), "%d MB" % (limit / 1e6), common.text(row, "wall", "%.2f s"), "yes" if same else "NO",
                     "%d MB" % (result["peak_bytes"] / 1e6), "-" if peak is None else "%d MB" % (peak / 1e6)])
    common.table("a model larger than memory", rows)
    return results


SECTIONS = {"pipeline": section_pipeline, "streams": section_streams, "limit": section_limit}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", default=os.path.join(common.ROOT, "bazel-bin/tools/ampc"))
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--lengths", type=lambda words: [int(w) for w in words.split(",")], default=LENGTHS, help="of pipeline")
    parser.add_argument("--sizes", default="1.3GB,2.9GB", help="of streams and limit; also 100MB")
    parser.add_argument("--work", help="folder for large files; default: a temporary one")
    parser.add_argument("--json", help="file for all numbers")
    args = parser.parse_args()
    common.run_sections(SECTIONS, args, {"machine": common.print_machine()})


if __name__ == "__main__":
    main()
