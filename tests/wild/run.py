#!/usr/bin/env python3
"""Exports networks by both of torch's exporters, optimises, quantises and converts them, and holds ampc to ONNX Runtime's answers: what tests/wild/run.sh starts.

A process per network and exporter; what it finds goes to RESULTS/NETWORK.EXPORTER.json step by step, so that a crash or a time-out is a line of the table.
Exit status: 0 if at most 2 % of what counts is an exception, else 1.
"""
import argparse
import faulthandler
import json
import os
import resource
import signal
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "ampc", "wild")
BAR = 0.02


def words(text):
    return [word for word in text.split(",") if word]


def arguments():
    parser = argparse.ArgumentParser(prog="tests/wild/run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ampc", default=os.path.join(ROOT, "bazel-bin/tools/ampc"), help="the binary")
    parser.add_argument("--only", type=words, default=[], metavar="GLOB,...", help="networks of these names")
    parser.add_argument("--family", type=words, default=[], metavar="NAME,...", help="networks of these families")
    parser.add_argument("--list", action="store_true", help="prints the networks that would run")
    parser.add_argument("--exporters", type=words, default=["script", "dynamo"])
    parser.add_argument("--variants", type=words, default=["plain", "basic", "extended", "all", "qdq", "qoperator", "dynamic", "external"])
    parser.add_argument("--breadth", type=int, default=0, metavar="N",
                        help="variants beyond plain, and conversions of what dynamo exports, of the first N networks of each family alone; default: of all")
    parser.add_argument("--networks", type=int, default=0, metavar="N", help="the first N networks of each family; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of weights and feeds")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--timeout", type=float, default=300, help="seconds of one process; default %(default)s")
    parser.add_argument("--memory", type=float, default=12, help="GB of address space of one process; default %(default)s")
    parser.add_argument("--no-low", action="store_true", help="without conversions to fp16 and bf16")
    parser.add_argument("--resume", action="store_true", help="what is in RESULTS already is not done again")
    parser.add_argument("--again", action="store_true", help="as --resume, but what broke off, was an exception or had a fault is done again")
    parser.add_argument("--keep", action="store_true", help="leaves the models in WORK, where the next run finds them; else each is deleted after its use")
    parser.add_argument("--export", action="store_true", help="leaves the exported models and their feeds in WORK and goes no further: no ampc is needed")
    parser.add_argument("--work", default=os.path.join(CACHE, "work"), help="folder of models; default %(default)s")
    parser.add_argument("--results", default=os.path.join(CACHE, "results"), help="folder of a JSON file for each network and exporter; default %(default)s")
    parser.add_argument("--json", help="file for all numbers")
    parser.add_argument("--table", action="store_true", help="prints what RESULTS has, and runs nothing")
    return parser.parse_args()


def prepare(exporters):
    """Imports what every process needs, once: an exporter imports much when it is first called."""
    import logging
    import tempfile
    import warnings
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import torch
    torch.set_num_threads(1)
    import onnxruntime.quantization
    import torchvision
    import transformers
    transformers.logging.set_verbosity_error()
    import examine
    import export
    import network
    with tempfile.TemporaryDirectory() as folder:
        for exporter in exporters:
            export.export(torch.nn.Linear(2, 2).eval(), {"input": torch.zeros(1, 2)}, network.Network("", None), exporter, os.path.join(folder, "x.onnx"))


def result_path(args, network, exporter):
    return os.path.join(args.results, f"{network.name}.{exporter}.json")


def is_done(args, network, exporter):
    if not (args.resume or args.again) or not os.path.exists(result_path(args, network, exporter)):
        return False
    import plan
    import table
    with open(result_path(args, network, exporter)) as f:
        facts = json.load(f)
    if "broke" in facts:
        return not args.again
    if args.export and facts["stage"] == "exported":
        return True
    if facts["stage"] != "done" or (args.again and (list(table.exceptions([facts])) or list(table.low_faults([facts])))):
        return False
    ended = facts.get("exporter_says") or "why" in facts["variants"].get("plain", {})
    return bool(ended) or set(plan.variants_of(network, exporter, args)) <= set(facts["variants"])


