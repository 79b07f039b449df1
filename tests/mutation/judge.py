"""Compiles sources, links binaries with changed objects, and runs tests with them; Bazel's outputs are read only."""

import collections
import hashlib
import itertools
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time

_MEMORY = 8 << 30  # of a test's process: a mutant may ask for anything
_FILE = 8 << 30
_WORKSPACE = "ampc"
_MORE_SECONDS = 10  # what a test may take beyond three times its own time

# found: how the test fails, or None; seconds: what it took.
Outcome = collections.namedtuple("Outcome", "found seconds")


class Workplace:
    """Works in a folder of its own. `times` remembers {label: seconds of the unchanged test}, None for one that fails by itself."""

    def __init__(self, build, folder, times, linker):
        self._build = build
        self._folder = folder
        self._linker = linker
        self.times = times
        self._headers = {}
        self._lock = threading.Lock()  # of the headers
        self._runs = itertools.count()
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)

    def _path(self, *parts):
        path = os.path.join(self._folder, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def compile(self, texts, optimised=False, output=None, more=()):
        """(the object of the unit that {source: text} belong to, what the compiler says): None where it refuses them.

        Quickly, or with the options of the build. Warnings are silenced: a mutant may leave a variable unread.
        """
        build, source = self._build, next(iter(texts))
        unit = build.unit_of[source]
        output = output or self._path("object", os.path.basename(build.output_of(source)))
        changed = self._path("source", hashlib.sha256(output.encode()).hexdigest()[:16], os.path.basename(unit))
        with open(changed, "w", encoding="utf-8") as out:
            out.write(self.unit_text(unit, texts))
        arguments = self._arguments(build.compiles[unit], changed, output, optimised) + list(more)
        if os.path.exists(output):
            os.remove(output)
        arguments += [word for one in texts for word in ("-iquote", os.path.dirname(one))]
        done = subprocess.run(arguments, cwd=build.execroot, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
        return output if done.returncode == 0 else None, done.stderr

    def unit_text(self, unit, texts):
        """A unit with these texts instead of its own; messages name the source."""
        if list(texts) == [unit]:
            return '#line 1 "%s"\n%s' % (unit, texts[unit])
        with open(os.path.join(self._build.execroot, unit), encoding="utf-8") as joined:
            parts = re.split(r'^(#line 1 ".*"\n)', joined.read(), flags=re.M)
        for source, text in texts.items():
            parts[parts.index('#line 1 "%s"\n' % source) + 1] = text
        return "".join(parts)

    def _arguments(self, arguments, source, output, optimised):
        arguments = [a for a in arguments if a != "-Werror"] + ["-w"]
        arguments[arguments.index("-c") + 1] = source
        arguments[arguments.index("-o") + 1] = output
        if "-MF" in arguments:
            arguments[arguments.index("-MF") + 1] = output + ".d"
        if optimised:
            return arguments
        if "-include" in arguments:
            header = arguments.index("-include") + 1
            arguments[header] = self._quick_header(arguments[header])
        return ["-O0" if re.fullmatch(r"-O\d", a) else a for a in arguments if not re.match(r"-D_FORTIFY_SOURCE", a)]

    def _quick_header(self, header):
        """Headers parsed beforehand by the options of a quick compilation: the compiler takes no others."""
        with self._lock:
            if header not in self._headers:
                source = re.sub(r"\.h$", ".cc", header)
                made = self._path("headers", header)
                arguments = self._arguments(self._build.compiles[source], source, made + ".gch", False)
                subprocess.run(arguments, cwd=self._build.execroot, check=True, capture_output=True)
                self._headers[header] = made
            return self._headers[header]

    def is_same(self, source, text):
        """Whether the optimised object is, byte for byte, that of the unchanged source."""
        output = self._path("optimised", hashlib.sha256(text.encode()).hexdigest()[:16] + ".o")
        if not self.compile({source: text}, optimised=True, output=output)[0]:
            return False
        with open(os.path.join(self._build.execroot, self._build.output_of(source)), "rb") as was, open(output, "rb") as now:
            same = was.read() == now.read()
        os.remove(output)
        return same

    def link(self, binary, objects, output, more=()):
        """Whether `binary` links with {object of the build: what stands for it}, and `more`, as `output`."""
        build = self._build
        replaced = dict(objects)
        for archive in build.links[binary]:
            if archive in build.archives and not objects.keys().isdisjoint(build.archives[archive]):
                replaced[archive] = self._archive(archive, objects)
        arguments = [replaced.get(a, a) for a in build.links[binary]] + list(more)
        arguments[arguments.index("-o") + 1] = output
        if self._linker:
            arguments = [a for a in arguments if not a.startswith("-fuse-ld=")] + ["-fuse-ld=" + self._linker]
        return subprocess.run(arguments, cwd=build.execroot, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0

    def _archive(self, archive, objects):
        """An archive that names its objects: nothing is copied."""
        build = self._build
        members = [objects.get(o) or os.path.join(build.execroot, o) for o in build.archives[archive]]
        made = self._path("archive", hashlib.sha256("\n".join([archive] + members).encode()).hexdigest()[:16] + ".a")
        if os.path.exists(made):
            os.remove(made)
        subprocess.run(["ar", "rcsDT", made] + members, cwd=build.execroot, check=True, capture_output=True)
        return made

    def normal_seconds(self, label):
        """Seconds of the unchanged test; None if it fails by itself and tells nothing about mutants."""
        if label not in self.times:
            outcome = self.run(label, {}, 1200)
            self.times[label] = None if outcome.found else outcome.seconds
        return self.times[label]

    def finds(self, label, source, changed):
        """The test's verdict on a source's changed object; one at a time."""
        start, replaced = time.time(), {}
        for binary in self._build.binaries_with(source, label):
            replaced[binary] = self._path("binary", binary)
            if not self.link(binary, {self._build.output_of(source): changed}, replaced[binary]):
                return Outcome("does not link", time.time() - start)
        outcome = self.run(label, replaced, most_seconds(self.normal_seconds(label)))
        for path in replaced.values():
            os.remove(path)
        return Outcome(outcome.found, time.time() - start)

    def runfiles(self, label, replaced, copy):
        """The folder of what the test reads, with the changed ones of the programs that it starts: the build's own, or `copy`."""
        build, test = self._build, self._build.tests[label]
        original = os.path.join(build.execroot, test["binary"] + ".runfiles")
        others = [binary for binary in replaced if binary != test["binary"]]
        if not others:
            return original
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy, symlinks=True)
        for binary in others:
            path = os.path.join(copy, _WORKSPACE, short_path(binary))
            if os.path.lexists(path):
                os.remove(path)
                os.symlink(replaced[binary], path)
        return copy

    def run(self, label, replaced, seconds, runfiles=None, environment=()):
        """The outcome of a test with {binary: what stands for it}, which may take so many seconds of a core."""
        build, test = self._build, self._build.tests[label]
        temporary = self._path("tmp", str(next(self._runs)), "x")[:-2]
        os.makedirs(temporary, exist_ok=True)
        runfiles = runfiles or self.runfiles(label, replaced, self._path("runfiles", "files"))
        program = replaced.get(test["binary"]) or os.path.join(runfiles, _WORKSPACE, short_path(test["binary"]))
        variables = dict(PATH="/bin:/usr/bin:/usr/local/bin", HOME=temporary, TEST_TMPDIR=temporary, TMPDIR=temporary,
                         TEST_SRCDIR=runfiles, RUNFILES_DIR=runfiles, TEST_WORKSPACE=_WORKSPACE, TEST_TARGET=label.split("#")[0], GTEST_FAIL_FAST="1",
                         GTEST_TMP_DIR=temporary, TZ="UTC", USER=os.environ.get("USER", "nobody"), **dict(environment), **build.shard(label))  # fmt: skip
        start = time.time()
        process = subprocess.Popen([program] + test["args"], cwd=os.path.join(runfiles, _WORKSPACE), env=variables, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=lambda: _limit(seconds))  # fmt: skip
        found = None
        try:
            output = process.communicate(timeout=10 * seconds + 60)[0].decode("utf-8", "replace")
            if process.returncode != 0:
                found = _said(output) or _ended(process.returncode)
        except subprocess.TimeoutExpired:
            found = "takes too long"
        finally:
            _end(process)
            shutil.rmtree(temporary, ignore_errors=True)
        return Outcome(found, time.time() - start)


def most_seconds(normal):
    return 3 * normal + _MORE_SECONDS


def short_path(binary):
    return re.sub(r"^bazel-out/[^/]+/bin/", "", binary)


def _end(process):
    """Ends the test's own group: what it started and left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.communicate()


def _limit(seconds):
    for kind, most in ((resource.RLIMIT_CPU, int(seconds) + 1), (resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_FSIZE, _FILE), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most if kind == resource.RLIMIT_CPU else hard))


def _ended(code):
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return "takes too long"
    return "exit %d" % code if code > 0 else "signal %d" % -code


def _said(output):
    """The test case that failed first."""
    found = re.search(r"^\[  FAILED  \] ([^\n(,]+)", output, re.M)
    return found.group(1).strip() if found else ""
