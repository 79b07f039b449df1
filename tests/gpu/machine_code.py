#!/usr/bin/env python3
"""Whether the machine code of all kernels is what it should be: no memory of a thread's own but where RULES say why, wide accesses, resources.

usage: machine_code.py CUOBJDUMP LIBRARY RULES

Each kernel of each architecture in LIBRARY: registers times threads fit a multiprocessor, its static shared memory leaves what a launch may ask
for beside it, and its local memory (stack and spilled registers) is at most what the first rule that matches its name allows:
  local BYTES REGEX        # reason; a kernel that no rule matches has none
  hot REGEX                none, whatever other rules say, and no instruction that reads or writes any
  wide REGEX               loads and stores of 16 bytes at once; `wide load`, `wide store`: these only
REGEX is searched in the demangled name without the namespaces. A rule that matches no kernel is an error, too. Prints each breach; exit code 1 then.
"""
import collections
import re
import struct
import subprocess
import sys
import tempfile
import pathlib

REGISTERS = 65536  # of a multiprocessor, and of a block
STATIC_SHARED = 1024  # kernels/cuda/launch/team_memory.h: the rest of 48 KB is for launches
RESERVED_SHARED = 1024  # by the system, in what a cubin for 9.0 says of a kernel
STATIC_SHARED_OF_CUB = 48 << 10  # its launches ask for none beside it
LOAD_GLOBAL, STORE_GLOBAL, LOCAL = (0x381, 0x981), (0x386, 0x986), (0x383, 0x983, 0x387, 0x987)  # the lowest 12 bits of an instruction
WIDTH_16 = 6  # bits 73 to 75 of an access
REGCOUNT, FRAME_SIZE, MAX_THREADS = 0x2F, 0x11, 0x05  # attributes of .nv.info


class Kernel:
    def __init__(self, arch, name):
        self.arch, self.name = arch, name
        self.registers = self.local = self.shared = self.threads = 0
        self.counts = collections.Counter()


def sections(data):
    start, count, names = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + 64 * i) for i in range(count)]
    strings = headers[names][4]
    for name, kind, _, _, offset, size, link, _, _, _ in headers:
        end = data.index(b"\0", strings + name)
        yield data[strings + name : end].decode(), kind, offset, size, link


def attributes(data, offset, size):
    """(attribute, bytes) of a section .nv.info."""
    at = offset
    while at < offset + size:
        form, attribute, length = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == 4:
            yield attribute, data[at : at + length]
            at += length


def symbols(data, found):
    table = next(s for s in found if s[1] == 2)
    strings = found[table[4]][2]
    for i in range(table[3] // 24):
        name = strings + struct.unpack_from("<I", data, table[2] + 24 * i)[0]
        yield data[name : data.index(b"\0", name)].decode()


def kernels(arch, data):
    found = list(sections(data))
    names = list(symbols(data, found))
    of = {name[len(".text.") :]: Kernel(arch, name[len(".text.") :]) for name, *_ in found if name.startswith(".text.")}
    for name, kind, offset, size, _ in found:
        if name == ".nv.info":
            for attribute, value in attributes(data, offset, size):
                if attribute in (REGCOUNT, FRAME_SIZE):
                    symbol, number = struct.unpack("<II", value)
                    if names[symbol] in of:
                        setattr(of[names[symbol]], "registers" if attribute == REGCOUNT else "local", number)
        elif name.startswith(".nv.info."):
            for attribute, value in attributes(data, offset, size):
                if attribute == MAX_THREADS:
                    x, y, z = struct.unpack("<III", value)
                    of[name[len(".nv.info.") :]].threads = x * y * z
        elif name.startswith(".nv.shared.") and name[len(".nv.shared.") :] in of:
            of[name[len(".nv.shared.") :]].shared = size - (RESERVED_SHARED if int(arch) >= 90 else 0)
        elif name.startswith(".text."):
            count(data[offset : offset + size], of[name[len(".text.") :]].counts)
    return of.values()


def count(code, counts):
    for low, high in struct.iter_unpack("<QQ", code[: len(code) // 16 * 16]):
        operation = low & 0xFFF
        if operation in LOCAL:
            counts["local"] += 1
        elif high >> 9 & 7 == WIDTH_16:
            counts["load"] += operation in LOAD_GLOBAL
            counts["store"] += operation in STORE_GLOBAL


def demangle(all_kernels):
    names = "\n".join(kernel.name for kernel in all_kernels)
    plain = subprocess.run(["c++filt"], input=names, capture_output=True, text=True, check=True).stdout.split("\n")
    for kernel, name in zip(all_kernels, plain):
        name = re.sub(r"\(anonymous namespace\)::|ampc::cuda::|ampc::", "", name)
        kernel.name = re.sub(r"^void ", "", name).split(">(long")[0]


def read(cuobjdump, library):
    tool, code = pathlib.Path(cuobjdump).absolute(), pathlib.Path(library).absolute()
    if tool.stat().st_size == 0:
        sys.exit("machine_code.py: found no cuobjdump, needed what 'tools/setup.sh --cuda' fetches, before Bazel's server starts")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([tool, "-xelf", "all", code], cwd=folder, check=True, capture_output=True)
        found = []
        for path in sorted(pathlib.Path(folder).iterdir()):
            found += kernels(re.search(r"sm_(\d+)", path.name)[1], path.read_bytes())
    demangle(found)
    return found


def rules(path):
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.split("  #")[0].split()
        if words and not line.startswith("#"):
            number = int(words[1]) if words[0] == "local" else 0
            which = ["load", "store"]
            if words[0] == "wide" and words[1] in which:
                which = [words.pop(1)]
            pattern = " ".join(words[2 if words[0] == "local" else 1 :])
            yield words[0], number, which, re.compile(pattern)


def breaches(kernel, matching):
    """The fault of a kernel; `matching`: the rules whose pattern its name has."""
    allowed = next((number for kind, number, _, _ in matching if kind == "local"), 0)
    if any(kind == "hot" for kind, *_ in matching):
        allowed = 0
        if kernel.counts["local"]:
            yield f"{kernel.counts['local']} instructions read or write local memory"
    if kernel.local > allowed:
        yield f"{kernel.local} bytes of local memory, allowed {allowed}"
    for kind, _, which, _ in matching:
        if kind == "wide":
            yield from (f"no {access} of 16 bytes" for access in which if not kernel.counts[access])
    if -(-kernel.registers // 8) * 8 * kernel.threads > REGISTERS:
        yield f"{kernel.registers} registers times {kernel.threads} threads"
    if kernel.shared > (STATIC_SHARED_OF_CUB if "cub::" in kernel.name else STATIC_SHARED):
        yield f"{kernel.shared} bytes of static shared memory"


def main(argv):
    if len(argv) != 4:
        print("usage: machine_code.py CUOBJDUMP LIBRARY RULES", file=sys.stderr)
        return 2
    found, wanted, used, bad = read(argv[1], argv[2]), list(rules(argv[3])), set(), 0
    for kernel in found:
        matching = [rule for rule in wanted if rule[3].search(kernel.name)]
        used.update(matching_index for matching_index, rule in enumerate(wanted) if rule in matching)
        for breach in breaches(kernel, matching):
            bad += 1
            print(f"sm_{kernel.arch} {kernel.name}: {breach}")
    for index, rule in enumerate(wanted):
        if index not in used:
            bad += 1
            print(f"rule '{rule[0]} {rule[3].pattern}' matches no kernel")
    counts = collections.Counter(kernel.arch for kernel in found)
    print(", ".join(f"sm_{arch}: {number} kernels" for arch, number in sorted(counts.items())))
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
