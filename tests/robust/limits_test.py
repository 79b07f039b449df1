"""The command line where there are too few threads, too little memory or room for a line, files that unpack to much, and options that mean nothing.

Argument: the path of ampc.
"""

import gzip
import json
import os
import pty
import random
import re
import resource
import shutil
import struct
import sys
import tempfile
import unittest
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import kill  # noqa: E402
import process  # noqa: E402

AMPC = ""
FEEDS = ["--input", "small_inputs_0.npz"]


class LimitsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        for name in ("external.onnx", "external.data", "small.onnx", "small_inputs_0.npz"):
            shutil.copy(kill.small("onnx/" + name), self.folder)
        for name in ("encoder.pdmodel", "encoder.pdiparams"):
            shutil.copy(kill.small("models/" + name), self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def ampc(self, *args, **options):
        return process.run([AMPC] + list(args), self.folder, **options)

    def expect_failure(self, args, code, part, **options):
        """One sentence with `part` in it, that exit code, and the folder as it was."""
        before = sorted(os.listdir(self.folder))
        outcome = self.ampc(*args, **options)
        self.assertEqual(outcome.code, code, (args, outcome))
        self.assertTrue(outcome.one_sentence(), (args, outcome))
        self.assertIn(part, outcome.err, args)
        self.assertEqual(sorted(os.listdir(self.folder)), before, args)
        return outcome


class ThreadsTest(LimitsTest):
    VERBS = [["run", "small.onnx", *FEEDS], ["bench", "small.onnx", *FEEDS, "--seconds", "0"], ["compare", "small.onnx", "small.onnx", *FEEDS],
             ["train", "simplenet", "--steps", "1"]]

    def test_more_than_possible(self):
        # The limit on addresses keeps a binary that obeys from taking the machine's threads.
        for args in self.VERBS:
            for threads in ("4097", "2147483647"):
                with self.subTest(args=args, threads=threads):
                    limits = [(resource.RLIMIT_AS, 4 << 30)]
                    self.expect_failure(args + ["--threads", threads], 2, "threads is %s, at most 4096" % threads, limits=limits, seconds=20)

    def test_more_than_the_system_gives(self):
        # Each thread wants a stack of the limit's size, for which there are no addresses.
        limits = [(resource.RLIMIT_STACK, 1 << 46)]
        for args in self.VERBS:
            with self.subTest(args=args):
                self.expect_failure(args + ["--threads", "3"], 5, "threads is 3, the system gives this process ", limits=limits)
        self.assertEqual(self.ampc(*self.VERBS[0], "--threads", "1", limits=limits).code, 0)


class ManyTest(LimitsTest):
    """The cost of many is that of one, as often."""

    def write(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("program p version=1\n\nblock main {\n" + "".join("  %s\n" % line for line in lines) + "}\n")

    def test_selectors(self):
        count = 30000
        self.write("chain.prog", ["feed v0 : f32 [2]"] + ["v%d = relu(v%d) : f32 [2]" % (i + 1, i) for i in range(count)] + ["fetch v%d" % count])
        with open(self.path("many.json"), "w", encoding="utf-8") as file:
            json.dump({"exclude": ["v%d" % (1 + i % count) for i in range(10 * count)], "include": ["name:v7"]}, file)
        outcome = self.ampc("convert", "chain.prog", "-o", "o.prog", "--config", "many.json", "--no-sync")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertLess(outcome.cpu, 8)  # a minute where each looks at every op

    def test_feeds(self):
        count = 50000
        self.write("feeds.prog", ["feed x%d : f32 [2]" % i for i in range(count)] + ["y = relu(x0) : f32 [2]", "fetch y"])
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
        tensor = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<2f", 1, -1)
        for names, part in (([0], "feed 'x1' is missing, the model needs x0, x1, "), (range(count + 1), "the model has no feed 'x%d'; it has x0, " % count)):
            with zipfile.ZipFile(self.path("in.npz"), "w") as archive:
                for i in names:
                    archive.writestr("x%d.npy" % i, tensor)
            outcome = self.expect_failure(["run", "feeds.prog", "--input", "in.npz"], 2, part)
            self.assertLess(len(outcome.err), 500)
            self.assertLess(outcome.cpu, 8)


class MemoryTest(LimitsTest):
    def steps(self, args, low, high, step):
        """Under each limit on addresses the command works, or ends in a sentence about memory with exit code 5. How often each came."""
        worked = failed = 0
        rng = random.Random(1)
        for bound in range(low, high, step):
            limits = [(resource.RLIMIT_AS, bound + rng.randrange(step))]
            outcome = self.ampc(*args, limits=limits)
            if outcome.code == 127 or outcome.err.strip().startswith("libgomp: "):  # there is no room for the program itself, or the libraries that start it
                continue
            if outcome.code == 0:
                worked += 1
                continue
            self.assertEqual((outcome.code, outcome.one_sentence()), (5, True), (args, limits, outcome))
            self.assertRegex(outcome.err, "[Mm]emory|oneDNN: status 1 ", args)
            failed += 1
        return worked, failed

    def test_run(self):
        worked, failed = self.steps(["run", "small.onnx", *FEEDS, "--threads", "1"], 48 << 20, 100 << 20, 1 << 20)
        self.assertGreater(worked, 0)
        self.assertGreater(failed, 0)

    def test_convert(self):
        worked, failed = self.steps(["convert", "encoder.pdmodel", "-o", "o.pdmodel", "--no-sync"], 48 << 20, 80 << 20, 1 << 20)
        self.assertGreater(worked, 0)
        self.assertGreater(failed, 0)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith(".ampc")], [])

    def test_real_model(self):
        model = os.path.join(os.environ.get("AMPC_MODELS", ""), "rec/inference.pdmodel")
        if not os.path.exists(model):
            self.skipTest("no real models; tools/fetch_models.py FOLDER gets them, --test_env=AMPC_MODELS=FOLDER names the folder")
        feeds = os.path.join(os.path.dirname(os.path.dirname(kill.small(""))), "../tools/quickstart/data/rec_inputs_1.npz")
        self.steps(["run", model, "--input", os.path.realpath(feeds), "--threads", "1"], 52 << 20, 160 << 20, 2 << 20)
        self.steps(["convert", model, "-o", "o.pdmodel", "--no-sync"], 52 << 20, 100 << 20, 2 << 20)


