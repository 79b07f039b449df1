#!python
"""The command `ampc` of the package, found without importing it."""
import importlib.util
import os
import sys

command = os.path.join(importlib.util.find_spec("ampc").submodule_search_locations[0], "bin", "ampc")
os.execv(command, ["ampc", *sys.argv[1:]])