def in_turn(networks):
    """One of each family after the other, so that a run that is broken off has seen them all."""
    return sorted(networks, key=lambda n: n.rank)


def child(network, exporter, args):
    """In a process of its own: never returns."""
    os.setsid()
    log = os.open(os.path.join(args.results, f"{network.name}.{exporter}.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1), os.dup2(log, 2)
    limit = int(args.memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    status = 1
    try:
        import examine
        examine.examine(network, exporter, args)
        status = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(status)


def note_end(args, network, exporter, why):
    """A process that broke off leaves the reason in its result."""
    path, facts = result_path(args, network, exporter), {"name": network.name, "family": network.family, "exporter": exporter, "stage": "starting", "variants": {}}
    if os.path.exists(path):
        with open(path) as f:
            facts = json.load(f)
    with open(path, "w") as f:
        json.dump({**facts, "broke": why}, f, indent=1)


def last_line(path):
    with open(path, errors="replace") as f:
        lines = [line.strip() for line in f if line.strip()]
    return lines[-1][:300] if lines else ""


def reap(args, running):
    """Waits until a process ends or is due; takes it out of `running`."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            network, exporter, _ = running.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            if code:
                why = f"dies of {signal.Signals(-code).name}" if code < 0 else last_line(os.path.join(args.results, f"{network.name}.{exporter}.log"))
                note_end(args, network, exporter, why)
            return network, exporter
        for pid, (network, exporter, start) in list(running.items()):
            if time.time() - start > args.timeout:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                del running[pid]
                note_end(args, network, exporter, f"more than {args.timeout:g} seconds")
                return network, exporter
        time.sleep(0.05)


def run_all(args, jobs):
    running, total = {}, len(jobs)
    print(f"{total} networks and exporters to go", flush=True)
    jobs = jobs[::-1]
    while jobs or running:
        while jobs and len(running) < args.jobs:
            network, exporter = jobs.pop()
            pid = os.fork()
            if pid == 0:
                child(network, exporter, args)
            running[pid] = (network, exporter, time.time())
        network, exporter = reap(args, running)
        report(args, network, exporter, total - len(jobs) - len(running), total)


def report(args, network, exporter, count, total):
    """A line for one that has ended."""
    import table
    with open(result_path(args, network, exporter)) as f:
        facts = json.load(f)
    bad = [f"{v}: {why}" for _, _, v, why in table.exceptions([facts])] + [f"{d}: {why}" for _, _, d, why in table.low_faults([facts])]
    said = "; ".join(bad) or next((f"{what}: {why}" for _, _, what, why in table.outside([facts])), "good")
    print(f"[{count}/{total}] {network.name} {exporter}: {said}", flush=True)


def main():
    args = arguments()
    import network
    if not args.table and not args.list:
        prepare(args.exporters)
    networks = [n for n in network.chosen(network.all_networks(), args.only, args.family) if not args.networks or n.rank < args.networks]
    if not networks:
        sys.exit("run.sh: no network matches")
    if args.list:
        for n in networks:
            print(f"{n.family:<16}{n.name:<40}{' '.join(n.exporters)}")
        return 0
    os.makedirs(args.results, exist_ok=True), os.makedirs(args.work, exist_ok=True)
    if not args.table:
        run_all(args, [(n, e) for n in in_turn(networks) for e in args.exporters if e in n.exporters and not is_done(args, n, e)])
    import table
    results = [r for r in table.load(args.results, {n.name for n in networks}) if r["exporter"] in args.exporters]
    sums = table.show(results)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"summary": sums, "results": results}, f, indent=1)
    return 0 if sums["share"] is not None and sums["share"] <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
