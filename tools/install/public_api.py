"""The public headers of a shared library, and the symbols that they declare.

  public_api.py --public HEADER... --generated FOLDER --headers OUT --exports OUT ARCHIVE...

HEADERS gets the public headers and all that they include, one a line. EXPORTS gets a linker's version script: every function and variable of the
archives in namespace ampc whose scopes and name all stand as words in these headers. A declared function's do; what only sources know hardly has.
"""

import argparse
import os
import re
import subprocess
import sys

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# A name inside of scopes, with what may stand before it: a table of virtual functions, type information, a guard.
_NESTED = re.compile(r"^_Z(?:TV|TI|TS|TT|GV)?N[rVK]*(4ampc.*)$")


def find(name, generated):
    for path in (name, os.path.join(generated, name)):
        if os.path.exists(path):
            return path
    return None


def closure(public, generated):
    """{header: text}. Headers of the machine (Abseil's) are left out: their users have them."""
    texts, todo = {}, list(public)
    while todo:
        name = todo.pop()
        path = find(name, generated)
        if name in texts or name.startswith("absl/"):
            continue
        if path is None:
            sys.exit("public_api.py: there is no header '%s'" % name)
        with open(path, encoding="utf-8") as file:
            texts[name] = file.read()
        todo += _INCLUDE.findall(texts[name])
    return texts


def scopes(symbol):
    """[ampc, Session, Run] for the mangled ampc::Session::Run(...), None for what is not in namespace ampc."""
    nested = _NESTED.match(symbol)
    names, rest = [], nested.group(1) if nested else ""
    while True:
        length = re.match(r"[1-9][0-9]*", rest)
        if not length:
            return names or None
        end = length.end() + int(length.group())
        names.append(rest[length.end():end])
        rest = rest[end:]
        if rest.startswith("B5cxx11"):
            rest = rest[7:]


def defined(archives):
    """The global symbols that the archives define."""
    symbols = set()
    for start in range(0, len(archives), 100):
        out = subprocess.run(["nm", "-gP", "--defined-only"] + archives[start:start + 100], check=True, stdout=subprocess.PIPE, text=True).stdout
        symbols.update(line.split(" ", 1)[0] for line in out.splitlines() if line.startswith("_Z"))
    return symbols


def main():
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")  # Bazel gives long lists of arguments in a file
    parser.add_argument("--public", action="append")
    for option in ("--generated", "--headers", "--exports"):
        parser.add_argument(option, required=True)
    parser.add_argument("archives", nargs="+")
    args = parser.parse_args()
    texts = closure(args.public, args.generated)
    words = set()
    for text in texts.values():
        words.update(re.findall(r"[A-Za-z_]\w*", re.sub(r"//[^\n]*", "", text)))
    exports = sorted(s for s in defined(args.archives) if scopes(s) and words.issuperset(scopes(s)))
    with open(args.headers, "w", encoding="utf-8") as file:
        file.writelines(name + "\n" for name in sorted(texts))
    with open(args.exports, "w", encoding="utf-8") as file:
        file.write("{\n  global:\n    ampc_*;\n" + "".join("    %s;\n" % s for s in exports) + "  local: *;\n};\n")


if __name__ == "__main__":
    main()
