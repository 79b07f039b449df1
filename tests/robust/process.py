"""ampc as a process of its own, measured and limited."""

import os
import resource
import signal
import subprocess
import threading
import time


class Outcome:
    """How a process ended: exit code (128 + signal where one ended it), texts, seconds, CPU seconds, largest resident memory in bytes."""

    def __init__(self, code, out, err, seconds, cpu, memory):
        self.code, self.out, self.err = code, out, err
        self.seconds, self.cpu, self.memory = seconds, cpu, memory

    def one_sentence(self):
        """Nothing on standard output, one line on standard error that begins with ampc."""
        return self.err.startswith("ampc") and self.err.endswith("\n") and self.err.count("\n") == 1 and self.err[:-1].isprintable()

    def __repr__(self):
        return "exit %d, %.1f s, %.0f MB\n%s" % (self.code, self.seconds, self.memory / 1e6, self.err)


def run(args, cwd, seconds=60.0, limits=(), **options):
    """Runs `args` in the folder `cwd`; `limits`: pairs of a resource and its bound. A run longer than `seconds` is killed."""

    def prepare():
        for which, bound in limits:
            resource.setrlimit(which, (bound, bound))

    start = time.monotonic()
    stdout = options.get("stdout", subprocess.PIPE)
    with subprocess.Popen(args, cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                          preexec_fn=prepare if limits else None) as process:
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        texts = {}

        def read(name, stream):
            texts[name] = stream.read().decode("utf-8", "replace")

        streams = [("out", process.stdout), ("err", process.stderr)]
        readers = [threading.Thread(target=read, args=(n, s)) for n, s in streams if s is not None]
        for reader in readers:
            reader.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        timer.cancel()
        for reader in readers:
            reader.join()
    seconds, cpu = time.monotonic() - start, usage.ru_utime + usage.ru_stime
    return Outcome(process.returncode, texts.get("out", ""), texts.get("err", ""), seconds, cpu, usage.ru_maxrss * 1024)


def run_and_kill(args, cwd, when, number=signal.SIGKILL):
    """Runs `args` and sends the signal when `when()` first says so; true where that ended it."""
    nothing = subprocess.DEVNULL
    with subprocess.Popen(args, cwd=cwd, stdin=nothing, stdout=nothing, stderr=nothing) as process:
        while process.poll() is None and not when():
            pass
        process.send_signal(number)
        return process.wait() == -number
