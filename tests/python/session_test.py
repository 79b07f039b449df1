"""Session: ONNX Runtime's shape, types, threads, memory, errors."""

import gc
import pickle
import threading
import time

import ampc
import numpy
import pytest
from conftest import program


def test_runs_in_the_shape_of_onnx_runtime(mlp, x, answer):
    s = ampc.Session(mlp)
    assert [(i.name, i.type, i.shape) for i in s.get_inputs()] == [("x", "tensor(float)", [None, 4])]
    assert [o.name for o in s.get_outputs()] == ["y"]
    (y,) = s.run(None, {"x": x})
    numpy.testing.assert_allclose(y, answer, rtol=1e-6)
    assert y.flags.writeable and y.dtype == numpy.float32
    (again,) = s.run(["y"], {"x": x})
    numpy.testing.assert_array_equal(again, y)


def test_calls(mlp, x, answer):
    s = ampc.Session(mlp)
    numpy.testing.assert_allclose(s(x=x), answer, rtol=1e-6)
    numpy.testing.assert_allclose(s(x), answer, rtol=1e-6)
    with pytest.raises(ampc.UsageError, match="given twice"):
        s(x, x=x)
    with pytest.raises(ampc.UsageError, match="found 2 inputs, the model has 1: x"):
        s(x, x)


def test_onnx_as_onnx_runtime_has_it(small):
    path, feeds, outputs = small
    s = ampc.Session(path, threads=1)
    for value, found in zip(s.get_outputs(), s.run(None, feeds)):
        numpy.testing.assert_allclose(found, outputs[value.name], rtol=1e-4, atol=1e-5)


def test_bytes_and_files_in_memory(small, mlp, x, answer):
    path, feeds, _ = small
    want = ampc.Session(path).run(None, feeds)
    with open(path, "rb") as file:
        data = file.read()
    for given in (data, bytearray(data), memoryview(data), {"any.onnx": data}):
        s = ampc.Session(given)
        for a, b in zip(s.run(None, feeds), want):
            numpy.testing.assert_array_equal(a, b)
    with open(mlp, "rb") as file:
        s = ampc.Session({"mlp.prog": file.read()})
    gc.collect()
    numpy.testing.assert_allclose(s(x=x), answer, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "bool"])
def test_every_type_goes_in_and_comes_out(dtype):
    names = {"float32": "f32", "float64": "f64", "float16": "f16", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "bool": "bool"}
    s = program("  feed x : %s [2, 3]\n  y = assign(x) : %s [2, 3]\n  fetch y" % (names[dtype], names[dtype]))
    x = numpy.array([[0, 1, 1], [1, 0, 1]], dtype)
    y = s(x=x)
    assert y.dtype == x.dtype
    numpy.testing.assert_array_equal(y, x)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    s = program("  feed x : bf16 [3]\n  y = assign(x) : bf16 [3]\n  fetch y")
    x = numpy.array([1, -2, 0.5], ml_dtypes.bfloat16)
    y = s(x=x)
    assert y.dtype == ml_dtypes.bfloat16
    numpy.testing.assert_array_equal(y.astype(numpy.float32), x.astype(numpy.float32))


def test_arrays_of_any_layout(mlp, x, answer):
    s = ampc.Session(mlp)
    fortran = numpy.asfortranarray(x)
    strided = numpy.zeros((4, 8), numpy.float32)[::2, ::2]
    strided[...] = x
    swapped = x.astype(">f4")
    unaligned = numpy.frombuffer(b"\0" + x.tobytes(), numpy.uint8)[1:].view(numpy.float32).reshape(2, 4)
    readonly = x.copy()
    readonly.flags.writeable = False
    for feed in (fortran, strided, unaligned, readonly, pickle.loads(pickle.dumps(x)), x.tolist(), swapped.astype("=f4")):
        numpy.testing.assert_allclose(s(x=feed), answer, rtol=1e-6)
    assert s(x=numpy.zeros((0, 4), numpy.float32)).shape == (0, 3)


def test_scalars():
    s = program("  feed x : f32 []\n  y = exp(x) : f32 []\n  fetch y")
    assert s(x=numpy.float32(0)).shape == ()
    assert s(x=0.0) == 1


