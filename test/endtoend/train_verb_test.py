"""divisi train: samples in an order, losses, checkpoints, and what goes wrong."""

import json
import re
import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper
from share import is_sweep
from train_runs import (BATCH, checkpoints, compile_classifier, losses, order,
                        samples, save, save_identity, state, train, write_data)

pytestmark = pytest.mark.as_written

USAGE, FILES, CONTENT = 2, 3, 4


@pytest.fixture
def ready(divisi):
    compile_classifier(divisi)
    write_data(divisi.path("data"))
    return divisi


# Samples.

@pytest.mark.sample()
@pytest.mark.parametrize("devices, launch", [(1, []), (2, []),
                                             (2, ["--launch", 2])])
def test_order_is_that_of_the_seed_alone(divisi, devices, launch):
    """Each loss is the number of its sample; epochs differ, devices do not."""
    save_identity(divisi.path("m.onnx"))
    divisi("compile", "m.onnx", "--train", "--loss", "output", "--optimizer",
           "sgd", "--lr", 0, "--devices", devices, "-o", "m.divisi")
    numbers = np.arange(11, dtype=np.float32)
    divisi.path("data").mkdir()
    x = np.stack([numbers, 0 * numbers], 1)
    np.save(divisi.path("data/a.x.npy"), x[:4])
    np.save(divisi.path("data/b.x.npy"), x[4:])
    found = losses(divisi, "--steps", 22, "--seed", 7, *launch)
    assert list(found.values()) == order(7, 11, 0) + order(7, 11, 1)
    assert sorted(order(7, 11, 0)) == list(range(11)) != order(7, 11, 0)
    if is_sweep():
        for count in (1, 255, 256, 257, 5000):
            assert sorted(order(3, count, 2)) == list(range(count))


def test_loss_falls_on_any_devices(divisi):
    write_data(divisi.path("data"))
    found = {}
    for devices in (1, 4):
        compile_classifier(divisi, devices, f"{devices}.divisi")
        processes = [["--launch", 2]] if devices > 1 and is_sweep() else []
        for launch in [[], *processes]:
            found[devices, bool(launch)] = losses(
                divisi, "--steps", 40, "--no-checkpoint", *launch,
                artifact=f"{devices}.divisi")
    one = list(found[1, False].values())
    assert one[-1] < one[0] / 3
    for other in found.values():
        np.testing.assert_allclose(list(other.values()), one, rtol=1e-3)
    assert found[4, False] == found.get((4, True), found[4, False])


def test_lines_and_notes(ready):
    data = samples(100)
    np.savez_compressed(ready.path("data/part-1.npz"), spare=np.ones(5),
                        **{n: v[30:35] for n, v in data.items()})
    result = train(ready, "--steps", 15)
    assert re.search(
        r"note: 100 samples in 3 shards: an epoch has 12 steps of 8, and leaves "
        r"out the last 4 of its order", result.err), result.err
    assert ("no input is called 'spare': these arrays are not read" in
            result.err)
    assert re.search(r"of samples are in memory, as they are compressed or in "
                     r"Fortran's order", result.err)
    assert re.search(r"^step 15/15  loss [\d.]+  [\d.]+ K?samples/s  [\d.]+ [KM]iB "
                     r"per device$", result.err, re.M), result.err
    assert re.search(r"^trained 15 steps in .*: loss [\d.]+ -> [\d.]+, ",
                     result.err, re.M)
    assert "wrote m.checkpoints/step-0000000015: checkpoint of step 15" in result.err
    line = json.loads(train(ready, "--steps", 1, "--json", "--no-checkpoint").out)
    assert set(line) == {"step", "loss", "epoch", "seconds",
                         "samples_per_second", "bytes_per_device"}


def test_inputs_that_every_step_has(ready):
    """What --inputs gives is no data; npy in columns are read."""
    data = samples(24)
    shutil.rmtree(ready.path("data"))
    ready.path("data").mkdir()
    np.save(ready.path("data/x.npy"), np.asfortranarray(data["x"]))
    np.save(ready.path("t.npy"), data["labels"][:BATCH])
    found = losses(ready, "--steps", 2, "--inputs", "labels=t.npy")
    assert len(found) == 2
    assert "has no input that samples are for" in train(
        ready, "--steps", 2, "--inputs", "labels=t.npy", "--inputs", "x=x.npy",
        "--no-checkpoint", exits=USAGE,
        **given(ready, x=data["x"][:BATCH])).err


