"""Writes the files of this folder with NumPy and safetensors, so that our readers are tested against theirs.

Needs: pip install numpy ml_dtypes safetensors. Run it in this folder.
"""

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def ramp(dtype, shape=(2, 3)):
    """0, 1, 2, ... in `shape`; complex values have the same imaginary part, bools are odd or even."""
    values = np.arange(np.prod(shape)).reshape(shape)
    if dtype == "bool":
        return values % 2 == 1
    return values.astype(dtype) * (1 + 1j) if dtype.startswith("complex") else values.astype(dtype)


def main():
    arrays = {name: ramp(name).astype(name) for name in TYPES}
    np.savez("stored.npz", **arrays)
    np.savez_compressed("compressed.npz", **arrays)
    np.save("fortran.npy", np.asfortranarray(ramp("int32", (2, 3, 4))))
    np.save("big_endian.npy", ramp("float32").astype(">f4"))
    np.save("big_endian_complex.npy", ramp("complex64").astype(">c8"))
    np.save("scalar.npy", np.float32(2.5))
    np.save("empty.npy", np.zeros((0, 3), np.float32))
    np.save("bfloat16.npy", ramp("float32").astype(ml_dtypes.bfloat16))
    np.save("uint16.npy", ramp("uint16"))
    with open("version2.npy", "wb") as file:
        np.lib.format.write_array(file, ramp("int64"), version=(2, 0))
    tensors = {name: ramp(name) for name in TYPES[:9]}
    tensors["bfloat16"] = ramp("float32").astype(ml_dtypes.bfloat16)
    tensors["uint16"] = ramp("uint16")
    tensors["scalar"] = np.array(2.5, np.float32)
    tensors["empty"] = np.zeros((0, 3), np.float32)
    save_file(tensors, "mixed.safetensors", metadata={"format": "np", "note": "a \"quoted\" word"})


main()
