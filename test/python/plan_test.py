"""Plans: made from models in every form, explained, changed, compiled."""

import gc
import os
import random
import re
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import onnx
import pytest
from conftest import ROOT, compile_file, model_of, perceptron
from share import sample_size

import divisi


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(perceptron(), path)
    return path


@pytest.fixture(scope="module")
def plan():
    with divisi.plan(perceptron(), devices=2) as made:
        yield made


def test_model_in_every_form(model_file, x):
    expected = divisi.Session(divisi.compile(model_file, devices=2)).run(x)["y"]
    content = model_file.read_bytes()
    for model in (str(model_file), content, bytearray(content), perceptron()):
        artifact = divisi.compile(model, devices=2)
        assert artifact.devices == 2
        np.testing.assert_array_equal(divisi.Session(artifact).run(x)["y"],
                                      expected)


def test_artifact_is_that_of_the_command_line(model_file, tmp_path):
    compile_file(model_file, tmp_path / "cli.divisi", "--devices=2")
    kept = divisi.compile(model_file, devices=2)
    written = divisi.compile(model_file, tmp_path / "api.divisi", devices=2)
    expected = (tmp_path / "cli.divisi").read_bytes()
    assert bytes(kept) == bytes(written) == expected
    assert kept.path is None and written.path == tmp_path / "api.divisi"
    kept.save(tmp_path / "copy.divisi")
    assert (tmp_path / "copy.divisi").read_bytes() == expected


@pytest.mark.parametrize("form", ["bytes", "proto"])
def test_external_data(tmp_path, x, form):
    onnx.save(perceptron(), tmp_path / "m.onnx", save_as_external_data=True,
              location="m.data", size_threshold=0)
    path = tmp_path / "m.onnx"
    expected = divisi.Session(divisi.compile(path)).run(x)["y"]
    model = path.read_bytes() if form == "bytes" else onnx.load(
        path, load_external_data=False)
    session = divisi.Session(divisi.compile(model, external_data=tmp_path))
    np.testing.assert_array_equal(session.run(x)["y"], expected)
    if form == "proto":  # It is the caller's.
        assert model.graph.initializer[0].data_location == \
            onnx.TensorProto.EXTERNAL
    with pytest.raises(divisi.UsageError, match="for a model that is no file"):
        divisi.plan(path, external_data=tmp_path)


def test_external_weights_need_a_path(model_file, tmp_path):
    onnx.save(perceptron(), tmp_path / "m.onnx", save_as_external_data=True,
              location="m.data", size_threshold=0)
    with divisi.plan(tmp_path / "m.onnx", weights="external") as plan:
        with pytest.raises(divisi.UsageError, match="give compile.. a path"):
            plan.compile()
        artifact = plan.compile(tmp_path / "m.divisi")
    assert divisi.Session(artifact).run(np.ones((8, 16), "f4"))["y"].shape


def test_options_are_those_of_the_command_line(tmp_path):
    model = model_of(
        "m (float[N, 4] x, int64[2] s) => (float[M, K] y)"
        "{ a = Relu(x) y = Reshape(a, s) }")
    warnings.simplefilter("ignore", divisi.DivisiWarning)
    plan = divisi.plan(model, devices=4, mesh={"a": 2, "b": 2},
                       dims={"N": 6}, constants={"s": np.array([8, 3])},
                       memory_limit="1GiB", shapes={"x": (6, 4)}, seed=3,
                       no_overlap=True, progress=False)
    data = plan.explain("dict")
    assert data["memory"]["limit_is_given"] and data["plan"]["seed"] == 3
    assert data["grids"][0]["axes"].startswith("(a=2, b=2)")
    session = divisi.Session(plan.compile())
    x = np.arange(24, dtype="f4").reshape(6, 4)
    np.testing.assert_array_equal(session.run(x)["y"], x.reshape(8, 3))


