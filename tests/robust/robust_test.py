"""The command line where the world around it is not as it should be: full and read-only disks, closed pipes, outputs that are inputs,
kill -9, damaged models. One sentence, the right exit code, nothing lost, nothing left behind.

Arguments: the path of ampc. Runs in a mount namespace of its own where the system allows that, so that anybody can make small and
read-only file systems; tests that need one are skipped where it does not. kill.py and corrupt.py are long; here is a part of them.
"""

import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import corrupt  # noqa: E402
import kill  # noqa: E402
import process  # noqa: E402

AMPC = ""
FASHION = "/usr/share/datasets/fashion-mnist"
_INSIDE = "AMPC_TEST_OWN_MOUNTS"


def enter_namespace():
    """Starts this program again in a user and mount namespace; returns where that is not allowed."""
    if _INSIDE in os.environ or subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        return
    os.environ[_INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-rm", sys.executable] + sys.argv)


class RobustTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        for name in ("encoder.pdmodel", "encoder.pdiparams"):
            shutil.copy(kill.small("models/" + name), self.path(name.replace("encoder", "in")))
        for name in ("external.onnx", "external.data", "small.onnx", "small_inputs_0.npz"):
            shutil.copy(kill.small("onnx/" + name), self.path(name))

    def path(self, name):
        return os.path.join(self.folder, name)

    def ampc(self, *args, **options):
        return process.run([AMPC] + list(args), options.pop("cwd", self.folder), **options)

    def files(self, folder=None):
        """The content of every file, and None for every folder."""
        folder = folder or self.folder
        found = {}
        for where, folders, names in os.walk(folder):
            found.update((os.path.relpath(os.path.join(where, name), folder), None) for name in folders)
            for name in names:
                path = os.path.join(where, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
        return found

    def expect_failure(self, args, codes, part="", folder=None, **options):
        """One sentence with `part` in it, one of the exit codes, and the folder as it was."""
        before = self.files(folder)
        outcome = self.ampc(*args, **options)
        self.assertIn(outcome.code, codes, (args, outcome))
        self.assertTrue(outcome.one_sentence(), (args, outcome))
        self.assertIn(part, outcome.err, args)
        after = self.files(folder)
        self.assertEqual(sorted(before), sorted(after), (args, outcome))
        self.assertTrue(before == after, (args, "a file was changed"))
        return outcome


# Every verb that writes files: arguments, with OUT for the folder to write to.
WRITING = [
    ["convert", "in.pdmodel", "-o", "OUT/o.pdmodel"],
    ["convert", "in.pdmodel", "-o", "OUT/o.pdmodel", "--no-sync"],
    ["convert", "in.pdmodel", "-o", "OUT/o.ampc"],
    ["convert", "in.pdmodel", "-o", "OUT/o.prog"],
    ["convert", "external.onnx", "-o", "OUT/o.onnx"],
    ["convert", "small.onnx", "-o", "OUT/o.onnx"],
    ["opt", "in.pdmodel", "--passes=dedup", "-o", "OUT/o.pdmodel"],
    ["strip", "in.pdmodel", "-o", "OUT/o.pdmodel"],
    ["run", "small.onnx", "--input", "small_inputs_0.npz", "-o", "OUT/o.npz"],
    ["run", "small.onnx", "--input", "small_inputs_0.npz", "--profile", "OUT/trace.json"],
    ["dot", "in.pdmodel", "-o", "OUT/o.dot"],
    ["bench", "small.onnx", "--seconds", "0", "--profile", "OUT/trace.json"],
    # One of several outputs cannot be written: the others, which can, are not there either.
    ["convert", "in.pdmodel", "-o", "new.pdmodel", "--report", "OUT/o.html"],
    ["convert", "in.pdmodel", "-o", "new.pdmodel", "--report", "OUT/o.json", "--write-config", "new.json"],
    ["convert", "in.pdmodel", "-o", "new.pdmodel", "--write-config", "OUT/o.json", "--report", "new.html"],
    ["convert", "small.onnx", "-o", "new.onnx", "--calibrate", "small_inputs_0.npz", "--save-ranges", "OUT/o.json"],
    ["convert", "small.onnx", "-o", "OUT/o.onnx", "--calibrate", "small_inputs_0.npz", "--save-ranges", "new.json", "--report", "new.html"],
    ["convert", "in.pdmodel", "-o", "new.pdmodel", "--params-output", "OUT/o.pdiparams"],
    ["convert", "in.pdmodel", "-o", "OUT/o.pdmodel", "--params-output", "new.pdiparams"],
    ["convert", "in.pdmodel", "-o", "OUT/folder/"],
    ["run", "small.onnx", "--input", "small_inputs_0.npz", "-o", "new.npz", "--profile", "OUT/trace.json"],
    ["run", "small.onnx", "--input", "small_inputs_0.npz", "-o", "OUT/o.npz", "--profile", "new.json"],
] + ([["dot", "in.pdmodel", "-o", "OUT/o.svg"]] if shutil.which("dot") else [])


class DiskTest(RobustTest):
    def mount(self, size, *options):
        if _INSIDE not in os.environ:
            self.skipTest("this system does not allow mount namespaces (unshare -rm)")
        where = self.path("disk")
        os.makedirs(where, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "tmpfs", where], check=True)
        self.addCleanup(subprocess.run, ["umount", where], check=True)
        return where

    def fill(self, where):
        """Takes what is left of the disk; returns the file that has it."""
        filler = os.path.join(where, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        return filler

    def outputs(self, args, where):
        return [a.replace("OUT", where) for a in args]

    def test_full_disk(self):
        # Nearly full with old files under the names of the new ones.
        where = self.mount(64 << 10)
        names = "o.pdmodel o.pdiparams o.ampc o.safetensors o.prog o.onnx o.onnx.data o.npz o.json o.html trace.json o.dot o.svg"
        for name in names.split():
            with open(os.path.join(where, name), "wb") as file:
                file.write(b"old")
        filler = self.fill(where)
        for args in WRITING:
            with self.subTest(args=args):
                self.expect_failure(self.outputs(args, where), [5], "No space left on device")
        os.remove(filler)
        self.assertEqual(self.ampc("convert", "small.onnx", "-o", where + "/o.onnx").code, 0)

    def test_disk_that_becomes_full(self):
        # The program fits, the weights do not; and the other way round with what is written last.
        for size in (16 << 10, 40 << 10, 100 << 10, 220 << 10, 236 << 10, 248 << 10):
            where = self.mount(size)
            with self.subTest(size=size):
                args = ["convert", "in.pdmodel", "-o", where + "/o.pdmodel", "--level", "O0"]
                self.expect_failure(args, [5], "No space left on device", folder=where)

    def test_checkpoints_on_a_full_disk(self):
        where = self.mount(450 << 10)
        train = ["train", "guarded", "--no-test", "--threads", "1", "--batch", "16", "--checkpoint", where + "/saved"]
        if not os.path.exists(FASHION):
            self.skipTest("the data set is not installed (package dataset-fashion-mnist)")
        self.assertEqual(self.ampc(*train, "--steps", "4", "--checkpoint-every", "2").code, 0)
        before = self.files(where)
        filler = self.fill(where)
        failed = self.ampc(*train, "--steps", "6", "--resume")
        self.assertEqual(failed.code, 5, failed)
        self.assertIn("No space left on device", failed.err)
        os.remove(filler)
        self.assertEqual(self.files(where), before)
        self.assertEqual(self.ampc(*train, "--steps", "6", "--resume").code, 0)

    def test_a_picture_on_a_full_disk(self):
        # The trained model is worth more than its picture.
        if not os.path.exists(FASHION):
            self.skipTest("the data set is not installed (package dataset-fashion-mnist)")
        where = self.mount(64 << 10)
        self.fill(where)
        before = self.files()
        failed = self.ampc("train", "guarded", "--steps", "1", "--no-test", "--plot", where + "/n.svg", "-o", "net.pdmodel")
        self.assertEqual((failed.code, "No space left on device" in failed.err, "n.svg" in failed.err), (5, True, True), failed)
        self.assertEqual(set(self.files()) - set(before), {"net.pdmodel", "net.pdiparams"})
        self.assertEqual(self.ampc("verify", "net.pdmodel").code, 0)

    def test_read_only_disk(self):
        where = self.mount(1 << 20)
        shutil.copy(self.path("in.pdmodel"), where)
        shutil.copy(self.path("in.pdiparams"), where)
        subprocess.run(["mount", "-o", "remount,ro", where], check=True)
        for args in WRITING:
            with self.subTest(args=args):
                self.expect_failure(self.outputs(args, where), [5], "Read-only file system")
        # Reading does not write.
        self.assertEqual(self.ampc("convert", where + "/in.pdmodel", "-o", "o.pdmodel").code, 0)
        if os.path.exists(FASHION):
            args = ["train", "guarded", "--steps", "1", "--no-test", "--checkpoint", where + "/saved"]
            self.expect_failure(args, [5], "Read-only", folder=where)

    def test_limit_on_the_size_of_files(self):
        limits = [(resource.RLIMIT_FSIZE, 200)]
        for args in WRITING:
            with self.subTest(args=args):
                self.expect_failure(self.outputs(args, "."), [5], "File too large", limits=limits)


class PipeTest(RobustTest):
    PRINTING = [
        ["inspect", "in.pdmodel"],
        ["inspect", "in.pdmodel", "--json"],
        ["verify", "in.pdmodel"],
        ["convert", "in.pdmodel", "-o", "o.pdmodel", "--no-sync"],
        ["convert", "in.pdmodel", "-o", "o.pdmodel", "--no-sync", "--json"],
        ["opt", "in.pdmodel", "--passes=dedup"],
        ["opt", "--list"],
        ["strip", "in.pdmodel", "-o", "s.pdmodel"],
        ["run", "small.onnx", "--input", "small_inputs_0.npz"],
        ["compare", "small.onnx", "small.onnx", "--input", "small_inputs_0.npz"],
        ["bench", "small.onnx", "--seconds", "0.1"],
        ["--help"],
        ["convert", "--help"],
        ["--version"],
    ]

    def expect_sentence(self, stdout, unread):
        """`unread`: nobody reads, so that a command which has saved its files has done all that was asked for."""
        for args in self.PRINTING:
            with self.subTest(args=args):
                outcome = self.ampc(*args, stdout=stdout)
                quiet = process.run([AMPC] + args, self.folder).out == ""
                if quiet or (unread and "-o" in args):
                    self.assertEqual(outcome.code, 0, (args, outcome))
                else:
                    self.assertEqual((outcome.code, outcome.one_sentence()), (5, True), (args, outcome))
        # The checkpoint that was to be saved is saved.
        self.assertEqual(process.run([AMPC, "verify", "o.pdmodel"], self.folder).code, 0)

    def test_closed_pipe(self):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            self.expect_sentence(pipe, True)

    def test_full_device(self):
        with open("/dev/full", "wb") as full:
            self.expect_sentence(full, False)

    def test_no_streams(self):
        # Without standard streams no file gets one of their numbers, and text in it.
        script = '"$0" convert in.pdmodel -o o.pdmodel --no-sync <&- >&- 2>&-; echo $?'
        done = subprocess.run(["sh", "-c", script, AMPC], cwd=self.folder, capture_output=True, check=True)
        self.assertEqual(done.stdout, b"0\n")
        self.assertEqual(process.run([AMPC, "convert", "in.pdmodel", "-o", "p.pdmodel"], self.folder).code, 0)
        files = self.files()
        self.assertEqual(files["o.pdmodel"], files["p.pdmodel"])
        self.assertEqual(files["o.pdiparams"], files["p.pdiparams"])

    def test_training_goes_on_without_a_reader(self):
        if not os.path.exists(FASHION):
            self.skipTest("the data set is not installed (package dataset-fashion-mnist)")
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            outcome = self.ampc("train", "guarded", "--steps", "2", "--no-test", "--log-every", "1", "-o", "net.pdmodel", stdout=pipe)
        self.assertEqual((outcome.code, outcome.err), (0, ""), outcome)
        self.assertEqual(self.ampc("verify", "net.pdmodel").code, 0)

    def test_outputs_that_are_pipes(self):
        # Nobody reads: one sentence at once. Somebody does: the file, as a stream.
        feeds = ["--input", "small_inputs_0.npz"]
        for args, name in ((["run", "small.onnx", *feeds], "o.npz"), (["convert", "small.onnx"], "o.onnx"), (["dot", "small.onnx"], "o.dot"),
                           (["convert", "small.onnx", "-o", "n.onnx"], "r.json")):
            with self.subTest(args=args):
                option = "--report" if name == "r.json" else "-o"
                os.mkfifo(self.path(name))
                outcome = self.ampc(*args, option, name, seconds=20)
                self.assertEqual((outcome.code, outcome.one_sentence()), (5, True), outcome)
                self.assertIn("no process reads this pipe", outcome.err)
                with subprocess.Popen(["cat", self.path(name)], stdout=subprocess.PIPE) as reader:
                    time.sleep(0.05)
                    outcome = self.ampc(*args, option, name, seconds=20)
                    streamed = reader.stdout.read()
                self.assertEqual(outcome.code, 0, outcome)
                os.remove(self.path(name))
                if option == "-o":
                    self.assertEqual(self.ampc(*args, option, name).code, 0)
                    with open(self.path(name), "rb") as file:
                        self.assertEqual(streamed, file.read())


class NamesTest(RobustTest):
    """Names are whatever a file says; a terminal and a reader of pictures meet them, too."""

    NAME = "y\x1b]0;own\x07\r\n\x9b31m\x7f"

    def setUp(self):
        super().setUp()
        text = "program p version=1\n\nblock main {\n  feed x : f32 [2]\n  %s = relu(x) : f32 [2]\n  fetch %s\n}\n"
        name = '"' + "".join(c if c.isalpha() else "".join("\\x%02x" % b for b in c.encode()) for c in self.NAME) + '"'
        with open(self.path("odd.prog"), "w", encoding="utf-8") as file:
            file.write(text % (name, name))
        with open(self.path("bytes.prog"), "w", encoding="utf-8") as file:
            file.write(text % ('"\\xff\\xfe\\x01<&\\xef\\xbf\\xbf"', '"\\xff\\xfe\\x01<&\\xef\\xbf\\xbf"'))
        with zipfile.ZipFile(self.path("x.npz"), "w") as archive:
            header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
            archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<2f", 1, -1))

    def test_terminal(self):
        feeds = ["--input", "x.npz"]
        for args in (["inspect", "odd.prog"], ["inspect", "odd.prog", "--json"], ["inspect", "odd.prog", "--text"], ["run", "odd.prog", *feeds],
                     ["run", "odd.prog", *feeds, "--json"], ["run", "odd.prog", *feeds, "--verbose"], ["compare", "odd.prog", "odd.prog", *feeds, "--all"],
                     ["compare", "odd.prog", "odd.prog", *feeds, "--json"], ["convert", "odd.prog", "-o", "o.prog", "--include", "relu"],
                     ["convert", "odd.prog", "-o", "o.prog", "--exclude", "name:\x1b[0m"], ["opt", "odd.prog", "--passes=drop-dead"],
                     ["verify", "odd.prog"], ["bench", "odd.prog", "--seconds", "0"]):
            with self.subTest(args=args):
                outcome = self.ampc(*args)
                for text in (outcome.out, outcome.err):
                    controls = [c for c in text if c not in "\n\t" and (ord(c) < 32 or 127 <= ord(c) < 160)]
                    self.assertEqual(controls, [], (args, outcome))
        self.assertIn("y\\x1b]0;own\\x07\\x0d\\x0a\\x9b31m\\x7f : f32 [2]\n", self.ampc("inspect", "odd.prog").out)

    def test_pictures(self):
        for model in ("odd.prog", "bytes.prog"):
            for name in ["g.dot"] + (["g.svg"] if shutil.which("dot") else []) + ["r.html", "r.json"]:
                with self.subTest(model=model, name=name):
                    args = ["dot", model, "-o", name] if name[0] == "g" else ["convert", model, "-o", "o.prog", "--report", name]
                    self.assertEqual(self.ampc(*args).code, 0)
                    with open(self.path(name), "rb") as file:
                        text = file.read().decode("utf-8")
                    self.assertEqual([c for c in text if c not in "\n\t" and (ord(c) < 32 or 127 <= ord(c) < 160)], [])
                    if name.endswith(".svg"):
                        xml.dom.minidom.parseString(text)


class SameFileTest(RobustTest):
    def test_output_is_input(self):
        os.symlink("in.pdmodel", self.path("link.pdmodel"))
        os.link(self.path("in.pdiparams"), self.path("hard.pdiparams"))
        os.makedirs(self.path("sub"))
        os.symlink("..", self.path("sub/up"))
        self.assertEqual(self.ampc("convert", "in.pdmodel", "-o", "in.prog", "--level", "O0").code, 0)
        feeds = ["--input", "small_inputs_0.npz"]
        for args in (
                ["convert", "in.pdmodel", "-o", "in.pdmodel"], ["convert", "in.pdmodel", "-o", "./in.pdmodel"],
                ["convert", "in.pdmodel", "-o", "sub/up/in.pdmodel"], ["convert", "in.pdmodel", "-o", self.path("in.pdmodel")],
                ["convert", "in.pdmodel", "-o", "link.pdmodel"],
                ["convert", "link.pdmodel", "-o", "in.pdmodel", "--params", "in.pdiparams"],
                ["convert", "in.pdmodel", "-o", "hard.pdmodel"], ["convert", "in.pdmodel", "-o", "o.pdmodel", "--write-config", "in.pdmodel"],
                ["convert", "in.pdmodel", "-o", "o.pdmodel", "--write-config", "o.pdmodel"],
                ["convert", "in.pdmodel", "-o", "o.pdmodel", "--write-config", "in.pdiparams"],
                ["convert", "in.prog", "-o", "in.prog"], ["convert", "in.prog", "-o", "in.ampc"],
                ["convert", "external.onnx", "-o", "external.onnx"], ["convert", "small.onnx", "-o", "small.onnx"],
                ["opt", "in.pdmodel", "--passes=dedup", "-o", "in.pdmodel"], ["strip", "in.pdmodel", "-o", "in.pdmodel"],
                ["strip", "in.pdmodel", "-o", "link.pdmodel"], ["dot", "in.dot", "-o", "in.dot"],
                ["run", "small.onnx", *feeds, "-o", "small_inputs_0.npz"], ["run", "small.onnx", *feeds, "--profile", "small.onnx"],
                ["run", "small.onnx", *feeds, "-o", "o.npz", "--profile", "o.npz"]):
            with self.subTest(args=args):
                self.expect_failure(args, [2])

    def test_output_is_what_the_model_reads(self):
        # The names are the model's choice: no rule says them.
        with open(self.path("external.onnx"), "rb") as file:
            model = file.read()
        for name, to in (("xte.onnx.data", "data.onnx"), ("exte.ampc.npz", "npz.onnx"), ("exte.test.dot", "dot.onnx")):
            with open(self.path(to), "wb") as file:
                file.write(model.replace(b"external.data", name.encode()))
            shutil.copy(self.path("external.data"), self.path(name))
        self.assertEqual(self.ampc("convert", "in.pdmodel", "-o", "md/", "--level", "O0").code, 0)
        os.makedirs(self.path("sd"))
        self.assertEqual(self.ampc("convert", "in.pdmodel", "-o", "sd/__model__", "--params-output", "sd", "--level", "O0").code, 0)
        feeds = ["--input", "small_inputs_0.npz"]
        for args in (
                ["convert", "data.onnx", "-o", "xte.onnx"], ["convert", "in.pdmodel", "-o", "in.onnx", "--write-config", "in.onnx.data"],
                ["opt", "data.onnx", "--passes=dedup", "-o", "xte.onnx"], ["strip", "data.onnx", "-o", "xte.onnx"],
                ["strip", "external.onnx", "-o", "xte.onnx", "--weights", "data.onnx"],
                ["convert", "external.onnx", "-o", "f.onnx", "--write-config", "external.data"],
                ["dot", "dot.onnx", "-o", "exte.test.dot"],
                ["convert", "sd", "-o", "x.pdmodel", "--write-config", "sd/embedding_0.w_0", "--program-only"],
                ["opt", "external.onnx", "--passes=dedup", "-o", "f.onnx", "--reproducer", "external.data"],
                ["bench", "external.onnx", "--seconds", "0", "--profile", "external.data"],
                ["run", "external.onnx", *feeds, "--profile", "external.data"],
                ["run", "npz.onnx", *feeds, "-o", "exte.ampc.npz"],
                ["convert", "md", "-o", "x.pdmodel", "--params-output", "md/inference.pdmodel"],
                ["convert", "md", "-o", "x.pdmodel", "--write-config", "md/inference.pdiparams"],
                ["bench", "md", "--seconds", "0", "--profile", "md/inference.pdmodel"],
                ["convert", "sd", "-o", "x.pdmodel", "--params-output", "sd/embedding_0.w_0"],
                ["bench", "sd", "--seconds", "0", "--profile", "sd/embedding_0.w_0"]):
            with self.subTest(args=args):
                self.expect_failure(args, [2])

    def test_two_outputs_are_one_file(self):
        os.makedirs(self.path("o"))
        os.makedirs(self.path("n"))
        for args in (
                ["convert", "in.pdmodel", "-o", "o.pdmodel", "--write-config", "o.pdiparams"],
                ["convert", "in.pdmodel", "-o", "o.pdmodel", "--write-config", "./o.pdiparams"],
                ["convert", "external.onnx", "-o", "e.onnx", "--write-config", "e.onnx.data"],
                ["convert", "small.onnx", "-o", "o.onnx", "--calibrate", "small_inputs_0.npz", "--save-ranges", "o.onnx"],
                ["convert", "in.pdmodel", "-o", "o.ampc", "--write-config", "o.safetensors"],
                ["convert", "in.pdmodel", "-o", "o/", "--write-config", "o/inference.pdiparams"],
                ["convert", "in.pdmodel", "-o", "__model__", "--params-output", ".", "--write-config", "embedding_0.w_0"],
                ["opt", "in.pdmodel", "--passes=dedup", "-o", "o.pdmodel", "--reproducer", "o.pdiparams"],
                ["train", "guarded", "--steps", "1", "--no-test", "-o", "n.pdmodel", "--plot", "n.pdiparams"],
                ["train", "guarded", "--steps", "1", "--no-test", "-o", "n.ampc", "--plot", "n.safetensors"],
                ["train", "guarded", "--steps", "1", "--no-test", "-o", "n/", "--plot", "n/inference.pdmodel"]):
            with self.subTest(args=args):
                self.expect_failure(args, [2])

    def test_files_that_are_nobodys_business(self):
        # A temporary name that somebody uses for a file of his own.
        for name in ("g.svg.dot.tmp", "g.svg.tmp", "g.dot"):
            with open(self.path(name), "wb") as file:
                file.write(b"mine")
        before = self.files()
        if not shutil.which("dot"):
            self.skipTest("Graphviz is not installed")
        done = self.ampc("dot", "in.pdmodel", "-o", "g.svg")
        self.assertEqual(done.code, 0, done)
        after = self.files()
        self.assertIn(b"<svg", after.pop("g.svg"))
        self.assertEqual(before, after)

    def test_training_finds_out_before_that_it_cannot_save(self):
        with open(self.path("net.prog"), "w", encoding="utf-8") as file:
            file.write("mine")
        train = ["train", "guarded", "--steps", "100000000", "--no-test"]
        for args, code, part in ((["-o", "n.xyz"], 2, "n.xyz"), (["-o", "n.onnx"], 4, "has no form in an ONNX model"),
                                 (["--checkpoint", "net.prog"], 5, "net.prog"), (["--checkpoint", "net.prog/saved"], 5, "net.prog")):
            with self.subTest(args=args):
                self.expect_failure(train + args, [code], part, seconds=30)


class KillTest(RobustTest):
    def test_converts(self):
        for name, (model, to, read) in kill.converts().items():
            with self.subTest(name=name):
                kill.kill_converts(AMPC, model, to, read, 12, 7)

    def test_signals_while_files_are_written(self):
        # Whenever it comes: no temporary file, the old files or the new ones, and the end that a shell expects.
        rng = random.Random(3)
        args = [AMPC, "convert", "in.pdmodel", "-o", "o.pdmodel", "--dtype"]
        versions, seconds = [], 0.0
        for dtype in ("fp16", "bf16"):
            seconds = max(seconds, process.run(args + [dtype], self.folder).seconds)
            versions.append(self.files())
        ended = 0
        for round_ in range(24):
            number = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[round_ % 3]
            start = time.monotonic()
            after = seconds * rng.random()
            late = round_ % 2 == 0  # once something has a name, else at any time
            when = lambda: any(n.startswith(".ampc-") for n in os.listdir(self.folder)) if late else time.monotonic() - start > after  # noqa: E731
            ended += process.run_and_kill(args + [rng.choice(["fp16", "bf16"])], self.folder, when, number)
            self.assertIn(self.files(), versions)
        self.assertGreater(ended, 6)

    def test_interrupted_by_the_user(self):
        # Ctrl-C and a polite request to end leave nothing either.
        before = self.files()
        for number in (signal.SIGINT, signal.SIGTERM):
            args = [AMPC, "run", "small.onnx", "--input", "small_inputs_0.npz", "--repeat", "1000000", "-o", "o.npz"]
            with subprocess.Popen(args, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
                try:
                    running.wait(0.3)
                except subprocess.TimeoutExpired:
                    running.send_signal(number)
                self.assertEqual(running.wait(), -number)
            self.assertEqual(self.files(), before)


class CorruptTest(RobustTest):
    def test_marks_that_contradict_each_other(self):
        # A fetched parameter is said to have been retyped, which no conversion does.
        with open(self.path("marked.prog"), "w", encoding="utf-8") as file:
            file.write("program p version=1\n\nblock main {\n  feed x : f16 [2]\n  param w : f16 [2] !was=f32 = [1, 2]\n"
                       "  w <- elementwise_add(w, x)\n  fetch w\n}\n")
        self.expect_failure(["convert", "marked.prog", "-o", "o.prog"], [3], "marked.prog: was converted before")
        self.expect_failure(["convert", "marked.prog", "-o", "o.prog", "--level", "O1"], [3], "marked.prog: was converted before")
        self.expect_failure(["strip", "marked.prog", "-o", "o.prog"], [3], "marked.prog: was converted before")

    def check(self, models, count):
        problems = []

        def report(case, command, outcome, wrong):
            if wrong is not None:
                problems.append((case.index, case.model.name, case.what, command[1], wrong, outcome.err))

        counts, _ = corrupt.run_cases(models, range(count), 1, AMPC, report)
        self.assertEqual(problems, [])
        self.assertGreater(sum(n for (_, code), n in counts.items() if code == 3), count // 4)

    def test_small_models(self):
        self.check(corrupt.small_models(), 150)

    def test_real_models(self):
        models = corrupt.real_models(os.environ.get("AMPC_MODELS", ""))
        if not models:
            self.skipTest("no real models; tools/fetch_models.py FOLDER gets them, --test_env=AMPC_MODELS=FOLDER names the folder")
        self.check(models, 50)


if __name__ == "__main__":
    enter_namespace()
    AMPC = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