def given(divisi, **arrays):
    for name, array in arrays.items():
        np.save(divisi.path(f"{name}.npy"), array)
    return {}


def rewrite(divisi, **arrays):
    shutil.rmtree(divisi.path("data"))
    divisi.path("data").mkdir()
    for name, array in arrays.items():
        np.save(divisi.path(f"data/{name.replace('__', '.')}.npy"), array)


BAD_DATA = [
    (dict(), FILES, "the folder 'data' has no samples; expected SHARD.npz with "
                    "an array for each input ('x', 'labels'), or a file"),
    (dict(y=np.ones(3)), CONTENT,
     "is not named after an input ('x', 'labels'); expected INPUT.npy or"),
    (dict(x=np.ones((9, 6), np.float32)), CONTENT,
     "'data/x.npy' has no samples of 'labels' beside it; a shard has those of "
     "every input"),
    (dict(x=np.ones((9, 5), np.float32), labels=np.ones(9, int)), CONTENT,
     "'data/x.npy': the samples of 'x' are f32[9, 5]; expected f32[6] each, "
     "behind their number, as the input is f32[8, 6]"),
    (dict(x=np.ones((9, 6)), labels=np.ones(9, int)), CONTENT,
     "as the input is f32[8, 6]; astype converts them"),
    (dict(x=np.ones((9, 6), np.float32), labels=np.ones(8, int)), CONTENT,
     "'data/labels.npy' has 8 samples of 'labels', and 'data/x.npy' 9 of 'x'"),
    (dict(x=np.ones((7, 6), np.float32), labels=np.ones(7, int)), CONTENT,
     "the folder 'data' has 7 samples, and a step takes 8; compile the model "
     "for a smaller batch"),
]


def test_data_that_does_not_fit(ready):
    for arrays, code, message in BAD_DATA:
        rewrite(ready, **arrays)
        result = train(ready, "--steps", 1, exits=code)
        assert message in result.err, result.report(message)
    data = samples(9)
    rewrite(ready, x=data["x"], labels=data["labels"])
    np.savez(ready.path("data/a.npz"), **data)
    np.save(ready.path("data/a.x.npy"), data["x"])
    assert ("'data/a.npz' and 'data/a.x.npy' both have the samples of 'x' of one "
            "shard; rename one" in train(ready, "--steps", 1, exits=CONTENT).err)
    (ready.path("data/a.npz")).write_bytes(b"PK\3\4 no archive")
    assert "'data/a.npz'" in train(ready, "--steps", 1, exits=CONTENT).err
    result = ready("train", "m.divisi", "--data", "lost", "--steps", 1,
                   exits=FILES)
    assert "cannot read the folder 'lost': No such file" in result.err


FLAGS = [
    (["--steps", 0], "--steps 0: expected at least 1"),
    (["--steps", 1, "--keep", 0], "--keep 0: expected at least 1"),
    (["--steps", 1, "--save-every", -1], "--save-every -1: expected at least 0"),
    (["--steps", 1, "--on-nonfinite", "weep"],
     "--on-nonfinite 'weep': expected stop or skip"),
    (["--steps", 1, "--no-checkpoint", "--resume"],
     "--no-checkpoint goes without --checkpoint, --resume and --save-every"),
]


def test_options_that_say_nothing(ready):
    for flags, message in FLAGS:
        assert message in train(ready, *flags, exits=USAGE).err
    assert "where are the samples? --data takes a folder" in ready(
        "train", "m.divisi", "--steps", 1, exits=USAGE).err
    ready("compile", "m.onnx", "-o", "f.divisi")
    rewrite(ready, x=samples(9)["x"])
    assert ("trains nothing: it updates no globals; divisi compile --train makes "
            "training steps" in train(ready, "--steps", 1, artifact="f.divisi",
                                      exits=USAGE).err)


def test_what_is_no_batch(divisi):
    save_identity(divisi.path("m.onnx"))
    divisi("compile", "m.onnx", "--train", "--loss", "mse", "--loss-of", "loss",
           "--optimizer", "sgd", "--lr", 0, "-o", "m.divisi")
    write_data(divisi.path("data"))
    assert ("the first extent of an input is the batch, and 'labels' is f32[]; "
            "give what is the same in every step by --inputs" in
            train(divisi, "--steps", 1, exits=USAGE).err)