@pytest.mark.parametrize("options, kind, message", [
    ({"foo": 1}, divisi.UsageError, "unknown option '--foo'"),
    ({"devices": 0}, divisi.UsageError, "number of devices is 0"),
    ({"output": "x"}, divisi.UsageError, "output"),
    ({"shapes": {"x": 3}}, divisi.UsageError, "input 'x': got 3"),
    ({"shapes": 3}, divisi.UsageError, "shapes: got a int, expected a mapping"),
    ({"memory_limit": 10}, divisi.InfeasibleError, "memory limit of 10 bytes"),
    ({"cluster": "a\0b"}, divisi.UsageError, "no byte 0"),
    ({"cluster": "/none.yaml"}, divisi.FileError, "none.yaml")])
def test_wrong_options(options, kind, message):
    with pytest.raises(kind, match=message) as caught:
        divisi.plan(perceptron(), **options)
    assert caught.value.code == kind.code


@pytest.mark.parametrize("model, kind, message", [
    ("/none.onnx", divisi.FileError, "none.onnx"),
    (b"", divisi.InvalidError, ""), (b"\x08\x0a" * 9, divisi.InvalidError, ""),
    (3, divisi.UsageError, "is a int; expected a path"),
    (None, divisi.UsageError, "expected a path, bytes or an onnx.ModelProto")])
def test_wrong_models(model, kind, message):
    with pytest.raises(kind, match=message or "."):
        divisi.plan(model)


def test_unsupported_operator_is_named():
    model = model_of("m (float[2] x) => (float[2] y) { y = com.x.Foo(x) }")
    model.opset_import.append(onnx.helper.make_opsetid("com.x", 1))
    model.graph.node[0].domain, model.graph.node[0].op_type = "com.x", "Foo"
    with pytest.raises(divisi.UnsupportedError, match="Foo") as caught:
        divisi.plan(model)
    assert isinstance(caught.value, NotImplementedError)


def test_plan_is_explained(plan):
    text = plan.explain()
    assert isinstance(text, str) and "on one device" in repr(text)
    data = plan.explain("dict")
    assert plan.price == data["predicted_nanoseconds"] / 1e9 > 0
    assert set(plan["*"].split) == {row["node"] for row in data["rows"]
                                    if row["op"].startswith("nn.")}
    page = plan._repr_html_()
    assert "<table>" in page and "speed-up" in page and "nn.matmul" in page
    assert "us" in repr(plan) or "ns" in repr(plan)
    with pytest.raises(divisi.UsageError, match="'text' or 'dict'"):
        plan.explain("pdf")


def test_html_shows_names_as_they_are():
    model = perceptron()
    model.graph.node[0].name = "<script>&"
    with divisi.plan(model, devices=2) as plan:
        page = plan._repr_html_()
    assert "&lt;script&gt;&amp;" in page and "<script>" not in page


def test_plan_is_dumped_and_read_again(plan, tmp_path, x):
    assert "spmd.split" in plan.dump() and "exec.program" in plan.dump("lower")
    with pytest.raises(divisi.UsageError, match="no stage 'x'"):
        plan.dump("x")
    plan_file = tmp_path / "plan.mlir"
    plan_file.write_text(plan.dump())
    again = divisi.compile(plan_file)
    assert again.devices == 2 and bytes(again) == bytes(plan.compile())
    np.testing.assert_array_equal(
        divisi.Session(again).run(x)["y"],
        divisi.Session(plan.compile()).run(x)["y"])


