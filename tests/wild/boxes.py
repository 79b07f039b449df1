"""Lists of detections, which may come in another order where scores tie."""
import numpy as np

TIE = 1e-4


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    common = np.prod(np.clip(high - low, 0, None))
    return common / max(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common, 1e-9)


def same_box(a, b, size, least=0.99):
    """An overlap of `least`; boxes without an area: corners within a thousandth of the image where that is 99 %, a hundredth where it is 90 %."""
    return overlap(a, b) > least or np.abs(a - b).max() < 0.1 * (1 - least) * size


def extent(*lists):
    return max((float(np.abs(boxes).max()) for boxes in lists if boxes.size), default=0.0)


def parts(outputs):
    """Boxes, scores and labels, by their shapes and types."""
    boxes = next(v for v in outputs.values() if v.ndim == 2 and v.shape[1] == 4)
    scores = next(v for v in outputs.values() if v.ndim == 1 and v.dtype.kind == "f")
    labels = next(v for v in outputs.values() if v.ndim == 1 and v.dtype.kind == "i")
    return boxes, scores, labels


def match(found, wanted):
    """"" if every box of the one is a box of the other, of the same label, with 99 % overlap and a score within TIE; else why not. Then how many ties were needed:
    boxes that the other has at another place or, with a score next to the lowest one, not at all. Then the number of boxes."""
    mine, theirs = parts(found), parts(wanted)
    ties, missing, size = 0, [], extent(mine[0], theirs[0])
    for (boxes, scores, labels), (others, other_scores, other_labels) in ((mine, theirs), (theirs, mine)):
        floor = min(list(scores) + list(other_scores), default=0)
        for k in range(len(boxes)):
            same = [j for j in range(len(others)) if labels[k] == other_labels[j] and abs(scores[k] - other_scores[j]) < TIE and same_box(boxes[k], others[j], size)]
            if not same and scores[k] - floor < TIE:
                ties += 1
            elif not same:
                missing.append(k)
            elif k not in same:
                ties += 1
    why = "" if not missing else f"{len(missing)} of {len(mine[0])} + {len(theirs[0])} boxes have no partner"
    return why, ties, len(theirs[0])


def agreement(found, wanted, least=0.9, apart=0.02):
    """The share of both lists' boxes that have a partner of the same label at the same place in the other, and scores `apart` at most; 1 of none."""
    mine, theirs = parts(found), parts(wanted)
    with_partner, size = 0, extent(mine[0], theirs[0])
    for (boxes, scores, labels), (others, other_scores, other_labels) in ((mine, theirs), (theirs, mine)):
        for k in range(len(boxes)):
            same = (other_labels == labels[k]) & (np.abs(other_scores - scores[k]) <= apart)
            with_partner += any(same_box(boxes[k], others[j], size, least) for j in np.flatnonzero(same))
    count = len(mine[0]) + len(theirs[0])
    return with_partner / count if count else 1.0
