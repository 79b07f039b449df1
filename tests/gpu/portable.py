"""Whether a folder of programs (bin/) and libraries (lib/) runs on machines older than the one that built it.

usage: portable.py FOLDER [NAME=VERSION...]

Each library that something needs is in lib/ or one of a machine's own, and of those nothing newer is asked for than Ubuntu 22.04 has, unless
NAME=VERSION says otherwise (GLIBC=2.31). Programs look for lib/ beside themselves, by a path that also holds for what libraries need. Prints what is
wrong, a line each; exit code 1 then, else 0 and the newest versions that are asked for. Needs readelf.
"""
import pathlib
import re
import subprocess
import sys

# By the first part of a symbol version: what Ubuntu 22.04's C library and compiler libraries have.
LIMITS = {"GLIBC": "2.35", "GLIBCXX": "3.4.30", "CXXABI": "1.3.13", "GCC": "12.0.0"}
OF_THE_MACHINE = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libgcc_s.so.1"}


def number(version):
    return tuple(int(part) for part in version.split("."))


def readelf(option, path):
    return subprocess.run(["readelf", "--wide", option, str(path)], check=True, capture_output=True, text=True).stdout


def versions(path):
    """(library, name, version) of all that a file needs of versioned libraries."""
    library = ""
    for line in readelf("--version-info", path).splitlines():
        if match := re.search(r"\bFile: (\S+)", line):
            library = match[1]
        elif match := re.search(r"Name: ([A-Z]+)_(\d[\d.]*)\s+Flags", line):
            if library in OF_THE_MACHINE:
                yield library, match[1], match[2]


def problems(folder, limits, newest):
    shipped = {path.name for path in (folder / "lib").iterdir()}
    for path in sorted([*(folder / "bin").iterdir(), *(folder / "lib").iterdir()]):
        name = path.relative_to(folder)
        dynamic = readelf("--dynamic", path)
        for library in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
            if library not in shipped and library not in OF_THE_MACHINE:
                yield f"{name} needs {library}, which is not in lib"
        if path.parent.name == "bin" and shipped.intersection(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)):
            if not re.search(r"\(RPATH\).*\$ORIGIN/\.\./lib", dynamic):
                yield f"{name} does not look for its libraries in $ORIGIN/../lib"
        for library, kind, version in versions(path):
            newest[kind] = max(newest.get(kind, "0"), version, key=number)
            if kind in limits and number(version) > number(limits[kind]):
                yield f"{name} needs {kind}_{version} of {library}, and machines may have {limits[kind]}"


def main(argv):
    if len(argv) < 2:
        print(__doc__.split("\n")[2], file=sys.stderr)
        return 2
    newest = {}
    found = list(problems(pathlib.Path(argv[1]), {**LIMITS, **dict(limit.split("=") for limit in argv[2:])}, newest))
    for problem in found:
        print(f"portable.py: {problem}", file=sys.stderr)
    if not found:
        print("needs at most " + ", ".join(f"{kind} {version}" for kind, version in sorted(newest.items())))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
