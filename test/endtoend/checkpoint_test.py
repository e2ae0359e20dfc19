"""Checkpoints of divisi train: written, killed, damaged, of others, and cut anew."""

import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import PROGRAM
from share import is_sweep
from train_runs import (STEP, checkpoints, compile_classifier, losses, samples,
                        state, train, write_data)

pytestmark = pytest.mark.as_written

USAGE, FILES, CONTENT, NEWER = 2, 3, 4, 10


@pytest.fixture
def ready(divisi):
    compile_classifier(divisi)
    write_data(divisi.path("data"))
    return divisi


def test_what_resumes_goes_on_as_if_nothing_were(ready):
    whole = losses(ready, "--steps", 20, "--seed", 5, "--checkpoint", "whole")
    half = losses(ready, "--steps", 9, "--seed", 5, "--save-every", 2)
    assert checkpoints(ready) == [f"step-{n:010}" for n in (6, 8, 9)]
    rest = losses(ready, "--steps", 20, "--resume", "--keep", 1)
    assert ("there is no checkpoint in 'none' yet: training begins with step 1" in
            train(ready, "--steps", 1, "--resume", "--checkpoint", "none").err)
    assert {**half, **rest} == whole
    assert checkpoints(ready) == ["step-0000000020"]
    ends = [state(ready.path(f"{folder}/step-0000000020"))
            for folder in ("whole", "m.checkpoints")]
    assert ends[0].keys() == ends[1].keys()
    assert all(np.array_equal(ends[0][n], ends[1][n]) for n in ends[0])
    for flags, code, message in [
            (["--resume"], 0, "step 20 is done already; --steps counts from"),
            (["--resume", "--seed", 4], USAGE,
             "--seed 4: the training began with 5; leave --seed out"),
            ([], USAGE, "there is a checkpoint already, 'm.checkpoints/step-"
                        "0000000020'; --resume goes on from it")]:
        assert message in train(ready, "--steps", 20, *flags, exits=code).err
    # A run that is killed before it removes the last one leaves that.
    shutil.copytree(ready.path("m.checkpoints/step-0000000020"),
                    ready.path("m.checkpoints/step-0000000016"))
    train(ready, "--steps", 20, "--resume", "--keep", 1)
    assert checkpoints(ready) == ["step-0000000020"]
    write_data(ready.path("data"), count=96)
    assert ("the data had 100 samples and has 96: training goes on with epoch 2"
            in train(ready, "--steps", 21, "--resume").err)


def test_other_devices_go_on(divisi):
    """Boxes are cut anew, of optimizer states too."""
    write_data(divisi.path("data"))
    for devices in (1, 3, 4):
        compile_classifier(divisi, devices, f"{devices}.divisi",
                           [*STEP, "--tensor-parallel-size", devices])
    whole = losses(divisi, "--steps", 12, "--no-checkpoint", artifact="1.divisi")
    found = {}
    runs = [("1", 3, []), ("4", 6, []), ("4", 9, ["--launch", 2]),
            ("3", 12, ["--launch", 3])]
    for artifact, steps, launch in runs:
        launch = launch if is_sweep() else []
        found |= losses(divisi, "--steps", steps, "--checkpoint", "c", "--resume",
                        *launch, artifact=f"{artifact}.divisi")
    np.testing.assert_allclose(list(found.values()), list(whole.values()),
                               rtol=1e-3)
    assert list(found) == list(whole)