def test_wrong_feeds_are_one_sentence(mlp, x):
    s = ampc.Session(mlp)
    for feeds, sentence in (
        ({}, "feed 'x' is missing, the model needs x"),
        ({"x": x, "z": x}, "the model has no feed 'z'; it has x"),
        ({"x": x.astype(numpy.float64)}, "feed 'x' is float64, the model needs float32"),
        ({"x": x[:, :3]}, "feed 'x' has dims [2, 3], the model needs f32 [?, 4]"),
    ):
        with pytest.raises(ampc.UsageError) as error:
            s.run(None, feeds)
        assert str(error.value) == sentence
        assert error.value.exit_code == 2 and isinstance(error.value, ValueError)
    with pytest.raises(ampc.UsageError, match="the model has no output 'w'; it has y"):
        s.run(["w"], {"x": x})


def test_habits_are_answered(mlp, x):
    for feeds in (x, [x], "x", 3, None):
        with pytest.raises(ampc.UsageError, match="feeds are a dict of arrays by name, {'x': ...}, not "):
            ampc.Session(mlp).run(None, feeds)
    with pytest.raises(ampc.UsageError, match="here it is device="):
        ampc.Session(mlp, providers=["CPUExecutionProvider"])
    with pytest.raises(ampc.UsageError, match="feed 'x' is <U3, the model needs float32"):
        ampc.Session(mlp).run(None, {"x": "abc"})


def test_measured_choices_are_kept(tmp_path):
    text = "  feed x : f32 [?, 4]\n  const w : f32 [4, 3] = 0.5\n  y = matmul_v2(x, w) : f32 [?, 3]\n  fetch y"
    x, choices = numpy.ones((2, 4), numpy.float32), tmp_path / "choices.json"
    first = program(text, tune_plans=str(choices)).run(None, {"x": x})[0]
    kept = choices.read_text()
    assert "onednn:" in kept
    numpy.testing.assert_array_equal(program(text, tune_plans=str(choices)).run(None, {"x": x})[0], first)
    assert choices.read_text() == kept


def test_bad_models_are_one_sentence(tmp_path):
    with pytest.raises(ampc.BadInput, match="absent.onnx: no such file"):
        ampc.Session(str(tmp_path / "absent.onnx"))
    with pytest.raises(ampc.BadInput, match="model.onnx"):
        ampc.Session(b"not a model at all")
    with pytest.raises(ampc.UsageError, match="there is no option|device|place"):
        ampc.Session(b"", device="nowhere")
    with pytest.raises(TypeError, match="a model is a path, bytes"):
        ampc.Session({"x.onnx": 7})


def test_large_results_are_arrays_over_native_memory():
    s = program("  feed x : f32 [?]\n  y = relu(x) : f32 [?]\n  fetch y")
    x = numpy.arange(1 << 20, dtype=numpy.float32)
    y = s(x=x)
    assert not y.flags.owndata and y.flags.writeable
    kept = y[::1024]
    del y, s
    gc.collect()
    numpy.testing.assert_array_equal(kept, x[::1024])


def test_memory_does_not_grow(mlp):
    resource = pytest.importorskip("resource")
    s = program("  feed x : f32 [?]\n  y = relu(x) : f32 [?]\n  fetch y")
    x = numpy.ones(1 << 20, numpy.float32)
    for _ in range(10):
        s(x=x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):  # 800 MB of results
        s(x=x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_threads_share_a_session(mlp, x, answer):
    s = ampc.Session(mlp, threads=1)
    wrong = []

    def run():
        for _ in range(200):
            if not numpy.allclose(s(x=x), answer):
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_lock_of_python_is_released():
    n = 1200
    s = program("  feed x : f32 [%d, %d]\n  a = matmul_v2(x, x) : f32 [%d, %d]\n  y = matmul_v2(a, x) : f32 [%d, %d]\n  fetch y" % ((n,) * 6))
    x = numpy.full((n, n), 1e-3, numpy.float32)
    s(x=x)
    turns = 0
    runner = threading.Thread(target=lambda: [s(x=x) for _ in range(5)])
    runner.start()
    while runner.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 5


def test_results_go_to_other_frameworks_by_dlpack(mlp, x, answer):
    y = ampc.Session(mlp)(x=x)
    numpy.testing.assert_allclose(numpy.from_dlpack(y), answer, rtol=1e-6)


def test_repr_and_metadata(mlp, small):
    assert repr(ampc.Session(mlp)) == "ampc.Session(x: float32[None, 4] -> y: float32[None, 3])"
    assert ampc.Session(mlp).get_modelmeta().custom_metadata_map == {}
    assert isinstance(ampc.Session(small[0]).get_modelmeta().producer_name, str)
