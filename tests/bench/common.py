"""Common parts of the benchmarks: processes and their peak memory, ampc's verbs, engines measured in turn, tables, and what machine this is.

A section is a function (args, work) that prints its table and returns what goes into the JSON file; args.ampc is the binary, work a folder
that is deleted afterwards. A script that has jobs for processes of their own gives a table of functions to serve_child.
"""
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE = 300  # seconds without an answer after which an engine counts as hanging
answers = None  # where serve_child writes
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
# A time is that of a clock on the wall, or of the processor, summed over the process's threads, which other processes disturb least. A turn lasts
# `seconds` at least.
timing = {"clock": "wall", "seconds": 0.0}
PAUSE = 0.25    # seconds before another engine's turn: the threads of the one before spin for up to 0.2


# A process's peak memory counts from its parent's size, which is several hundred MB here: a small one stands between.
LAUNCH = """
import os, sys, time
start = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as f:
    print(time.perf_counter() - start, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status), usage.ru_utime, usage.ru_stime, file=f)
"""


def run_process(command):
    """Seconds, peak bytes, exit code, seconds of its own and of the kernel for it, and output of a process."""
    with tempfile.NamedTemporaryFile("r") as facts:
        done = subprocess.run([sys.executable, "-S", "-E", "-c", LAUNCH, facts.name, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wall, peak, code, user, system = facts.read().split()
    return {"wall": float(wall), "peak_bytes": int(peak), "code": int(code), "user": float(user), "system": float(system), "out": done.stdout, "err": done.stderr.strip()}


def peak_bytes():
    """Of this process alone, whatever started it."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def why(code, err):
    """One line about a process that failed; `code` as subprocess gives it."""
    if code < 0:
        return "dies of " + signal.Signals(-code).name
    return err.strip().splitlines()[-1] if err.strip() else "exit %d" % code


def child_command(script, job, words, python=sys.executable):
    return [python, os.path.abspath(script), "--child", job, *map(str, words)]


def run_child(script, job, *words, python=sys.executable):
    """The job's result, its peak memory and seconds; or "failed"."""
    result = run_process(child_command(script, job, words, python))
    if result["code"] != 0:
        return {"failed": why(result["code"], result["err"]), "peak_bytes": result["peak_bytes"]}
    return dict(json.loads(result["out"].strip().splitlines()[-1]), peak_bytes=result["peak_bytes"], wall=result["wall"])


def serve_child(jobs):
    """In main, first: does the job of a process that run_child or Worker started, and says whether this is one."""
    if sys.argv[1:2] != ["--child"]:
        return False
    global answers
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    result = jobs[sys.argv[2]](*sys.argv[3:])
    print(json.dumps(result), file=answers, flush=True)
    return True


# ampc.


def run_ampc(args, *words):
    result = run_process([args.ampc, *map(str, words)])
    if result["code"] != 0:
        result["failed"] = why(result["code"], result["err"])
    return result


def convert_ampc(args, source, target, dtype="fp16", *options):
    result = run_ampc(args, "convert", source, "-o", target, "--dtype", dtype, "--json", "--no-sync", *options)
    if "failed" not in result:
        facts = json.loads(result["out"])
        result.update(seconds=result["wall"], inside=sum(facts[k] for k in ("load_seconds", "pass_seconds", "save_seconds")),
                      convert_seconds=facts["pass_seconds"], low_flops=facts["after"]["low_flops_share"])
    return result


# Engines in turn. An engine has ask(), which times a few runs and returns {"times": [...] if it has any, other facts} or {"failed": why}, and close().


class Worker:
    """An engine in a process of its own that stays between its turns: a job of `script` that ends in serve_runs."""

    def __init__(self, script, job, *words):
        self.err = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(child_command(script, job, words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, text=True)
        self.failed = None

    def ask(self):
        if self.failed:
            return {"failed": self.failed}
        try:
            self.process.stdin.write(json.dumps(timing) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                self.process.kill()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        self.failed = why(self.close(), self.read_errors())
        return {"failed": self.failed}

    def read_errors(self):
        self.err.seek(0)
        return self.err.read()

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        return self.process.wait()


def serve_runs(run, runs, facts):
    """The loop of a Worker's job: times run() `runs` times, or more, for every `timing` of standard input; `facts` go into every answer."""
    run(), run()
    for line in sys.stdin:
        how, times, begin = json.loads(line), [], time.perf_counter()
        clock = CLOCKS[how["clock"]]
        while len(times) < int(runs) or time.perf_counter() - begin < how["seconds"]:
            start = clock()
            run()
            times.append(clock() - start)
        print(json.dumps({"times": times, "peak_bytes": peak_bytes(), **facts}), file=answers, flush=True)
    sys.exit(0)


class AmpcBench:
    """`ampc bench` on feeds from a file (None: those of its own networks); each turn is a process."""

    def __init__(self, args, model, feeds, threads, *options):
        self.args, self.words = args, ["bench", model, *(["--input", feeds] if feeds else []), "--threads", threads, "--seconds", timing["seconds"], "--ops", 0, "--json", *options]

    def ask(self):
        result = run_ampc(self.args, *self.words)
        if "failed" in result:
            return {"failed": result["failed"]}
        line = json.loads(result["out"])
        return {"times": [line["best_cpu_seconds" if timing["clock"] == "cpu" else "best_seconds"]], "runs": line["runs"], "load": line["load_seconds"],
                "first": line["load_seconds"] + line["first_run_seconds"], "peak_bytes": line["peak_bytes"], "arena_bytes": line["arena_bytes"]}

    def close(self):
        pass


class Once:
    """An engine whose every turn is a call of `run`."""

    def __init__(self, run):
        self.ask = run

    def close(self):
        pass


def in_turn(engines, rounds):
    """Asks every engine `rounds` times, one after the other, and closes them. By name: {"best": seconds, "runs": number, and the least of every other
    fact}, or {"failed": why}."""
    best = {}
    for _ in range(rounds):
        for name, engine in engines.items():
            time.sleep(PAUSE)
            answer = engine.ask()
            if "failed" in answer or "failed" in best.get(name, {}):
                best[name] = {"failed": answer.get("failed") or best[name]["failed"]}
                continue
            times, runs = answer.pop("times", []), answer.pop("runs", None)
            kept = best.setdefault(name, {"best": math.inf, "runs": 0, **answer})
            kept["best"] = min(kept["best"], *times, math.inf)
            kept["runs"] += runs or len(times)
            for key, value in answer.items():
                kept[key] = min(kept[key], value) if isinstance(value, (int, float)) else value
    for engine in engines.values():
        engine.close()
    return best


# Tables.


def table(title, rows):
    texts = [[cell if isinstance(cell, str) else "%.3g" % cell for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in texts) for k in range(len(texts[0]))]
    print("\n" + title)
    for row in texts:
        print("  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths))).rstrip(), flush=True)


def slim(result):
    return {k: v for k, v in result.items() if k not in ("out", "err")}


def text(result, key, form):
    return "failed" if "failed" in result else form % result[key]


def ms(result, key="best"):
    return text(result, key, "%g") if "failed" in result else "%.3f ms" % (1e3 * result[key])


def mb(result, key="peak_bytes"):
    return "failed" if "failed" in result else "%d MB" % (result[key] / 1e6)


def quotient(above, below, key="best", form="%.2f"):
    return "-" if "failed" in above or "failed" in below else form % (above[key] / below[key])


def mean(values):
    """Geometric."""
    return "%.2f" % math.exp(sum(map(math.log, values)) / len(values)) if values else "-"


# Files of results.


def earlier(path):
    """The results that the file has already."""
    if not path or not os.path.exists(path):
        return {}
    with open(path) as f:
        return json.load(f)


def write(path, results):
    with open(path + ".tmp", "w") as f:
        json.dump(results, f, indent=1)
    os.replace(path + ".tmp", path)


# The machine.

FEATURES = ["avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16"]


def machine():
    with open("/proc/cpuinfo") as f:
        lines = dict([part.strip() for part in line.split(":", 1)] for line in f if ":" in line)
    flags = lines.get("flags", "").split()
    return {"cpu": lines.get("model name", "unknown"), "cpus": len(os.sched_getaffinity(0)), "features": [f for f in FEATURES if f in flags],
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}


def versions(names=("paddlepaddle", "onnxruntime", "openvino", "onnxconverter-common", "onnx", "numpy", "torch")):
    import importlib.metadata
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def print_machine():
    """Prints it and returns it for the JSON file."""
    facts = {**machine(), "versions": versions()}
    print(f"{facts['cpu']}, {facts['cpus']} CPUs ({' '.join(facts['features'])}), {facts['memory_bytes'] >> 20} MB; " + ", ".join(f"{k} {v}" for k, v in facts["versions"].items()),
          flush=True)
    return facts


def run_sections(sections, args, results):
    """Runs those of `sections` (name: function of args and a folder) that args.sections names, and writes `results` with theirs to args.json."""
    for name in args.sections.split(","):
        if name not in sections:
            sys.exit(f"{name}: no such section; there are {', '.join(sections)}")
        with tempfile.TemporaryDirectory(dir=args.work) as work:
            results[name] = sections[name](args, work)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(results, f, indent=1)
