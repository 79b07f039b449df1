"""A network of the collection, and the list of all of them.

A family is a module of families/ with a function networks() that yields Network rows; nothing is built before its `build` is called.
"""
import dataclasses
import fnmatch
import importlib
from typing import Callable

FAMILIES = ["classification", "dense", "detection", "video", "timm_small", "text", "translation", "decoder", "state_space", "cache", "loop", "recurrent", "speech",
            "vision", "vision_language", "hazards"]


@dataclasses.dataclass
class Network:
    """`build` gives a module and its inputs, a dict of names to tensors in the order of forward's arguments. It is called with torch's random numbers seeded."""
    name: str
    build: Callable
    family: str = ""
    rank: int = 0  # its place in the family
    dynamic: dict = dataclasses.field(default_factory=dict)  # input: {axis: name} of sizes that the exported model leaves open
    gain: dict = dataclasses.field(default_factory=dict)     # part of a layer's name: standard deviation of its result, instead of 1
    scale: bool = True                                       # False: layers are not scaled, because torch takes no hooks in what they belong to
    boxes: bool = False                                      # outputs are lists of detections
    exporters: tuple = ("script", "dynamo")
    quantise: bool = True


def all_networks():
    found = []
    for family in FAMILIES:
        for rank, network in enumerate(importlib.import_module("families." + family).networks()):
            network.family, network.rank = family, rank
            found.append(network)
    names = [n.name for n in found]
    twice = {n for n in names if names.count(n) > 1}
    assert not twice, f"names used twice: {sorted(twice)}"
    return found


def chosen(networks, only, families):
    """Those whose name matches one of the globs `only` (all without one), of these families."""
    unknown = [f for f in families if f not in FAMILIES]
    if unknown:
        raise SystemExit(f"run.sh: {unknown[0]}: no such family; there are {', '.join(FAMILIES)}")
    return [n for n in networks if (not only or any(fnmatch.fnmatch(n.name, g) for g in only)) and (not families or n.family in families)]
