#!/usr/bin/env python3
"""Writes tests/golden/paddle_training from a folder of training programs that real Paddle releases built.

  make_training.py FOLDER tests/golden/paddle_training

FOLDER has case_index.json, and per case config.json, input.pdmodel, stage1_forward.pdmodel, output.pdmodel and the two startup
programs; FOLDER/../decorate_overloads.json is copied. Equal programs are stored once.
"""
import hashlib
import json
import pathlib
import sys
import zipfile

STAGES = {"in": "input", "forward": "stage1_forward", "out": "output", "startup_in": "startup_input", "startup_out": "startup_output"}


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    stored, cases = {}, []
    with zipfile.ZipFile(out / "programs.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry in json.loads((folder / "case_index.json").read_text())["cases"]:
            config = entry.get("config", {})
            if config.get("entry") != "decorate_minimize" or "raises" in entry:
                continue
            case = entry["case"]
            meta = json.loads((folder / case / "config.json").read_text())["meta"]
            files = {}
            for stage, name in STAGES.items():
                path = folder / case / f"{name}.pdmodel"
                if not path.exists():
                    continue
                data = path.read_bytes()
                key = hashlib.sha256(data).hexdigest()
                if key not in stored:
                    stored[key] = f"{case}.{stage}"
                    archive.writestr(zipfile.ZipInfo(stored[key], (2000, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)
                files[stage] = stored[key]
            optimizer, scaling = config["optimizer"], config["loss_scaling"]
            field = {
                "level": config["level"], "dtype": config["dtype"], "guard": config["use_fp16_guard"], "promote": config["use_promote"],
                "master_grad": config["master_grad"], "black": ",".join(config.get("custom_black_list", [])),
                "legacy": config.get("api") == "legacy" or not case.endswith(".g3"), "master_weight": config.get("master_weight", True),
                "init": scaling.get("init_loss_scaling", ""), "dynamic": scaling.get("use_dynamic_loss_scaling", ""),
                "optimizer": optimizer["type"], "lr": optimizer["learning_rate"], "multi_precision": optimizer["multi_precision"],
                "weight_decay": optimizer.get("weight_decay", ""), "clip": optimizer.get("grad_clip", ""),
                "params": ",".join(p["name"] for p in meta["parameters"] if p["trainable"]),
                "loss": meta["loss"], "fetch": ",".join(meta["fetch"]),
                **files,
            }
            cases.append("\t".join([case] + [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in field.items() if v != "" and (v is not False or k == "dynamic")]))
    head = ("# What Paddle 2.0.2, 2.4.2 and 2.6.2 (g1, g2, g3) make of training programs by decorate and minimize, made by\n"
            "# tests/compat/make_training.py: case, how it was called, parameters in the order of their making, and the members of programs.zip: the program before (in), with its\n"
            "# forward part rewritten and the loss scaled (forward), complete (out), and, for most, the startup program before and after.\n")
    (out / "cases.txt").write_text(head + "\n".join(cases) + "\n")
    overloads = json.loads((folder / ".." / "decorate_overloads.json").read_text())
    (out / "decorate_overloads.json").write_text(json.dumps(overloads, indent=1) + "\n")


if __name__ == "__main__":
    main()
