"""Runs one check of the source tree: lint.py CHECK [ROOT]. Prints one line per problem; exit status 1 if there are any."""

import importlib
import os
import sys

CHECKS = ("size", "layering", "words", "commands", "status", "op_tables", "flow", "layout", "sealed", "commas")


def main(argv):
    if len(argv) not in (2, 3) or argv[1] not in CHECKS:
        print("usage: lint.py %s [ROOT]" % "|".join(CHECKS), file=sys.stderr)
        return 2
    # The scripts are found through links; the tree that they belong to is two folders above where they really are.
    here = os.path.dirname(os.path.realpath(__file__))
    root = argv[2] if len(argv) == 3 else os.path.dirname(os.path.dirname(here))
    sys.dont_write_bytecode = True
    sys.path.insert(0, here)
    problems = importlib.import_module(argv[1]).check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
