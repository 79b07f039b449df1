"""Programs of one call each from the ops that calls of Paddle 3.3.1 became (op_samples_pir.json of make_op_samples.py): a line "call<TAB>program".

make_op_programs.py SAMPLES.json > op_programs.txt
"""
import json
import re
import sys


def tensor_type(text):
    element, dims = re.fullmatch(r"(\w+)\[(.*)\]", text.strip()).groups()
    return {"#": "0.t_dtensor", "D": [{"#": "0.t_" + element}, [int(d) for d in dims.split(",")] if dims else [], "NCHW", [], 0]}


def value_type(text):
    if text is None or text.lower() == "null":
        return {"#": "NULL"}
    if text.startswith("<"):
        return {"#": "0.t_vec", "D": [tensor_type(t) for t in re.findall(r"\w+\[[^\]]*\]", text)]}
    return tensor_type(text)


def attribute(kind, data):
    if kind.startswith("0.a_array<"):
        return {"#": "0.a_array", "D": [{"#": kind[len("0.a_array<"):-1], "D": d} for d in data]}
    return {"#": kind, "D": data}


def program(ops):
    made = [{
        "#": op["op"],
        "A": [{"AT": attribute(*value), "N": name} for name, value in sorted(op["attrs"].items())],
        "I": [{"%": i} for i in op["in"]],
        "O": [{"%": i, "TT": value_type(t)} for i, t in zip(op["out"], op["types"])],
    } for op in ops]
    block = {"#": "block_0", "args": [], "ops": made}
    return {"base_code": {"magic": "pir", "trainable": True, "version": 4}, "program": {"regions": [{"#": "region_0", "blocks": [block]}]}}


with open(sys.argv[1], encoding="utf-8") as file:
    samples = json.load(file)
for call, ops in samples.items():
    if all("types" in op for op in ops):  # not those with a parameter, whose type was not written down
        print(call, json.dumps(program(ops), separators=(",", ":"), sort_keys=True), sep="\t")
