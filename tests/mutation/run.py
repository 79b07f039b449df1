"""Draws mutants, judges each by the tests that depend on its source, and prints what survived; run.sh's text says how it is used."""

import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import build  # noqa: E402
import combined  # noqa: E402
import judge  # noqa: E402
import mutants  # noqa: E402

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
_FOLDERS = ("graph", "passes", "runtime")
_UNKNOWN_SECONDS = 10  # of a test that has not run yet
FOUND, LIVES, OPEN, SAME, REFUSED, BY_HAND = "found", "lives", "open", "same object", "does not compile", "equivalent"


def equivalents(path):
    """{(source, line before, line after): reason} of equivalent.txt: blocks of `PATH`, `-LINE`, `+LINE` and `= REASON`, lines without their indent."""
    result, entry = {}, []
    with open(path, encoding="utf-8") as text:
        for row in text:
            row = row.rstrip("\n")
            if row.startswith("#") or not row:
                continue
            if row.startswith("= "):
                result[entry[0], entry[1][1:].strip(), entry[2][1:].strip()] = row[2:]
                entry = []
            else:
                entry.append(row)
    return result


class Results:
    """A line of JSON for each verdict; a later one of the same mutant replaces an earlier one."""

    def __init__(self, path):
        self._path = path
        self.rows = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as text:
                for line in text:
                    if line.endswith("\n"):
                        row = json.loads(line)
                        self.rows[row["key"]] = row

    def verdict(self, mutant):
        return self.rows.get(mutant.key, {}).get("verdict")

    def add(self, row):
        self.rows[row["key"]] = row
        with open(self._path, "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")

    def kills(self, folder):
        """{label: how many mutants below `folder` it found}"""
        return collections.Counter(row["by"] for row in list(self.rows.values()) if row["verdict"] == FOUND and row["path"].startswith(folder + "/"))


class Sitting:
    """The tools with which one call of run.sh judges."""

    def __init__(self, known, place, combined, results, limit, root=_ROOT):
        self._root = root
        self._build = known
        self._place = place
        self._combined = combined
        self._results = results
        self._limit = limit
        self._alone = threading.RLock()

    def _order(self, source, left):
        """The tests that are likely to find a mutant soonest: near to the source, quick, and those that found others of its folder."""
        kills, users = self._results.kills(os.path.dirname(source)), self._build.users(source)
        folders = os.path.dirname(source).split("/")

        def worth(label):
            seconds = self._place.times.get(label) or _UNKNOWN_SECONDS
            named = label.split(":")[0].split("/")[-1] in folders
            return (kills[label] + named + 2 / (1 + users[label])) / (seconds + 1)

        return sorted((label for label in users if label in left), key=lambda label: (-worth(label), label))

    def choose(self, drawn, count, jobs=1):
        """The first `count` of the drawn that compile, and those between that do not; all that fit are compiled together."""
        drawn = [mutant for mutant in drawn if mutant.path in self._build.unit_of]  # others are of another configuration
        wanted = 0
        while wanted < min(len(drawn), self._wanted(drawn, count)):
            wanted = self._wanted(drawn, count)
            self._combined.add(drawn[:wanted], jobs)
            for mutant in drawn[:wanted]:
                if mutant.key not in self._combined.numbers and mutant.key not in self._results.rows:
                    row, _, mutated = self._begun(mutant)
                    compiles = self._place.compile({mutant.path: mutated})[0]
                    self._results.add(dict(row, verdict=OPEN if compiles else REFUSED, tried={}, left=len(self._build.users(mutant.path))))
        return drawn[:wanted]

    def _wanted(self, drawn, count):
        """How many of the drawn have `count` among them that compile, as far as is known."""
        wanted = refused = 0
        while wanted < len(drawn) and wanted < count + refused:
            refused += self._results.verdict(drawn[wanted]) == REFUSED
            wanted += 1
        return wanted

    def _begun(self, mutant):
        """A row of results without a verdict, the source's text and the mutant's."""
        with open(os.path.join(self._root, mutant.path), encoding="utf-8") as source:
            text = source.read()
        row = {"key": mutant.key, "path": mutant.path, "line": mutant.line, "kind": mutant.kind, "before": mutant.before, "after": mutant.after}
        return dict(row, diff=mutants.diff(text, mutant)), text, mutants.changed(text, mutant)

    def judge(self, mutant):
        """The row of results for a mutant, which goes on where an earlier sitting stopped."""
        number = self._combined.numbers.get(mutant.key)
        row, _, mutated = self._begun(mutant)
        if number is not None:
            finds = lambda label: self._combined.finds(label, number)  # noqa: E731
            return self._held(row, mutated, lambda label: self._combined.reaches(label, number), finds)
        with self._alone:
            changed, _ = self._place.compile({mutant.path: mutated})
            if changed is None:
                return dict(row, verdict=REFUSED)
            has_it = lambda label: self._build.binaries_with(mutant.path, label) and self._place.normal_seconds(label) is not None  # noqa: E731
            return self._held(row, mutated, has_it, lambda label: self._place.finds(label, mutant.path, changed))

    def _held(self, row, mutated, concerns, finds):
        """The row with the verdict of the tests that the mutant concerns, by what the functions say of a test. Only runs with the mutant count
        against the limit: what tells which places a test comes to is done once for all mutants."""
        path, spent, before = row["path"], 0, self._results.rows.get(row["key"], {})
        tried = {label: stamp for label, stamp in before.get("tried", {}).items() if label in self._build.tests and self._combined.stamp(label) == stamp}
        left = set(self._build.users(path)) - set(tried)
        while left and not (self._limit and spent > self._limit):
            label = self._order(path, left)[0]
            left.discard(label)
            if not concerns(label):
                continue
            outcome = finds(label)
            spent += outcome.seconds
            if outcome.found:
                return dict(row, verdict=FOUND, by=label, how=outcome.found, tried=tried, seconds=round(spent, 1))
            tried[label] = self._combined.stamp(label)
        # A mutant that no test found is worth an optimised compilation, which tells whether it changes anything.
        if not left and before.get("verdict") != LIVES and self._place.is_same(path, mutated):
            return dict(row, verdict=SAME, tried=tried)
        return dict(row, verdict=OPEN if left else LIVES, tried=tried, left=len(left), seconds=round(spent, 1))

    def has_more(self, row):
        """Whether a test is left for it, or has changed since it was tried."""
        tried = row.get("tried", {})
        return row["verdict"] == OPEN or row["verdict"] == LIVES and any(
            self._combined.stamp(label) != tried.get(label) for label in self._build.users(row["path"])
        )


