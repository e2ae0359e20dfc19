"""Random operators draw the same numbers on any devices, others in each run, and
numbers that are distributed as the operator says."""

import sys

import numpy as np
import onnx
import pytest
from conftest import ROOT
from control_flow import INT, model, node, value

sys.path.insert(0, str(ROOT / "python"))
import divisi as package  # noqa: E402

SIZE = 96
PROBABILITIES = np.array([0.1, 0.2, 0.3, 0.4], np.float32)


def drawn(divisi, devices, runs=2):
    """What each run draws."""
    shape = (SIZE, SIZE)
    onnx.save(model([
        node("RandomNormal", "", "normal", shape=shape, mean=2.0, scale=3.0),
        node("RandomNormalLike", "x", "like"),
        node("RandomUniform", "", "uniform", shape=shape, low=-1.0, high=4.0),
        node("RandomUniformLike", "x", "seeded", seed=7.0),
        node("RandomUniformLike", "x", "again", seed=7.0),
        node("Bernoulli", "p", "coins"),
        node("Multinomial", "logits", "classes", sample_size=4000,
             dtype=onnx.TensorProto.INT64),
        node("Add", "x like", "used")],
        [value("x", shape)],
        [value(n, shape) for n in ("normal", "used", "uniform", "seeded",
                                   "again", "coins")] +
        [value("classes", (2, 4000), INT)],
        {"p": np.full(shape, 0.3, np.float32),
         "logits": np.log(np.stack([PROBABILITIES, PROBABILITIES[::-1]]))}),
        divisi.path("m.onnx"))
    divisi("compile", "m.onnx", "--devices", devices, "-o", "m.divisi")
    session = package.Session(package.load(divisi.path("m.divisi")))
    x = np.zeros(shape, np.float32)
    return [{n: np.array(t) for n, t in session.run({"x": x}).items()}
            for _ in range(runs)]


@pytest.mark.parametrize("devices", [2, 3])
def test_any_devices_draw_the_same(divisi, devices):
    for one, many in zip(drawn(divisi, 1), drawn(divisi, devices)):
        for name, want in one.items():
            if name in ("uniform", "seeded", "again", "coins", "classes"):
                assert np.array_equal(many[name], want), name
            else: # a logarithm and a cosine, of one kernel or another
                np.testing.assert_allclose(many[name], want, rtol=1e-5,
                                           atol=1e-6)


def test_each_run_draws_others(divisi):
    first, second = drawn(divisi, 1)
    for name in first:
        assert (first[name] != second[name]).any(), name
    assert not np.array_equal(first["seeded"], first["uniform"])
    assert np.array_equal(first["seeded"], first["again"])


def test_numbers_are_distributed_as_said(divisi):
    [run] = drawn(divisi, 1, runs=1)
    n = SIZE * SIZE

    def assert_normal(x, mean, scale):
        z = np.sort((x.ravel() - mean) / scale)
        assert abs(z.mean()) < 4 / np.sqrt(n) and abs(z.std() - 1) < 4 / n**.5
        # Thirds of a standard normal, and what is far out.
        assert abs((z < -0.43073).mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / n)
        assert abs((abs(z) < 1.96).mean() - 0.95) < 4 * np.sqrt(.0475 / n)

    assert_normal(run["normal"], 2, 3)
    assert_normal(run["used"], 0, 1)
    uniform = (run["uniform"] + 1) / 5
    assert uniform.min() >= 0 and uniform.max() <= 1
    counts, _ = np.histogram(uniform, bins=16, range=(0, 1))
    assert ((counts - n / 16)**2 / (n / 16)).sum() < 45 # p of 1e-4, 15 degrees
    assert set(np.unique(run["coins"])) == {0, 1}
    assert abs(run["coins"].mean() - 0.3) < 4 * np.sqrt(0.21 / n)
    for row, p in zip(run["classes"], (PROBABILITIES, PROBABILITIES[::-1])):
        share = np.bincount(row, minlength=4) / len(row)
        assert (abs(share - p) < 4 * np.sqrt(p * (1 - p) / len(row))).all()
