"""Damaged copies of a model: deterministic in the seed.

A model is a dictionary from file name to bytes. `damaged(files, random, donors)` gives another one and says in words what happened to it.
Bytes are damaged without knowledge of the format (cut, flipped, erased, repeated, moved), and with knowledge of protobuf's wire format:
lengths that say more than is there, numbers (dimensions, types, counts, offsets) that became huge or negative, fields that are missing or
doubled.
"""

_HUGE = [0, 1, 0x7f, 0x80, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
_HEAD = 1 << 16  # where most of the structure is


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data, at, end):
    """(value, the byte behind it), or None."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at
    return None


def fields(data, begin, end):
    """The fields of a message: (begin, begin of the value or of its length, begin of the content, end, wire type); None for no message."""
    found = []
    at = begin
    while at < end:
        start = at
        tag = _read_varint(data, at, end)
        if tag is None or tag[0] >> 3 == 0:
            return None
        at = value = tag[1]
        kind = tag[0] & 7
        if kind == 0:
            number = _read_varint(data, at, end)
            if number is None:
                return None
            content, at = value, number[1]
        elif kind == 2:
            length = _read_varint(data, at, end)
            if length is None or length[1] + length[0] > end:
                return None
            content, at = length[1], length[1] + length[0]
        elif kind in (1, 5):
            content, at = value, at + (8 if kind == 1 else 4)
            if at > end:
                return None
        else:
            return None
        found.append((start, value, content, at, kind))
    return found


def random_field(data, random, wanted):
    """A field of one of the wire types, any depth down; None where chance finds none."""
    for _ in range(20):
        begin, end = 0, len(data)
        best = None
        while True:
            here = fields(data, begin, end) if end - begin < 1 << 22 or begin == 0 else None
            if not here:
                break
            candidates = [f for f in here if f[4] in wanted]
            if candidates and (best is None or random.random() < 0.7):
                best = random.choice(candidates)
            inner = [f for f in here if f[4] == 2 and f[3] - f[2] > 1]
            if not inner or random.random() < 0.1:
                break
            chosen = random.choices(inner, [(f[3] - f[2]) ** 0.5 for f in inner])[0]
            begin, end = chosen[2], chosen[3]
        if best is not None:
            return best
    return None


def _place(data, random):
    """Somewhere, more often where the structure is."""
    return random.randrange(min(len(data), _HEAD) if random.random() < 0.6 else len(data))


def _block(data, random):
    begin = _place(data, random)
    return begin, min(len(data), begin + random.choice([1, 4, 16, 64, 256, 4096, 65536]))


def cut(data, random):
    size = random.choice([0, 1, len(data) - 1, len(data) // 2, _place(data, random)])
    return data[:size], "cut to %d bytes" % size


def flip(data, random):
    data = bytearray(data)
    places = [_place(data, random) for _ in range(random.choice([1, 1, 1, 2, 8, 64]))]
    for place in places:
        data[place] ^= 1 << random.randrange(8)
    return bytes(data), "bits flipped at %s" % places[:8]


def zero(data, random):
    begin, end = _block(data, random)
    return data[:begin] + bytes(end - begin) + data[end:], "zeros at %d to %d" % (begin, end)


def noise(data, random):
    begin, end = _block(data, random)
    fresh = random.getrandbits(8 * (end - begin)).to_bytes(end - begin, "little")
    return data[:begin] + fresh + data[end:], "noise at %d to %d" % (begin, end)


def repeat(data, random):
    begin, end = _block(data, random)
    return data[:end] + data[begin:end] + data[end:], "bytes %d to %d twice" % (begin, end)


def remove(data, random):
    begin, end = _block(data, random)
    return data[:begin] + data[end:], "without bytes %d to %d" % (begin, end)


def swap(data, random):
    begin, end = _block(data, random)
    other = random.randrange(max(1, len(data) - (end - begin)))
    if other + (end - begin) > begin and other < end:
        return zero(data, random)
    first, second = sorted([(begin, end), (other, other + end - begin)])
    return (data[:first[0]] + data[second[0]:second[1]] + data[first[1]:second[0]] + data[first[0]:first[1]] + data[second[1]:],
            "blocks at %d and %d of %d bytes swapped" % (first[0], second[0], end - begin))


def tail(data, random):
    return data + random.getrandbits(8 * 64).to_bytes(64, "little")[:random.randrange(1, 65)], "something behind the end"


def length(data, random):
    field = random_field(data, random, (2,))
    if field is None:
        return flip(data, random)
    start, value, content, end, _ = field
    size = end - content
    wrong = random.choice([size + 1, size + 3, 2 * size + 1, max(0, size - 1), len(data), 2**31 - 1, 2**31, 2**32, 2**63, 2**64 - 1])
    return data[:value] + _varint(wrong) + data[content:], "the field at %d has length %d, not %d" % (start, wrong, size)


def number(data, random):
    field = random_field(data, random, (0,))
    if field is None:
        return flip(data, random)
    start, value, _, end, _ = field
    was = _read_varint(data, value, end)[0]
    wrong = random.choice(_HUGE + [was + 1, max(0, was - 1), was * 2, was ^ 0x40])
    return data[:value] + _varint(wrong % 2**64) + data[end:], "the number at %d is %d, not %d" % (start, wrong, was)


def without_field(data, random):
    field = random_field(data, random, (0, 1, 2, 5))
    if field is None:
        return flip(data, random)
    return data[:field[0]] + data[field[3]:], "without the field at %d" % field[0]


def field_twice(data, random):
    field = random_field(data, random, (0, 1, 2, 5))
    if field is None:
        return flip(data, random)
    return data[:field[3]] + data[field[0]:field[3]] + data[field[3]:], "the field at %d twice" % field[0]


_BYTES = [cut, flip, flip, zero, noise, repeat, remove, swap, tail]
_WIRE = [length, length, number, number, number, without_field, field_twice]


def _common_prefix(a, b):
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def repaired(data, original):
    """The lengths of the messages around a change of size would be wrong; with them right, the damage gets deeper into the reader. Returns
    `data` with the lengths around the first place where it differs from `original` mended."""
    begin, end = 0, len(original)
    change = len(data) - len(original)
    if change == 0:
        return data
    first = _common_prefix(data, original)
    out = data
    added = 0
    while True:
        here = fields(original, begin, end)
        around = [f for f in here or [] if f[4] == 2 and f[2] <= first < f[3] and f[3] - f[2] > -change]
        if not around:
            return out
        _, value, content, stop, _ = around[0]
        fresh = _varint(stop - content + change)
        out = out[:value + added] + fresh + out[content + added:]
        added += len(fresh) - (content - value)
        begin, end = content, stop


def damaged(files, random, donors):
    """`files` with one of them damaged, or with weights of another model; `donors`: other models."""
    names = sorted(files)
    name = names[0] if random.random() < 0.6 else random.choice(names)
    if len(names) > 1 and donors and random.random() < 0.05:
        other = random.choice(donors)
        weights = names[-1]
        return {**files, weights: other[sorted(other)[-1]]}, "%s of another model" % weights
    data = files[name]
    if not data:
        return {**files, name: b"\0"}, "%s: a byte" % name
    wire = name.endswith((".onnx", ".pdmodel", ".ampc", "__model__"))
    kind = random.choice(_WIRE if wire and random.random() < 0.6 else _BYTES)
    fresh, what = kind(data, random)
    if wire and kind in _WIRE and random.random() < 0.5:
        mended = repaired(fresh, data)
        what += ", lengths around it mended" if mended != fresh else ""
        fresh = mended
    return {**files, name: fresh}, "%s: %s" % (name, what)