# What is not finite.

def save_root(path):
    """The square root of w * x, whose loss is finite where x is 0, and whose
    gradient is not."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["y"]),
             helper.make_node("Sqrt", ["y"], ["z"]),
             helper.make_node("ReduceSum", ["z"], ["loss"], keepdims=0)]
    save(path, nodes, [("x", TensorProto.FLOAT, [1, 2])], [("loss", [])],
         {"w": np.ones(2, np.float32)})


@pytest.mark.parametrize("launch", [[], ["--launch", 2]])
def test_weights_that_are_not_finite(divisi, launch):
    """A step with a finite loss makes them; no checkpoint has them."""
    save_root(divisi.path("m.onnx"))
    divisi("compile", "m.onnx", "--train", "--loss", "output", "--optimizer",
           "adamw", "--lr", 0.01, "--devices", 2, "-o", "m.divisi")
    x = np.ones((6, 2), np.float32)
    x[order(0, 6, 0)[2]] = 0
    divisi.path("data").mkdir()
    np.save(divisi.path("data/a.x.npy"), x)
    result = train(divisi, "--steps", 6, "--save-every", 1, *launch,
                   exits=CONTENT)
    assert re.search(
        r"step 3: the checkpoint could not be saved: .*global 'w.*' has elements "
        r"that are not finite; divisi compile --skip-nonfinite makes .*; the last "
        r"checkpoint is 'm.checkpoints/step-0000000002'", result.err), result.err
    assert checkpoints(divisi) == ["step-0000000001", "step-0000000002"]
    result = train(divisi, "--steps", 6, "--no-checkpoint", *launch,
                   exits=CONTENT)
    assert ("step 4: the loss is not finite (nan); step 3 or one before it may "
            "have made weights that are not, which --save-every 1 tells; "
            "--on-nonfinite skip" in result.err), result.err
    result = train(divisi, "--steps", 3, "--resume", "--on-nonfinite", "skip",
                   *launch)
    assert re.search("step 3 is undone: .*global 'w.*' has elements that are not",
                     result.err), result.err
    assert ("nothing is trained behind step 2: undone at the end, one by one: 1 "
            "step" in result.err), result.err
    found = losses(divisi, "--steps", 6, "--resume", "--on-nonfinite", "skip",
                   *launch)
    assert np.isfinite(list(found.values())).all()


# Losses.

@pytest.mark.parametrize("label, said", [
    (77, r"index 77 .*; input 'labels' has it"),
    # Not a class counted from the end.
    (-1, r"index -\d+ .* is outside of an extent of 4; labels are 0 to 3; "
         r"input 'labels' has -1")])
def test_labels_without_a_class_are_found(ready, label, said):
    data = samples(100)
    data["labels"][33] = label
    write_data(ready.path("data"), labels=data["labels"])
    result = train(ready, "--steps", 13, "--save-every", 1, exits=CONTENT)
    message = (r"step \d+: entry 'train_step': .*" + said +
               r" in sample 33 \(row 3 of 'part-1.npz'\); the last checkpoint is")
    if order(0, 100, 0).index(33) < BATCH:
        message = message.replace("the last checkpoint is",
                                  "there is no checkpoint")
    assert re.search(message, result.err), result.err


def test_losses_that_are_not_finite(ready):
    data = samples(100)
    data["x"][order(0, 100, 0)[17]] = np.nan
    write_data(ready.path("data"), x=data["x"])
    result = train(ready, "--steps", 5, "--save-every", 1, exits=CONTENT)
    assert ("step 3: the loss is not finite (nan); --on-nonfinite skip undoes such "
            "steps, and a smaller --lr" in result.err), result.err
    assert "; the last checkpoint is 'm.checkpoints/step-0000000002'" in result.err
    before = state(ready.path("m.checkpoints/step-0000000002"))
    result = train(ready, "--steps", 3, "--resume", "--on-nonfinite", "skip",
                   "--json")
    assert "step 3 is undone: its loss is nan" in result.err
    line = json.loads(result.out)
    assert line["loss"] is None and line["skipped"] is True
    after = state(ready.path("m.checkpoints/step-0000000003"))
    assert all(np.array_equal(before[n], after[n]) for n in before)
    found = losses(ready, "--steps", 6, "--resume", "--on-nonfinite", "skip")
    assert np.isfinite(list(found.values())).all()
