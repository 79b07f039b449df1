"""The mutants that fit into one build of the tests: each changed unit is compiled once, each binary linked once, and a variable says which mutant runs."""

import concurrent.futures
import hashlib
import json
import mmap
import os
import re
import shutil
import subprocess
import threading

import judge
import schemata

_HERE = os.path.dirname(os.path.realpath(__file__))
_NUMBERS = 1 << 24  # as selected.cc


def number_of(mutant):
    """The number that selects the mutant: of its key, so that others may come and go."""
    return int(mutant.key[-6:], 16) or 1


class Combined:
    """Objects and binaries are kept in `folder` from one sitting to the next while what they are made of stays the same."""

    def __init__(self, build, place, folder, root):
        self._build, self._place, self._folder, self._root = build, place, folder, root
        self._objects = {}  # {object of the build: the one with mutants in it}
        self._binaries = {}  # {binary: whether it has been linked}
        self._known, self._locks, self._stamps, self._digests = {}, {}, {}, {}
        self._lock = threading.RLock()
        self.numbers = {}  # {key: number} of the mutants within
        os.makedirs(os.path.join(folder, "object"), exist_ok=True)

    def _path(self, *parts):
        path = os.path.join(self._folder, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def add(self, mutants, jobs=1):
        """Compiles what belongs to these, all that are to be judged; `numbers` then says which have found a place."""
        units, taken = {}, set()
        self.numbers = {}
        for mutant in mutants:
            if number_of(mutant) not in taken:
                taken.add(number_of(mutant))
                units.setdefault(self._build.unit_of[mutant.path], []).append(mutant)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(self._unit, units.values()))

    def _unit(self, mutants):
        sources = {path: schemata.Source(_read(os.path.join(self._root, path))) for path in sorted({m.path for m in mutants})}
        places = {m: sources[m.path].places(m) for m in mutants}
        source = next(iter(sources))
        output = self._path("object", hashlib.sha256(self._build.output_of(source).encode()).hexdigest()[:16] + ".o")
        options = " ".join(self._build.compiles[self._build.unit_of[source]])
        digest = hashlib.sha256((options + repr([(m, places[m]) for m in mutants]) + "".join(s.text for s in sources.values())).encode()).hexdigest()
        kept = self._kept(output, digest)
        while kept is None:
            chosen = [(number_of(m), m, places[m][0]) for m in mutants if places[m]]
            texts = {path: s.combined([choice for choice in chosen if choice[1].path == path]) for path, s in sources.items()}
            if not chosen:
                kept = {}
                _write(output + ".json", json.dumps({"digest": digest, "kept": kept}))
                break
            made, said = self._place.compile(texts, output=output, more=["-I" + _HERE, "-include", "selected.h"])
            if made:
                kept = {m.key: number_of(m) for m in mutants if places[m]}
                _write(output + ".json", json.dumps({"digest": digest, "kept": kept}))
            else:
                _refuse(places, sources, said)
        self.numbers.update(kept)
        if kept:
            self._objects[self._build.output_of(source)] = output

    def _kept(self, output, digest):
        """The numbers of mutants in an object of an earlier sitting, if nothing has changed since."""
        known = json.loads(_read(output + ".json")) if os.path.exists(output + ".json") else {}
        if known.get("digest") != digest or (known["kept"] and not os.path.exists(output)):
            return None
        if not known["kept"]:
            return {}
        made = os.path.getmtime(output)
        headers = re.sub(r"\\\n", " ", _read(output + ".d").split(":", 1)[1]).split() if os.path.exists(output + ".d") else []
        headers = [os.path.join(self._build.execroot, h) for h in headers if h.endswith((".h", ".inc")) and "selected.h" not in h]
        return known["kept"] if all(os.path.exists(h) and os.path.getmtime(h) <= made for h in headers) else None

    def _selected(self):
        """The object that knows which mutant runs."""
        made, source = self._path("selected.o"), os.path.join(_HERE, "selected.cc")
        if not os.path.exists(made) or os.path.getmtime(made) < os.path.getmtime(source):
            compiler = next(iter(self._build.compiles.values()))[0]
            subprocess.run([compiler, "-O1", "-fPIC", "-c", source, "-o", made], check=True)
        return made

    def _binary(self, binary):
        """The binary with all mutants; None where none is in it."""
        with self._lock:
            inputs = self._build.inputs(binary)
            mine = {o: m for o, m in self._objects.items() if o in inputs}
            output = self._path("binary", binary)
            if mine and binary not in self._binaries:
                files = [os.path.join(self._build.execroot, i) for i in inputs] + list(mine.values())
                names = "\n".join(sorted(mine))
                old = not os.path.exists(output) or not os.path.exists(output + ".names") or _read(output + ".names") != names
                if old or max(os.path.getmtime(f) for f in files if os.path.exists(f)) > os.path.getmtime(output):
                    if not self._place.link(binary, mine, output, [self._selected()]):
                        raise RuntimeError(binary + " does not link with mutants in it")
                    _write(output + ".names", names)
            self._binaries[binary] = bool(mine)
            return output if mine else None

    def _test(self, label):
        """Facts of a test: {seconds, reached, runfiles, replaced}; it runs once, with no mutant selected."""
        with self._lock:
            lock = self._locks.setdefault(label, threading.Lock())
        with lock:
            if label not in self._known:
                self._known[label] = self._recorded(label)
            return self._known[label]

    def _recorded(self, label):
        test, name = self._build.tests[label], re.sub(r"\W", "_", label)
        replaced = {b: made for b in [test["binary"]] + test["data"] if (made := self._binary(b))}
        runfiles = self._place.runfiles(label, replaced, self._path("runfiles", name, "x")[:-2])
        known = {"replaced": replaced, "runfiles": runfiles}
        stamp = [self._digest(made) for made in replaced.values()] + [_newest(runfiles, self._folder)]
        path = self._path("reached", name + ".json")
        kept = json.loads(_read(path)) if os.path.exists(path) else {}
        if kept.get("stamp") != stamp:
            with open(path + ".at", "wb") as out:
                out.truncate(_NUMBERS)
            outcome = self._place.run(label, replaced, 1200, runfiles, {"AMPC_MUTANTS_AT": path + ".at"})
            if outcome.found:
                print("%s fails with no mutant selected: %s" % (label, outcome.found), flush=True)
            kept = {"stamp": stamp, "seconds": None if outcome.found else outcome.seconds, "reached": _set_bytes(path + ".at")}
            os.remove(path + ".at")
            _write(path, json.dumps(kept))
        self._place.times[label] = kept["seconds"]
        return dict(known, seconds=kept["seconds"], reached=set(kept["reached"]))

    def _digest(self, path):
        with self._lock:
            if path not in self._digests:
                with open(path, "rb") as file:
                    self._digests[path] = hashlib.sha256(file.read()).hexdigest()
            return self._digests[path]

    def stamp(self, label):
        """Stays the same while the test, its data and its programs do."""
        with self._lock:
            if label not in self._stamps:
                binary = os.path.join(self._build.execroot, self._build.tests[label]["binary"])
                self._stamps[label] = max(_newest(binary + ".runfiles"), os.path.getmtime(binary))
            return self._stamps[label]

    def seconds(self, label):
        """Seconds of the test with no mutant selected; None if it fails."""
        return self._test(label)["seconds"]

    def reaches(self, label, number):
        return self.seconds(label) is not None and number in self._test(label)["reached"]

    def finds(self, label, number):
        test = self._test(label)
        return self._place.run(label, test["replaced"], judge.most_seconds(test["seconds"]), test["runfiles"], {"AMPC_MUTANT": str(number)})


