"""Runs the models of hostile.case, each under 2 GB of addresses and 10 seconds: the exit code that the case names, and one readable line on failure.

Argument: the path of ampc.
"""

import os
import re
import resource
import shutil
import struct
import sys
import tempfile
import unittest
import zipfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)

import process  # noqa: E402

AMPC = ""
LIMITS = [(resource.RLIMIT_AS, 2 << 30)]
TYPES = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "i32": ("<i4", "i"), "i64": ("<i8", "q"), "bool": ("|b1", "?")}
ATTRIBUTE = re.compile(r"(?<=\w=)-?\d+|(?<=\w=)\[[-\d, ]+\]")
FEED = re.compile(r"^(feed (\w+) : (\w+) \[(.*)\]) = (.*)$")


def npy(dtype, dims, text):
    """The bytes of a .npy file of these values: a list, or one number for all elements."""
    kind, code = TYPES[dtype]
    count = 1
    for dim in dims:
        count *= dim
    number = float if code in "fd" else int
    numbers = [number(n) for n in text.strip("[]").split(",") if n.strip()]
    values = numbers if text.startswith("[") else numbers * count
    assert len(values) == count, (dims, text)
    header = repr({"descr": kind, "fortran_order": False, "shape": tuple(dims)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<%d%s" % (count, code), *values)


def longs(attribute):
    """The text of an integer attribute with the mark of 64 bits on each number where one needs them."""
    numbers = re.findall(r"-?\d+", attribute.group())
    if all(-(1 << 31) <= int(n) < 1 << 31 for n in numbers):
        return attribute.group()
    return re.sub(r"-?\d+", lambda n: n.group() + "l", attribute.group())


def cases():
    """Of each case: title, exit codes, program, feeds as (name, .npy), and what the sentence says."""
    with open(os.path.join(HERE, "hostile.case"), encoding="utf-8") as text:
        parts = re.split(r"^=== ", text.read(), flags=re.M)[1:]
    for part in parts:
        title, _, rest = part.partition("\n")
        title, _, codes = title.rpartition(": exit ")
        body, _, says = rest.partition("--- says\n")
        program, feeds = [], []
        for line in body.strip().split("\n"):
            feed = FEED.match(line)
            if feed:
                dims = [int(d) for d in feed.group(4).split(",") if d.strip()]
                feeds.append((feed.group(2), npy(feed.group(3), dims, feed.group(5))))
                line = feed.group(1)
            program.append(line if line.startswith("const") else ATTRIBUTE.sub(longs, line))
        before, _, after = program[-1].partition(" -> ")
        program.append("fetch " + (re.search(r"=\[?(\w+)", after) or re.match(r"(\w+)", before)).group(1))
        yield title, [int(c) for c in codes.split(" or ")], "\n".join(program) + "\n", feeds, says.strip()


class HostileTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)

    def run_ampc(self, *args, limits=LIMITS):
        return process.run([AMPC] + list(args), self.folder, seconds=10, limits=limits)

    def test_cases(self):
        for title, codes, program, feeds, says in cases():
            with self.subTest(title):
                with open(os.path.join(self.folder, "m.prog"), "w", encoding="utf-8") as out:
                    out.write("program hostile version=1\n\nblock main {\n%s}\n" % program)
                with zipfile.ZipFile(os.path.join(self.folder, "in.npz"), "w") as out:
                    for name, data in feeds:
                        out.writestr(name + ".npy", data)
                outcome = self.run_ampc("run", "m.prog", "--input", "in.npz", "--threads", "1")
                self.assertIn(outcome.code, codes, outcome)
                if outcome.code != 0:
                    self.assertTrue(outcome.one_sentence(), outcome)
                    self.assertIn(says, outcome.err)

    def test_bench_without_memory_for_its_feeds(self):
        for args in (["resnet50", "--batch", "1000000"], ["simplenet", "--batch", "1000000"]):
            with self.subTest(args=args):
                outcome = self.run_ampc("bench", *args, "--seconds", "0", limits=[(resource.RLIMIT_AS, 6 << 30)])
                self.assertEqual(outcome.code, 5, outcome)
                self.assertTrue(outcome.one_sentence(), outcome)


if __name__ == "__main__":
    AMPC = os.path.abspath(sys.argv.pop(1))
    unittest.main()