def npy_header(shape):
    text = ("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text + b" " * (117 - len(text)) + b"\n"


class UnpackTest(LimitsTest):
    SIZE = 400 << 20

    def zeros(self, file):
        for _ in range(self.SIZE >> 20):
            file.write(bytes(1 << 20))

    def expect_little(self, args, part):
        outcome = self.expect_failure(args, 3, part)
        self.assertLess(outcome.memory, 100 << 20)

    def test_npz(self):
        # Of what the header does not ask for nothing is unpacked.
        with zipfile.ZipFile(self.path("in.npz"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            with archive.open("x.npy", "w") as member:
                member.write(npy_header((1, 2)))
                self.zeros(member)
        self.expect_little(["run", "small.onnx", "--input", "in.npz"], "f32 array [1, 2] needs 8 bytes of data, found %d" % self.SIZE)

    def test_npz_that_claims_more_than_it_holds(self):
        with zipfile.ZipFile(self.path("in.npz"), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", npy_header((self.SIZE // 4,)) + random.Random(1).randbytes(1 << 20))
        with open(self.path("in.npz"), "r+b") as file:
            data = bytearray(file.read())
            struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 24, self.SIZE + 128)
            file.seek(0)
            file.write(data)
        self.expect_little(["run", "small.onnx", "--input", "in.npz"], "its compressed data are damaged")

    def test_images(self):
        os.makedirs(self.path("data"))
        with gzip.open(self.path("data/train-images-idx3-ubyte.gz"), "wb", 1) as file:
            file.write(struct.pack(">IIII", 0x803, 1, 28, 28))
            self.zeros(file)
        self.expect_little(["train", "guarded", "--data", "data", "--steps", "1"], "found more than 784 bytes of data, needed 784")


class TerminalTest(LimitsTest):
    """Standard output and standard error are one terminal."""

    def on_terminal(self, *args):
        """Exit code and what a terminal got."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execv(AMPC, [AMPC] + list(args))
        text = b""
        while True:
            try:
                piece = os.read(terminal, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            text += piece
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), text.decode()

    def shown(self, text):
        """The lines as they stand on the terminal in the end, and everything that stood on one of them before."""
        lines, drawn = [], []
        for line in text.split("\r\n"):
            parts = re.split("\r(?:\x1b\\[K)?", line)
            self.assertNotRegex(parts[-1], "\x1b")
            drawn += [p for p in parts[:-1] if p]
            lines.append(parts[-1])
        return lines, drawn

    def test_result_stands_alone(self):
        code, text = self.on_terminal("run", "small.onnx", *FEEDS, "--threads", "1", "--repeat", "300000")
        self.assertEqual(code, 0, text)
        lines, drawn = self.shown(text)
        self.assertTrue(any(re.fullmatch("running \\[[#.]{32}\\] +\\d+ %", d) for d in drawn), text)
        self.assertRegex(lines[0], "^fetch +type +values")
        self.assertFalse([line for line in lines if "running" in line], text)

    def test_stages(self):
        # A chain of operations that takes a while: names of stages are drawn, none of them is left.
        with open(self.path("chain.prog"), "w", encoding="utf-8") as file:
            file.write("program chain version=1\n\nblock main {\n  feed x : f32 [4]\n  v0 = relu(x) : f32 [4]\n")
            file.writelines("  v%d = relu(v%d) : f32 [4]\n" % (i + 1, i) for i in range(400000))
            file.write("  fetch v400000\n}\n")
        code, text = self.on_terminal("convert", "chain.prog", "-o", "o.ampc", "--no-sync")
        self.assertEqual(code, 0, text)
        lines, drawn = self.shown(text)
        self.assertRegex(lines[0], "^o.ampc: ")
        self.assertTrue(drawn, text)
        self.assertTrue(set(drawn) & {"loading", "verifying", "protect", "amp-decide", "infer-types", "fold-constants", "dedup", "drop-dead"}, drawn)

    def test_bench(self):
        code, text = self.on_terminal("bench", "small.onnx", *FEEDS, "--threads", "1", "--seconds", "1", "--ops", "0")
        self.assertEqual(code, 0, text)
        lines, drawn = self.shown(text)
        self.assertIn("batch 1: timing", drawn)
        self.assertEqual((lines[0][:5], lines[2]), ("level", ""), text)

    def test_nothing_for_what_is_quick(self):
        code, text = self.on_terminal("inspect", "small.onnx")
        self.assertEqual((code, "\r\x1b" in text), (0, False), text)


class OptionsTest(LimitsTest):
    def test_options_without_a_meaning(self):
        for args, part in (
                (["bench", "small.onnx", *FEEDS, "--batch", "8,16"], "--batch: found --input"),
                (["bench", "small.onnx", *FEEDS, "--dims", "nothing=3"], "--dims: found --input"),
                (["bench", "small.onnx", *FEEDS, "--level", "O2"], "--level: found a model in a file"),
                (["bench", "small.onnx", *FEEDS, "--dtype", "bf16"], "--dtype: found a model in a file"),
                (["bench", "small.onnx", *FEEDS, "--optimizer", "nonsense"], "--optimizer: found a model in a file"),
                (["bench", "small.onnx", *FEEDS, "--accumulate", "2"], "--accumulate: found a model in a file"),
                (["bench", "small.onnx", *FEEDS, "--profile", "t.txt"], "needed a name that ends in .json"),
                (["bench", "chain", "--input", "absent.npz"], "--input: found network 'chain'"),
                (["bench", "chain", "--dims", "x=1"], "--dims: found network 'chain'"),
                (["bench", "chain", "--params", "nowhere"], "--params: found network 'chain'"),
                (["bench", "simplenet", "--dtype", "bf16"], "--dtype: found only level O0"),
                (["bench", "simplenet", "--optimizer", "sgd"], "--optimizer: found no --train"),
                (["bench", "simplenet", "--accumulate", "2"], "--accumulate: found no --train"),
                (["bench", "simplenet", "--train", "--ops", "3"], "--ops: found --train"),
                (["bench", "simplenet", "--train", "--strict-rounding"], "--strict-rounding: found --train"),
                (["bench", "simplenet", "--train", "--no-in-place"], "--no-in-place: found --train"),
                (["run", "small.onnx", *FEEDS, "--profile", "t.txt"], "needed a name that ends in .json"),
                (["train", "simplenet", "--plot", "p.png"], "--plot: found 'p.png', needed a name that ends in .svg"),
                (["convert", "external.onnx", "-o", "y.onnx", "--params-output", "F"], "y.onnx: found 'F' for the weights, needed none"),
                (["convert", "encoder.pdmodel", "-o", "y.ampc", "--params-output", "F"], "y.ampc: found 'F' for the weights, needed none"),
                (["convert", "external.onnx", "-o", "y.onnx", "--params", "nowhere"], "external.onnx: found 'nowhere' for the weights, needed none"),
                (["run", "small.onnx", *FEEDS, "--params", "nowhere"], "small.onnx: found 'nowhere' for the weights, needed none")):
            with self.subTest(args=args):
                self.expect_failure(args, 2, part)

    def test_opt_as_json(self):
        def result(*args):
            outcome = self.ampc("opt", *args, "--json")
            self.assertEqual(outcome.code, 0, outcome)
            return json.loads(outcome.out)

        out = result("small.onnx", "--passes=dedup,drop-dead")
        self.assertEqual([step["pass"] for step in out["passes"]], ["dedup", "drop-dead"])
        self.assertIn("block main {", out["program"])
        out = result("small.onnx", "--passes=protect,amp-decide{level=O2}")
        self.assertIn({"low"}, [{d["precision"]} for d in out["decision"]])
        self.assertNotIn("program", out)
        out = result("small.onnx", "--passes=dedup", "-o", "o.onnx")
        self.assertEqual(out["output"], "o.onnx")
        names = [p["name"] for p in result("--list")["passes"]]
        self.assertIn("amp-decide", names)

    def complete(self, *words):
        script = ('. ./ampc.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ampc; printf "%s\\n" "${COMPREPLY[@]}"')
        outcome = process.run(["bash", "-c", script, "bash"] + list(words), self.folder)
        return outcome.out.split()

    def test_completion_of_networks_and_passes(self):
        with open(self.path("ampc.bash"), "w", encoding="utf-8") as file:
            file.write(self.ampc("completion", "bash").out)
        self.assertEqual(self.complete("ampc", "train", "l"), ["lenet", "lstm"])
        self.assertEqual(sorted(self.complete("ampc", "bench", "s")), ["simplenet", "small.onnx", "small_inputs_0.npz"])
        self.assertEqual(self.complete("ampc", "opt", "m.onnx", "--passes", "ded"), ["dedup"])
        self.assertEqual(self.complete("ampc", "opt", "m.onnx", "--passes", "dedup,drop-d"), ["dedup,drop-dead"])
        self.assertEqual(self.complete("ampc", "bench", "bert", "--level", "O0,"), ["O0,O0", "O0,O1", "O0,O2"])


class KillTest(LimitsTest):
    def test_training(self):
        if not os.path.exists("/usr/share/datasets/fashion-mnist"):
            self.skipTest("the data set is not installed (package dataset-fashion-mnist)")
        kills, _ = kill.kill_trainings(AMPC, 4, 7, steps=40, every=4)
        self.assertEqual(kills, 4)


if __name__ == "__main__":
    AMPC = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
