"""One mutant at a time: its object, the binaries with it, the tests that run them."""

import os
import re
import resource
import shutil
import signal
import subprocess
import time

_MEMORY = 8 << 30  # of a test's process: a mutant may ask for anything
_FILE = 2 << 30
_WORKSPACE = "ampc"
_MORE_SECONDS = 20  # what a test may take beyond three times its own time


class Workplace:
    """Compiles, links and runs in a folder of its own; Bazel's outputs are read only. `times` remembers {label: seconds of the unchanged test}."""

    def __init__(self, build, folder, times, linker):
        self._build = build
        self._folder = folder
        self._linker = linker
        self.times = times
        self._headers = {}
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)

    def _path(self, *parts):
        path = os.path.join(self._folder, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def compile(self, source, text, optimised=False):
        """The object of a source with this text, or None where the compiler refuses it; quickly, or with the options of the build.

        Warnings are silenced: a mutant may leave a variable unread.
        """
        build, unit = self._build, self._build.unit_of[source]
        output = self._path("object", os.path.basename(build.output_of(source)))
        changed = self._path("source", source if unit == source else os.path.basename(unit))
        with open(changed, "w", encoding="utf-8") as out:
            out.write(text if unit == source else self._joined(unit, source, text))
        arguments = self._arguments(build.compiles[unit], changed, output, optimised)
        if os.path.exists(output):
            os.remove(output)
        done = subprocess.run(arguments + ["-iquote", os.path.dirname(source)], cwd=build.execroot, stdin=subprocess.DEVNULL, capture_output=True)
        return output if done.returncode == 0 else None

    def _arguments(self, arguments, source, output, optimised):
        arguments = [a for a in arguments if a != "-Werror"] + ["-w"]
        arguments[arguments.index("-c") + 1] = source
        arguments[arguments.index("-o") + 1] = output
        if "-MF" in arguments:
            arguments[arguments.index("-MF") + 1] = self._path("object", "dependencies")
        if optimised:
            return arguments
        if "-include" in arguments:
            header = arguments.index("-include") + 1
            arguments[header] = self._quick_header(arguments[header])
        return ["-O0" if re.fullmatch(r"-O\d", a) else a for a in arguments if not re.match(r"-D_FORTIFY_SOURCE", a)]

    def _quick_header(self, header):
        """Headers parsed beforehand by the options of a quick compilation: the compiler takes no others."""
        if header not in self._headers:
            source = re.sub(r"\.h$", ".cc", header)
            made = self._path("headers", header)
            arguments = self._arguments(self._build.compiles[source], source, made + ".gch", False)
            subprocess.run(arguments, cwd=self._build.execroot, check=True, capture_output=True)
            self._headers[header] = made
        return self._headers[header]

    def _joined(self, unit, source, text):
        with open(os.path.join(self._build.execroot, unit), encoding="utf-8") as joined:
            parts = re.split(r'^(#line 1 ".*"\n)', joined.read(), flags=re.M)
        where = parts.index('#line 1 "%s"\n' % source)
        return "".join(parts[: where + 1] + [text] + parts[where + 2 :])

    def is_same(self, source, text):
        """Whether the optimised object is, byte for byte, that of the unchanged source."""
        changed = self.compile(source, text, optimised=True)
        with open(os.path.join(self._build.execroot, self._build.output_of(source)), "rb") as was, open(changed, "rb") as now:
            return was.read() == now.read()

    def link(self, binary, source, changed):
        """The binary with the changed object instead of the source's."""
        build, original = self._build, self._build.output_of(source)
        output = self._path("binary", binary)
        replaced = {original: changed}
        for archive, objects in build.archives.items():
            if original in objects and archive in build.links[binary]:
                replaced[archive] = self._archive(archive, changed)
        arguments = [replaced.get(a, a) for a in build.links[binary]]
        arguments[arguments.index("-o") + 1] = output
        if self._linker:
            arguments = [a for a in arguments if not a.startswith("-fuse-ld=")] + ["-fuse-ld=" + self._linker]
        done = subprocess.run(arguments, cwd=build.execroot, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
        return output if done.returncode == 0 else None

    def _archive(self, archive, changed):
        copy = self._path("archive", archive)
        shutil.copyfile(os.path.join(self._build.execroot, archive), copy)
        subprocess.run(["ar", "r", copy, changed], check=True, capture_output=True)
        return copy

    def normal_seconds(self, label):
        """What the unchanged test takes; None where it fails by itself and says nothing about mutants."""
        if label not in self.times:
            found, seconds, _ = self._run(label, {}, 1200)
            self.times[label] = None if found else seconds
        return self.times[label]

    def finds(self, label, source, changed):
        """(how the test fails with the changed object, or None; seconds)."""
        start = time.time()
        binaries = self._build.binaries_with(source, label)
        replaced = {}
        for binary in binaries:
            replaced[binary] = self.link(binary, source, changed)
            if replaced[binary] is None:
                return "does not link", time.time() - start
        found, _, last = self._run(label, replaced, 3 * self.normal_seconds(label) + _MORE_SECONDS)
        for path in replaced.values():
            os.remove(path)
        return (last or "fails") if found else None, time.time() - start

    def _runfiles(self, label, replaced):
        """The folder of what the test reads, with the changed ones of the programs that it starts."""
        build, test = self._build, self._build.tests[label]
        original = os.path.join(build.execroot, test["binary"] + ".runfiles")
        others = [binary for binary in replaced if binary != test["binary"]]
        if not others:
            return original
        copy = self._path("runfiles", "files")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy, symlinks=True)
        for binary in others:
            path = os.path.join(copy, _WORKSPACE, re.sub(r"^bazel-out/[^/]+/bin/", "", binary))
            if os.path.lexists(path):
                os.remove(path)
                os.symlink(replaced[binary], path)
        return copy

    def _run(self, label, replaced, seconds):
        """(whether the test fails, seconds, what it says)."""
        build, test = self._build, self._build.tests[label]
        runfiles = self._runfiles(label, replaced)
        temporary = self._path("tmp", "x")[:-2]
        shutil.rmtree(temporary, ignore_errors=True)
        os.makedirs(temporary)
        own = re.sub(r"^bazel-out/[^/]+/bin/", "", test["binary"])
        program = replaced.get(test["binary"]) or os.path.join(runfiles, _WORKSPACE, own)
        environment = dict(PATH="/bin:/usr/bin:/usr/local/bin", HOME=temporary, TEST_TMPDIR=temporary, TMPDIR=temporary,
                           TEST_SRCDIR=runfiles, RUNFILES_DIR=runfiles, TEST_WORKSPACE=_WORKSPACE, TEST_TARGET=label, GTEST_FAIL_FAST="1",
                           GTEST_TMP_DIR=temporary, TZ="UTC", USER=os.environ.get("USER", "nobody"))  # fmt: skip
        start = time.time()
        process = subprocess.Popen([program] + test["args"], cwd=os.path.join(runfiles, _WORKSPACE), env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=lambda: _limit(seconds))  # fmt: skip
        try:
            output = process.communicate(timeout=10 * seconds + 60)[0].decode("utf-8", "replace")
            failed = process.returncode != 0
            said = _said(output) or _ended(process.returncode)
        except subprocess.TimeoutExpired:
            failed, said = True, "takes too long"
        finally:
            _end(process)
        return failed, time.time() - start, said


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
