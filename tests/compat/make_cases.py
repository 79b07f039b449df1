#!/usr/bin/env python3
"""Writes tests/golden/paddle_rewrite/cases.txt from folders of rewritings that real Paddle releases recorded.

  make_cases.py FOLDER... > tests/golden/paddle_rewrite/cases.txt

A FOLDER has case_index.json, and per case config.json and input.pdmodel; equal inputs are stored once. record_nested.py makes one.
"""
import hashlib
import json
import pathlib
import sys

RELEASES = {"g1": "paddle-2.0", "g2": "paddle-2.4", "g3": "paddle-2.6"}
LISTS = {"custom_white_list": "--white-list", "custom_black_list": "--black-list", "custom_black_varnames": "--black-vars"}


def flags(case, config):
    out = ["--compat", RELEASES[case.rsplit(".", 1)[1]], "--level", config["level"]]
    out += ["--dtype", {"float16": "fp16", "bfloat16": "bf16"}[config["dtype"]]]
    out += ["--guard"] if config["use_fp16_guard"] else []
    out += ["--promote"] if config["use_promote"] else []
    for name, flag in LISTS.items():
        out += [flag, ",".join(config[name])] if config.get(name) else []
    return " ".join(out)


def status(entry):
    """The results of the recorded program with float32 in the place of every low type."""
    if "raises" in entry:
        return "raises"
    return "same" if entry.get("low_as_fp32_execution", "same") == "same" else "broken"


def main():
    folders = [pathlib.Path(arg) for arg in sys.argv[1:]]
    stored = {}
    print("# What Paddle 2.0.2, 2.4.2 and 2.6.2 make of small programs, made by tests/compat/make_cases.py: case, input, options of")
    print("# `ampc convert`, what is fetched, and whether the recorded program computes the same as its input (same, broken) or the")
    print("# release refuses the input (raises). <input>.pdmodel is the program before, <case>.pdmodel the one after.")
    for folder, entry in [(f, e) for f in folders for e in json.loads((f / "case_index.json").read_text())["cases"]]:
        config = entry.get("config", {})
        if config.get("entry") != "rewrite":
            continue
        case = entry["case"]
        program = (folder / case / "input.pdmodel").read_bytes()
        where = stored.setdefault((hashlib.sha256(program).hexdigest(), case.rsplit(".", 1)[1]), case + ".in")
        meta = json.loads((folder / case / "config.json").read_text())["meta"]
        print("\t".join([case, where, flags(case, config), ",".join(meta["fetch"]), status(entry)]))


if __name__ == "__main__":
    main()