def test_split_is_set_and_priced(x):
    expected = divisi.Session(divisi.compile(perceptron())).run(x)["y"]
    with divisi.plan(perceptron(), devices=2) as plan:
        before, found = plan.dump(), plan.price
        assert plan["*"].split == {"a": "m@x0", "b": "d0@x0", "y": "m@x0"}
        plan["nn.matmul"].split = "n@x0"
        assert plan["*"].split == {"a": "n@x0", "b": "d0@x0", "y": "n@x0"}
        told = plan.price
        assert told > 2 * found
        data = plan.explain("dict")
        assert data["predicted_nanoseconds"] / 1e9 == pytest.approx(told)
        assert data["plan"]["edited"] and "us a run" in repr(plan)
        y = divisi.Session(plan.compile()).run(x)["y"]
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
        plan["nn.matmul"].split = ""
        assert plan["a"].split == {"a": ""}
        # Each of these leaves the plan as it is.
        edited = plan.dump()
        for name, split, kind, message in (
                ("*", "q@x0", divisi.UsageError, "no operator that is called "
                 "'\\*' has the loops of 'q@x0'; loops are m, n, k of "
                 "nn.matmul; d0, d1 of nn.relu"),
                ("a", "k@x0, n@x0", divisi.InvalidError, "'x0' is used twice"),
                ("a", "m@y", divisi.InvalidError, "no axis 'y'"),
                ("z", "m@x0", divisi.UsageError, "no operator is called 'z'"),
                ("a", "m@x0>", divisi.UsageError, "'m@x0>' is no strategy"),
                ("a", "@h: m@x0", divisi.UsageError, "is of the grid @h; the "
                 "plan's is @g"),
                ("a", 3, divisi.UsageError, "a strategy is a text"),
                (3, "m@x0", divisi.UsageError, "found by a name, not by 3")):
            with pytest.raises(kind, match=message):
                plan[name].split = split
            assert plan.dump() == edited
        plan["*"].split = "@g: m@x0"  # b has no m
        assert plan.price == found
        without = re.sub(r"edited = (true|false)", "", plan.dump())
        assert without == re.sub(r"edited = (true|false)", "", before)


def test_random_splits_are_refused_or_right(x):
    """Of operators by their loops and the grid's axes; results are the same."""
    expected = divisi.Session(divisi.compile(perceptron())).run(x)["y"]
    choose, accepted = random.Random(1), 0
    with divisi.plan(perceptron(), devices=4, mesh=(2, 2)) as plan:
        for _ in range(sample_size(200, 20)):
            row = choose.choice(plan.layouts["operators"])
            loops = choose.sample(sorted(row["loops"]), choose.randint(0, 2))
            axes = choose.sample(["x0", "x1", "x0.x1"], 2)
            try:
                plan[row["node"]].split = ", ".join(
                    f"{loop}@{axis}" for loop, axis in zip(loops, axes))
                accepted += 1
            except divisi.InvalidError as error:
                assert "is used twice" in str(error), error
                continue
            y = divisi.Session(plan.compile()).run(x)["y"]
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
    assert accepted >= 10


def test_texts_that_are_no_splits_change_nothing(plan):
    choose, before = random.Random(2), plan.dump()
    words = ["m", "@x0", "x0", "@", ".", ",", " ", ":", "carry", "@g", "in", "0",
             "9" * 30, "{", "]", "<", ">", '"', "\\", "é", "\n", "#x", "!"]
    for _ in range(sample_size(2000)):
        text = "?" + "".join(choose.choices(words, k=choose.randint(0, 8)))
        with pytest.raises((divisi.UsageError, divisi.InvalidError)):
            plan["nn.matmul"].split = text
    assert plan.dump() == before


def test_layouts_are_those_of_the_plan(plan):
    layouts = plan.layouts
    assert layouts["grids"] == [{"name": "g", "axes": "(x0=2)",
                                 "devices": [0, 1]}]
    [a, b, y] = layouts["operators"]
    assert a == {"entry": "forward", "layer": "", "node": "a", "grid": "g",
                 "op": "nn.matmul", "split": "m@x0", "results": ["[x0, *]"],
                 "operands": ["[x0, *]", "[*, *]"],
                 "operand_shapes": [[8, 16], [16, 32]],
                 "result_shapes": [[8, 32]],
                 "loops": {"m": 8, "n": 32, "k": 16}}
    assert plan["nn.relu"].layouts == [b] and plan["y"].layouts == [y]
    places = {tensor["name"]: tensor["layout"] for tensor in layouts["tensors"]}
    assert places == {"w": "[*, *]", "v": "[*, *]", "x": "[x0, *]",
                      "y": "[x0, *]"}
    told = plan.explain("dict")
    assert told["globals"] + told["tensors"] == layouts["tensors"]