def _refuse(places, sources, said):
    """Takes the next place of each mutant that an error is about, of all where none is."""
    wrong = {(name, int(line)) for name, line in re.findall(r"^([^\s:]+):(\d+):\d+: (?:fatal )?error:", said, re.M)}
    wrong |= {(name, int(line)) for name, line in re.findall(r"^([^\s:]+):(\d+):\d+:   required from here", said, re.M)}
    blamed = [m for m, left in places.items() if left and any((m.path, line) in wrong for line in sources[m.path].lines(left[0]))]
    for mutant in blamed or [m for m, left in places.items() if left]:
        places[mutant] = places[mutant][1:] if blamed else []


def _read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def _write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.rename(path + ".new", path)


def _set_bytes(path):
    result = []
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as bytes_:
        at = bytes_.find(b"\1")
        while at >= 0:
            result.append(at)
            at = bytes_.find(b"\1", at + 1)
    return result


def _newest(folder, but=None):
    """The time of the newest file that a test reads, but for links into a folder."""
    newest = 0
    for where, _, names in os.walk(folder, followlinks=True):
        for name in names:
            path = os.path.join(where, name)
            if but and os.path.islink(path) and os.readlink(path).startswith(but):
                continue
            try:
                newest = max(newest, os.stat(path).st_mtime)
            except FileNotFoundError:
                pass
    return newest