def test_kill_at_any_moment(ready):
    """Resumed until it is done, it has done what one run does."""
    steps, every = 60, 4
    expected = losses(ready, "--steps", steps, "--checkpoint", "whole")
    begin = time.monotonic()
    train(ready, "--steps", steps, "--save-every", every, "--checkpoint", "timed")
    lasts = time.monotonic() - begin
    dice = random.Random(0)
    for number in range(30 if is_sweep() else 3):
        shutil.rmtree(ready.path("m.checkpoints"), ignore_errors=True)
        done = {}
        for attempt in range(100):
            process = subprocess.Popen(
                [PROGRAM, "train", "m.divisi", "--data", "data", "--steps",
                 str(steps), "--save-every", str(every), "--resume", "--json"],
                cwd=ready.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                out, err = process.communicate(
                    timeout=dice.uniform(0.02, lasts) if attempt < 3 else None)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
            lines = [json.loads(line) for line in out.decode().splitlines()
                     if line.endswith("}")]
            if lines:
                # No more than the steps behind the last checkpoint again.
                assert lines[0]["step"] >= max(done, default=0) + 1 - every
                done |= {line["step"]: line["loss"] for line in lines}
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL, err
        assert done == expected, number
        assert len(checkpoints(ready)) == 3
        ends = [state(ready.path(f"{folder}/step-{steps:010}"))
                for folder in ("whole", "m.checkpoints")]
        assert all(np.array_equal(ends[0][n], ends[1][n]) for n in ends[0])


def test_interrupts_end_behind_a_step(ready):
    process = subprocess.Popen(
        [PROGRAM, "train", "m.divisi", "--data", "data", "--steps", "1000000",
         "--json"], cwd=ready.folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    [name] = checkpoints(ready)
    assert f"wrote m.checkpoints/{name}: checkpoint of step" in err.decode()


def damaged(path, how, place):
    data = bytearray(path.read_bytes())
    at = int(place * (len(data) - 1))
    if how == "cut":
        return bytes(data[:at])
    data[at] ^= 1
    return bytes(data)


DAMAGES = ["' is damaged: it ends within '",
           "' is damaged: the bytes of '",
           "' is damaged: it does not end with the SHA-256 of the rest"]


def test_damaged_checkpoints_are_told(ready):
    """The older one is used; none is believed that is not whole."""
    train(ready, "--steps", 6, "--save-every", 2)
    folder = ready.path("m.checkpoints")
    names = checkpoints(ready)
    newest = folder / names[-1]
    shutil.copytree(folder, ready.path("good"))
    places = np.linspace(0, 1, 20) if is_sweep() else (0.01, 0.5, 0.999)
    for file in ("manifest.json", "rank-00000.safetensors"):
        content = (newest / file).read_bytes()
        for how in ("cut", "flip"):
            for place in places:
                (newest / file).write_bytes(
                    damaged(newest / file, how, place))
                result = train(ready, "--steps", 5, "--resume", exits=None)
                header = int.from_bytes(content[:8], "little") + 8
                at = int(place * (len(content) - 1))
                if file != "manifest.json" and how == "flip" and at < header:
                    # What no reader of checkpoints reads.
                    assert "step 6 is done already" in result.err
                else:
                    assert result.code == 0, result.report("it fails")
                    why = re.search(
                        rf"warning: the checkpoint '.*{names[-1]}' is not used: "
                        rf".*{file}('.*)", result.err)
                    assert why and any(said in why[1] for said in DAMAGES), (
                        result.err)
                    assert "going on behind step 4" in result.err
                shutil.rmtree(folder)
                shutil.copytree(ready.path("good"), folder)
    os.truncate(newest / "manifest.json", 5 << 30)
    assert "manifest.json' is longer than 4 GiB" in train(
        ready, "--steps", 5, "--resume").err
    for file in folder.glob("*/rank-00000.safetensors"):
        file.unlink()
    assert "no checkpoint in 'm.checkpoints' is good" in train(
        ready, "--steps", 7, "--resume", exits=CONTENT).err


def sealed(text):
    body = text[:text.rindex(',\n "sha256": "')]
    digest = hashlib.sha256(body.encode()).hexdigest()
    return f'{body},\n "sha256": "{digest}"}}\n'


BAD_MANIFESTS = [
    ('"divisi_checkpoint": 1', '"divisi_checkpoint": 2', NEWER,
     "a checkpoint of version 2; expected 1"),
    ('"step": ', '"step": -', CONTENT, "expected no negative number"),
    ('"seed": "0"', '"seed": "x"', CONTENT,
     "expected a number from 0 on, in quotes"),
    ('"file": "rank-00000.safetensors"', '"file": "../rank-00000.safetensors"',
     CONTENT, "expected the name of a file such as 'rank-00000.safetensors'"),
    ('"sha256": "', '"sha256": "x', CONTENT, "expected 64 hexadecimal digits"),
    ('"end": [16]', '"end": [17]', CONTENT, "expected a box in the tensor"),
    ('"end": [16]', '"end": [15]', CONTENT,
     "is damaged: a part of 'first.bias' is in none of its files"),
    ('"type": "f32"', '"type": "f33"', CONTENT,
     "expected a type, and a shape that fits it, before the boxes"),
    ('"dims": [16]', '"dims": [' + ", ".join(["1"] * 65) + "]", CONTENT,
     "expected at most 64 dimensions"),
    ('"name": "first.bias.mean"', '"name": "first.bias"', CONTENT,
     "expected each tensor once"),
]


def test_manifests_are_not_believed(ready):
    train(ready, "--steps", 1)
    path = ready.path("m.checkpoints/step-0000000001/manifest.json")
    text = path.read_text()
    assert sealed(text) == text
    for was, becomes, code, message in BAD_MANIFESTS:
        assert was in text, was
        path.write_text(sealed(text.replace(was, becomes, 1)))
        result = train(ready, "--steps", 2, "--resume", exits=code)
        assert message in result.err, result.report(message)


def test_mutated_manifests_crash_nothing(ready):
    """Their hash is right, so that all of the reader sees them."""
    train(ready, "--steps", 1)
    path = ready.path("m.checkpoints/step-0000000001/manifest.json")
    text = path.read_text()
    body = text[:text.rindex(',\n "sha256": "')]
    dice = random.Random(1)
    pieces = ["-", "9" * 20, "[", "]", "{", "}", '"', ",", "null", "1e99", ""]
    for _ in range(300 if is_sweep() else 8):
        at = dice.randrange(len(body))
        path.write_text(sealed(body[:at] + dice.choice(pieces)
                               + body[at + dice.randrange(4):]
                               + ',\n "sha256": "'))
        result = train(ready, "--steps", 1, "--resume", exits=None)
        assert result.code in (0, USAGE, FILES, CONTENT, NEWER), result.report("")


def test_checkpoints_of_others(ready):
    train(ready, "--steps", 1, "--checkpoint", "c")
    others = [
        (dict(flags=[*STEP[:4], "sgd", *STEP[5:]]),
         "it has 'optimizer.steps', which the program does not update"),
        (dict(flags=[*STEP[:-1], "first.bias"]),
         "it has no 'shift', which the program updates"),
        (dict(frozen=1.0), "the weight 'shift', which is not trained, has other "
                           "values")]
    for kind, message in others:
        compile_classifier(ready, **kind)
        error = train(ready, "--steps", 2, "--checkpoint", "c", "--resume",
                      exits=USAGE).err
        assert ("the checkpoint 'c/step-0000000001' is of another model or "
                f"optimizer: {message}") in error, error
    manifest = ready.path("c/step-0000000001/manifest.json")
    manifest.write_text(sealed(manifest.read_text().replace(
        '"dims": [16]', '"dims": [4, 4]').replace('"begin": [0], "end": [16]',
                                                  '"begin": [0, 0], "end": [4, 4]')))
    compile_classifier(ready)
    assert "is f32[4, 4], and f32[16] in the program" in train(
        ready, "--steps", 2, "--checkpoint", "c", "--resume", exits=USAGE).err


def test_a_full_disk_ends_the_run(ready):
    """What was saved before stays, and nothing of the rest."""
    # Native code is a file in memory, which would be too large as well.
    compile_classifier(ready, flags=[*STEP, "--native", "off"])
    train(ready, "--steps", 3)

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    result = train(ready, "--steps", 9, "--save-every", 3, "--resume",
                   exits=FILES, preexec_fn=little_room)
    assert ("step 6: the checkpoint could not be saved: cannot write "
            "'m.checkpoints/step-0000000006/rank-00000.safetensors': File too large"
            "; the last checkpoint is 'm.checkpoints/step-0000000003'"
            in result.err), result.err
    assert checkpoints(ready) == ["step-0000000003"]
    assert len(losses(ready, "--steps", 9, "--resume")) == 6


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folders_that_cannot_be_written(ready):
    ready.path("m.checkpoints").mkdir(mode=0o500)
    assert "cannot make the folder" in train(ready, "--steps", 1,
                                             exits=FILES).err


def test_a_file_is_no_folder(ready):
    ready.path("c").write_text("")
    for flags in [], ["--resume"]:
        assert "cannot read the folder 'c'" in train(
            ready, "--steps", 1, "--checkpoint", "c", *flags, exits=FILES).err