def test_operators_of_one_node_are_told_apart():
    model = model_of("m (float[4, 8] x) => (float[4, 8] y)"
                     "{ [one] a = Gemm(x, w, b) [two] y = Gelu(a) }",
                     w=np.ones((8, 8), "f4"), b=np.ones(8, "f4"))
    with divisi.plan(model, devices=2) as plan:
        assert set(plan["*"].split) == {"one (nn.matmul)", "one (nn.add)", "two"}
        plan["*"].split = "n@x0"
        assert plan["one"].split["one (nn.matmul)"] == "n@x0"
        assert set(plan["nn.matmul"].split) == {"one"}


TWO_GRIDS = """
spmd.grid @g (x=2) devices [0, 1]
spmd.grid @h (y=2) devices [2, 3]
func.func @f(%x: tensor<4x4xf32> {nn.name = "x",
      spmd.place = #spmd.place<@g: [x, *]>})
    -> (tensor<4x4xf32> {nn.name = "y", spmd.place = #spmd.place<@h: [y, *]>}) {
  %a = nn.relu %x {spmd.split = #spmd.split<@g: d0@x>}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = nn.tanh %a {spmd.split = #spmd.split<@h: d0@y>}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}
"""


def test_split_of_what_is_no_plan_on_one_grid(plan, tmp_path):
    file = tmp_path / "two.mlir"
    file.write_text(TWO_GRIDS)
    with divisi.plan(file) as two:
        assert [row["grid"] for row in two.layouts["operators"]] == ["g", "h"]
        with pytest.raises(divisi.UsageError, match="the plan has 2 grids; "
                           "strategies are set only in plans on one grid"):
            two["relu"].split = ""
    file.write_text(plan.dump("partition"))
    with divisi.plan(file) as later:
        with pytest.raises(divisi.UsageError, match="the module is at the "
                           "stage partition; strategies are set at the stage"):
            later["relu"].split = ""
        with pytest.raises(divisi.UsageError, match="none after plan"):
            later.layouts


def test_plan_works_no_more_once_closed():
    made = divisi.plan(perceptron())
    made.close()
    made.close()
    for call in (made.compile, made.explain, made.dump):
        with pytest.raises(divisi.UsageError, match="the plan is closed"):
            call()
    made.cancel()


def test_nothing_is_left_open(tmp_path):
    """Python tells of files and folders that nobody has closed, if asked."""
    text = """
        import gc, sys
        sys.path.insert(0, sys.argv[1])
        import numpy as np
        import divisi
        with divisi.plan(sys.argv[2], constants={"c": np.ones(4, "f4")}) as plan:
            artifact = plan.compile()
        session = divisi.Session(artifact)
        session.run(np.ones(4, "f4"))
        del artifact, session, plan
        gc.collect()
        divisi.compile(sys.argv[2], constants={"c": np.ones(4, "f4")})
    """
    onnx.save(model_of("m (float[4] x, float[4] c) => (float[4] y)"
                       "{ y = Add(x, c) }"), tmp_path / "m.onnx")
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(text),
         ROOT / "python", tmp_path / "m.onnx"], capture_output=True, text=True,
        env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_compilers_end_with_their_plans():
    def children():
        return set(subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(os.getpid())],
            capture_output=True, text=True).stdout.split())

    before = children()
    plans = [divisi.plan(perceptron()) for _ in range(3)]
    assert len(children() - before) >= 3
    del plans
    gc.collect()
    assert len(children() - before) <= 1  # ps itself
