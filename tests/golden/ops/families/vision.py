"""Sampling at given positions, boxes, channels to positions."""

import itertools

import numpy as np

F, I32, U8 = np.float32, np.int32, np.uint8


def nearest_or_zero(x, grid, corners):
    """Of the first image of X [1, c, d, h, w]."""
    sizes = np.array(x.shape[:1:-1], F)
    at = np.round((grid[0] + 1) / 2 * (sizes - 1) if corners else ((grid[0] + 1) * sizes - 1) / 2).astype(int)
    out = np.zeros((1, x.shape[1]) + at.shape[:-1], F)
    for i in np.ndindex(at.shape[:-1]):
        if all(at[i] >= 0) and all(at[i] < sizes):
            out[(0, slice(None)) + i] = x[0, :, at[i][2], at[i][1], at[i][0]]
    return out


def cases(case):
    rng = np.random.default_rng(16)
    rand = lambda *dims: rng.standard_normal(dims).astype(F)
    for mode, padding, corners in itertools.product(("bilinear", "nearest"), ("zeros", "border", "reflection"), (True, False)):
        attrs = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        label = f"{mode}_{padding}{'_corners' if corners else ''}"
        # Positions up to three images away, not halfway between two pixels, where roundings differ.
        case(f"grid_sampler_{label}", "grid_sampler", {"X": rand(2, 3, 4, 5), "Grid": (rng.random((2, 3, 4, 2)) * 6 - 3).astype(F)}, {"Output": 1}, attrs)
        volume, grid = rand(1, 2, 3, 4, 2), (rng.random((1, 2, 3, 2, 3)) * 4 - 2).astype(F)
        # Paddle's CPU kernel, unlike its GPU kernel and its own images, drops positions that round into a volume: numpy is the reference.
        expect = {"Output": nearest_or_zero(volume, grid, corners)} if (mode, padding) == ("nearest", "zeros") else None
        case(f"grid_sampler_volume_{label}", "grid_sampler", {"X": volume, "Grid": grid}, {"Output": 1}, attrs, expect=expect)
    case("grid_sampler_one_pixel", "grid_sampler", {"X": rand(1, 2, 1, 1), "Grid": rand(1, 2, 2, 2)}, {"Output": 1},
         {"mode": "bilinear", "padding_mode": "reflection", "align_corners": True})
    corners = np.array([[[[-1, -1], [1, 1], [0, 0], [1, -1]]]], F)
    for align in (True, False):
        case(f"grid_sampler_ends_{align}".lower(), "grid_sampler", {"X": rand(1, 1, 3, 3), "Grid": corners}, {"Output": 1},
             {"mode": "bilinear", "padding_mode": "zeros", "align_corners": align})
    nan = np.array([[[[np.nan, 0], [0, np.nan]]]], F)  # Paddle reads anywhere
    case("grid_sampler_nan", "grid_sampler", {"X": rand(1, 1, 3, 3), "Grid": nan}, {"Output": 1},
         {"mode": "bilinear", "padding_mode": "border", "align_corners": True}, expect={"Output": np.full((1, 1, 1, 2), np.nan, F)})
    far = np.array([[[[np.inf, 0], [-np.inf, 0], [3e30, -3e30]]]], F)
    x = rand(1, 1, 3, 3)
    case("grid_sampler_far", "grid_sampler", {"X": x, "Grid": far}, {"Output": 1}, {"mode": "bilinear", "padding_mode": "zeros", "align_corners": True},
         expect={"Output": np.zeros((1, 1, 1, 3), F)})
    case("grid_sampler_far_border", "grid_sampler", {"X": x, "Grid": far}, {"Output": 1}, {"mode": "nearest", "padding_mode": "border", "align_corners": True},
         expect={"Output": np.array([[[[x[0, 0, 1, 2], x[0, 0, 1, 0], x[0, 0, 0, 2]]]]], F)})
    for align in (True, False):
        case(f"affine_grid_{align}".lower(), "affine_grid", {"Theta": rand(2, 2, 3)}, {"Output": 1}, {"output_shape": [2, 3, 4, 5], "align_corners": align})
        case(f"affine_grid_volume_{align}".lower(), "affine_grid", {"Theta": rand(1, 3, 4)}, {"Output": 1}, {"output_shape": [1, 2, 3, 2, 4], "align_corners": align})
    case("affine_grid_tensor", "affine_grid", {"Theta": rand(1, 2, 3), "OutputShape": np.array([1, 1, 2, 3], I32)}, {"Output": 1}, {"align_corners": False}, known=["OutputShape"])

    boxes = np.array([[1, 1, 6, 5], [0, 0, 7.5, 7.5], [-3, 2, 4, 20], [5, 5, 5.2, 5.1], [2, 0, 6, 8]], F)
    for aligned, ratio in itertools.product((True, False), (-1, 2)):
        case(f"roi_align_{'aligned_' if aligned else ''}{'auto' if ratio < 0 else ratio}", "roi_align",
             {"X": rand(2, 3, 8, 8), "ROIs": boxes, "RoisNum": np.array([2, 3], I32)}, {"Out": 1},
             {"pooled_height": 3, "pooled_width": 2, "spatial_scale": 1.0, "sampling_ratio": ratio, "aligned": aligned})
    case("roi_align_scaled", "roi_align", {"X": rand(1, 2, 6, 9), "ROIs": boxes * F(8), "RoisNum": np.array([5], I32)}, {"Out": 1},
         {"pooled_height": 2, "pooled_width": 2, "spatial_scale": 0.125, "sampling_ratio": -1, "aligned": True})
    case("roi_align_inverted_box", "roi_align", {"X": rand(1, 1, 5, 5), "ROIs": np.array([[3, 3, 1, 1]], F), "RoisNum": np.array([1], I32)}, {"Out": 1},
         {"pooled_height": 1, "pooled_width": 2, "spatial_scale": 1.0, "sampling_ratio": -1, "aligned": False})
    case("roi_align_no_boxes", "roi_align", {"X": rand(2, 2, 4, 4), "ROIs": rand(0, 4), "RoisNum": np.array([0, 0], I32)}, {"Out": 1},
         {"pooled_height": 2, "pooled_width": 2}, expect={"Out": rand(0, 2, 2, 2)})
    case("roi_align_image_without_boxes", "roi_align", {"X": rand(3, 1, 5, 5), "ROIs": boxes[:2], "RoisNum": np.array([1, 0, 1], I32)}, {"Out": 1},
         {"pooled_height": 2, "pooled_width": 2, "spatial_scale": 1.0, "sampling_ratio": 1, "aligned": False})
    far = np.array([[-1e6, -1e6, 1e6, 1e6], [1e5, 0, 2e5, 3]], F)
    case("roi_align_far", "roi_align", {"X": rand(1, 1, 4, 4), "ROIs": far, "RoisNum": np.array([2], I32)}, {"Out": 1},
         {"pooled_height": 1, "pooled_width": 1, "spatial_scale": 1.0, "sampling_ratio": 2, "aligned": False})
    case("pixel_shuffle", "pixel_shuffle", {"X": rand(2, 8, 3, 2)}, {"Out": 1}, {"upscale_factor": 2, "data_format": "NCHW"})
    case("pixel_shuffle_nhwc", "pixel_shuffle", {"X": rand(1, 2, 3, 18)}, {"Out": 1}, {"upscale_factor": 3, "data_format": "NHWC"})
    case("pixel_shuffle_one", "pixel_shuffle", {"X": rand(1, 3, 2, 2)}, {"Out": 1}, {"upscale_factor": 1, "data_format": "NCHW"})