def _verdict(row, known):
    """The verdict, with what a person has said about survivors."""
    if row["verdict"] not in (LIVES, OPEN):
        return row["verdict"]
    lines = row["diff"].split("\n")[1:]
    old, new = ("\n".join(l[1:].strip() for l in lines if l.startswith(sign)) for sign in "-+")
    return BY_HAND if (row["path"], old, new) in known else row["verdict"]


def summary(rows, known):
    """The table of a list of results, by folder, and the share that was found of what is not equivalent."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        for group in (row["path"].split("/")[0], "all"):
            counts[group][_verdict(row, known)] += 1
    columns = (FOUND, LIVES, OPEN, SAME, BY_HAND, REFUSED)
    out = ["| | judged | " + " | ".join(columns) + " | found of those that matter |", "|---" * (len(columns) + 3) + "|"]
    for group in sorted(counts, key=lambda name: (name == "all", name)):
        count = counts[group]
        matter = count[FOUND] + count[LIVES] + count[OPEN]
        judged = sum(count.values()) - count[REFUSED]
        share = "%.0f %%" % (100 * count[FOUND] / matter) if matter else ""
        out.append("| %s | %d | %s | %s |" % (group, judged, " | ".join(str(count[c]) for c in columns), share))
    return "\n".join(out)


def _arguments():
    parser = argparse.ArgumentParser(prog="tests/mutation/run.sh", description="One-token mutants of the sources, held against the tests.")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="a folder or a source of this tree (default: %s)" % " ".join(_FOLDERS))
    parser.add_argument("--count", type=int, default=24, help="how many mutants that compile are judged (default 24)")
    parser.add_argument("--seed", default="1", help="draws others (default 1)")
    parser.add_argument("--limit", type=float, default=0, help="seconds of tests for one mutant; those that are left then are run by a later --resume")
    parser.add_argument("--jobs", type=int, default=1, help="compilations, and then tests, at the same time (default 1)")
    parser.add_argument("--until", metavar="HH:MM", help="starts no further mutant after this time")
    parser.add_argument("--resume", action="store_true", help="keeps the verdicts of the state folder, and goes on with mutants whose tests were limited")
    parser.add_argument("--list", action="store_true", help="prints the mutants and builds nothing")
    parser.add_argument("--from", dest="named", metavar="FILE", help="mutants named by a person: lines of PATH:LINE, tab, what is there, tab, what comes instead")
    parser.add_argument("--without", action="append", default=[], metavar="PATTERN", help="tests that are not run, //tests/e2e/... for example")
    parser.add_argument("--survivors", action="store_true", help="prints the table and what survived so far, and builds nothing")
    parser.add_argument("--keep-build", action="store_true", help="takes what Bazel said the last time for true: for the sources of that time")
    parser.add_argument("--linker", default="lld", help="links the mutants (default lld; '' for the build's own)")
    parser.add_argument("--state", metavar="FOLDER", help="results and work (default ~/.cache/ampc/mutation)")
    arguments = parser.parse_args()
    arguments.folders = [os.path.normpath(folder) for folder in arguments.folders] or list(_FOLDERS)
    for folder in arguments.folders:
        if not os.path.exists(os.path.join(_ROOT, folder)):
            parser.error("%s: is not in this tree" % folder)
    return arguments


def _named(path):
    with open(path, encoding="utf-8") as text:
        for row in text:
            if row.strip() and not row.startswith("#"):
                place, before, after = row.rstrip("\n").split("\t")
                source, line = place.rsplit(":", 1)
                yield mutants.by_hand(source, int(line), before, after, _ROOT)


def _known_build(arguments, state):
    path = os.path.join(state, "build.json")
    if not (arguments.keep_build and os.path.exists(path)):
        with open(path + ".new", "w", encoding="utf-8") as out:
            json.dump(build.ask(_ROOT, arguments.folders, arguments.without), out)
        os.rename(path + ".new", path)
    with open(path, encoding="utf-8") as text:
        facts = json.load(text)
    execroot = os.path.join(state, "execroot")
    shutil.rmtree(execroot, ignore_errors=True)
    return build.Build(dict(facts, execroot=build.plant(_ROOT, facts["execroot"], execroot)))


def _print_row(number, row):
    what = row["verdict"] + (" by %s (%s)" % (row["by"], row["how"]) if row["verdict"] == FOUND else "")
    what += " after %d tests, %d left" % (len(row["tried"]), row["left"]) if row["verdict"] in (LIVES, OPEN) else ""
    print("%d %s:%d %s: %s" % (number, row["path"], row["line"], row["kind"], what), flush=True)
    if row["verdict"] in (LIVES, OPEN):
        print(row["diff"], flush=True)


def main():
    arguments = _arguments()
    drawn = list(_named(arguments.named)) if arguments.named else mutants.draw(_ROOT, arguments.folders, arguments.seed)
    if arguments.list:
        for mutant in drawn[: arguments.count]:
            with open(os.path.join(_ROOT, mutant.path), encoding="utf-8") as source:
                print(mutants.diff(source.read(), mutant))
        return 0
    state = arguments.state or os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "ampc", "mutation")
    os.makedirs(state, exist_ok=True)
    path = os.path.join(state, "results.jsonl")
    if not (arguments.resume or arguments.survivors) and os.path.exists(path):
        os.rename(path, path + ".before")
    results, known = Results(path), equivalents(os.path.join(os.path.dirname(os.path.realpath(__file__)), "equivalent.txt"))
    if not arguments.survivors:
        _judge_all(arguments, state, drawn, results)
    rows = [dict(results.rows[m.key], path=m.path) for m in drawn if m.key in results.rows]
    lived = [row for row in rows if _verdict(row, known) in (LIVES, OPEN)]
    print("\n".join(row["diff"] + "\n  %s, %d tests" % (row["verdict"], len(row["tried"])) for row in lived))
    print(summary(rows, known))
    return 1 if lived else 0


def _judge_all(arguments, state, drawn, results):
    times_path = os.path.join(state, "times.json")
    times = {}
    if os.path.exists(times_path):
        with open(times_path, encoding="utf-8") as text:
            times = json.load(text)
    known = _known_build(arguments, state)
    place = judge.Workplace(known, os.path.join(state, "work"), times, arguments.linker)
    sitting = Sitting(known, place, combined.Combined(known, place, os.path.join(state, "combined"), _ROOT), results, arguments.limit)
    chosen, lock = sitting.choose(drawn, arguments.count, arguments.jobs), threading.Lock()

    def judge_one(number, mutant):
        if arguments.until and time.strftime("%H:%M") >= arguments.until:
            return
        row = sitting.judge(mutant)
        with lock:
            results.add(row)
            _print_row(number + 1, row)
            with open(times_path + ".new", "w", encoding="utf-8") as out:
                json.dump(dict(times), out)
            os.rename(times_path + ".new", times_path)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        left = [(i, m) for i, m in enumerate(chosen) if m.key not in results.rows or sitting.has_more(results.rows[m.key])]
        for done in [pool.submit(judge_one, number, mutant) for number, mutant in left]:
            done.result()


if __name__ == "__main__":
    sys.exit(main())
