"""The first COUNT images and labels of a data set in idx files, and an eighth of that for its tests: idx_subset.py FROM TO COUNT, both folders."""
import gzip
import pathlib
import struct
import sys

source, target, count = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
target.mkdir(parents=True, exist_ok=True)
for path in sorted(source.glob("*.gz")):
    with gzip.open(path) as file:
        magic = file.read(4)
        dims = list(struct.unpack(f">{magic[3]}I", file.read(4 * magic[3])))
        element = 1
        for dim in dims[1:]:
            element *= dim
        dims[0] = min(dims[0], count if path.name.startswith("train") else count // 8)
        data = file.read(dims[0] * element)
    with gzip.GzipFile(target / path.name, "wb", mtime=0) as file:
        file.write(magic + struct.pack(f">{magic[3]}I", *dims) + data)
