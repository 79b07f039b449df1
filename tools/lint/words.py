"""Words that do not belong into finished source: marks of unfinished work, paths of one machine, tests that were switched off, noisy libraries,
comments that open with a relative clause for a thing that has a name, and private words where the field has one."""

import re

from tree import SOURCES, files, lines

# Written in pieces where a pattern would match this file.
_UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|\bst" r"ub\b|\bfor no" r"w\b|not implemented ye" r"t")
_MACHINE = re.compile(r"(?<![\w.])/(wo" r"rk|ro" r"ot|home/[a-z]+)/")
_DISABLED = re.compile(r"\bDISABL" r"ED_|GTEST_SK" r"IP\(\)\s*;")
_NOISE = re.compile(r"\bstd::c(out|err)\b|(?<!\w)(std::)?f?printf\s*\(|\b(std::)?(exit|terminate)\s*\(")
# Allowed with its reason on the same line: a mistake in the source itself that no input can cause.
_ABORT = re.compile(r"\b(std::)?abort\s*\([^/]*$")
# "The offset of ..." or "If ..." says the same.
_CLAUSE = re.compile(r'(^\s*|(?<=\s))(//|#|""")(\s?|.*[.;:] )(What|Whatever|Where|Who|Whoever) [a-z`]\w*')
# Private words, and the field's own.
_PRIVATE = (
    (re.compile(r"\bFollow[A-Z]\w*\("), "propagate, or what the function computes"),
    (re.compile(r"\bTell[A-Z]\w*\("), "record, report"),
    (re.compile(r"\b(struct|class|enum class) (Place|Piece|Position|Start|Unit|Region|Turn|Twin|Wish|Because|HandsOn)\b"), "a name that says of what"),
    (re.compile(r"\b(Because|HandsOn|HandOn)[A-Z(]|\w*(Aside|Raiser|RaiseFlag)\b"), "the field's own word"),
    (re.compile(r"\b\w*(Arena|Memory)Guard\w*|\bGuarded(Memory|Arena)\b"), "poison, red zone: a guard is Paddle's fp16_guard"),
    (re.compile(r"\b(twins?|wishe[sd]|wish|steers|steered)\b"), "copy, shared; request; determines"),
    (re.compile(r"(unknown|whose|the) ending\b|\bEndingOf\b|CheckEnding"), "extension"),
    (re.compile(r"\b(is|are|was|were|not) lowered for it\b|AMP (has )?lowered"), "retyped, becomes low: lowering is of dialects"),
)
_COMMENTED = SOURCES + (".py", ".sh", ".bzl", ".case", "BUILD")
_LIBRARIES = ("graph", "passes", "kernels", "runtime")
_TEXT = SOURCES + (".py", ".sh", ".bzl", ".proto", ".md", ".case", ".prog", ".txt", ".inc", "BUILD")


def check(root):
    problems = []
    for path in files(root, _TEXT):
        for number, line in enumerate(lines(root, path), 1):
            for pattern, why in (
                (_UNFINISHED, "a mark of unfinished work"),
                (_MACHINE, "a path of one machine"),
                (_DISABLED, "a test switched off without a reason"),
            ):
                found = pattern.search(line)
                if found:
                    problems.append("%s:%d: '%s': %s" % (path, number, found.group(0), why))
            found = _CLAUSE.search(line)
            if found and path.endswith(_COMMENTED):
                problems.append("%s:%d: '%s': subject, verb, object: the thing has a name" % (path, number, found.group(0).strip()))
            if path.endswith(SOURCES + (".inc", ".py")):
                for pattern, instead in _PRIVATE:
                    found = pattern.search(line)
                    if found and "tools/lint/" not in path:
                        problems.append("%s:%d: '%s': the field's word is wanted: %s" % (path, number, found.group(0), instead))
            found = _NOISE.search(line.split("//")[0]) or _ABORT.search(line)
            if found and path.startswith(_LIBRARIES) and path.endswith(SOURCES):
                problems.append("%s:%d: '%s': a library is silent and never ends the process" % (path, number, found.group(0)))
    return problems
