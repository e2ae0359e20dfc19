"""Whatever comes in, the answer is a message and a documented exit code.

An abort, a sanitizer's report or a crash shows as an exit code of its own,
so each case fails then, whatever else it asserts.
"""

import os
import re
import resource
import signal
import struct

import bad_models
import numpy as np
import pytest
from conftest import assert_close, load, model

USAGE, FILES, CONTENT, UNSUPPORTED, INFEASIBLE, DIFFERS, NEWER = \
    2, 3, 4, 5, 6, 8, 10

# maker, exit code, and what the message must say (regular expressions).
BAD_MODELS = [
    ("truncated", CONTENT, ["m.onnx"]),
    ("random_bytes", CONTENT, ["m.onnx"]),
    ("empty", CONTENT, ["m.onnx", "empty"]),
    ("cyclic", CONTENT, ["its own results", "first|second"]),
    ("missing_name", CONTENT, ["nowhere", "sum"]),
    ("missing_output", CONTENT, ["'y'"]),
    ("duplicate_name", CONTENT, ["'y'"]),
    ("shadowed_name", CONTENT, ["'again'"]),
    ("shadowed_in_branch", CONTENT, ["'h'"]),
    ("unknown_operator", UNSUPPORTED, ["Frobnicate", "odd_node"]),
    ("unknown_domain", UNSUPPORTED, ["com.example", "FusedThing",
                                     "odd_node"]),
    ("unresolved_dims", USAGE, ["batch", "width", "'x'", "'z'", "--dim"]),
    ("overflowing_weight", CONTENT, ["'w'", "bytes than int64"]),
    ("overflowing_input", CONTENT, ["'x'", "bytes than int64"]),
    ("overflowing_fold", CONTENT, ["fill", "bytes than int64"]),
    ("short_weight", CONTENT, ["'w'", "8", "24"]),
    ("external_absent", FILES, ["w.bin"]),
    ("external_outside", CONTENT, ["secret.bin", "folder"]),
    ("external_outside_by_detour", CONTENT, ["secret.bin", "folder"]),
    ("external_absolute", CONTENT, ["tensor 'w' in external data",
                                   "secret.bin", "folder"]),
    ("external_link_out", CONTENT, ["w.bin", "folder"]),
    ("external_link_folder", CONTENT, ["w.bin", "folder"]),
    ("external_past_end", CONTENT, ["w.bin", "20"]),
    ("external_wrapping", CONTENT, ["'w'|w.bin", "offset"]),
    ("external_negative", CONTENT, ["'w'|w.bin", "offset"]),
    ("external_other_length", CONTENT, ["'w'|w.bin", "64", "24"]),
    ("external_device", CONTENT, ["zero"]),
    ("external_pipe", FILES, ["w.bin", "regular"]),
    ("strings", UNSUPPORTED, ["'x'|same", "STRING"]),
    ("wrong_type", CONTENT, ["minus", "Neg"]),
    ("shapes_that_clash", CONTENT, ["product", "MatMul"]),
    ("old_opset", UNSUPPORTED, ["opset", "5", "7"]),
    ("future_opset", UNSUPPORTED, ["opset", "999"]),
    ("no_opset", CONTENT, ["opset|import"]),
    ("recursive_function", CONTENT, ["Loop1", "recurs|itself|cycl|nest"]),
    ("deep_nesting", CONTENT, ["m.onnx|level", "deep|nest|limit|protobuf"]),
]


def says(result, patterns):
    """The diagnostic is one on stderr, and names what it must."""
    text = result.err
    assert re.search(r"\berror: [^A-Z]", text), result.report(
        "no 'error: …' that starts in lower case")
    for pattern in patterns:
        assert re.search(pattern, text), result.report(
            f"the message does not say /{pattern}/")
    first = next(line for line in text.splitlines() if "error: " in line)
    assert not first.endswith("."), result.report("the message ends in a dot")


def fails(divisi, code, *command, because, **options):
    result = divisi(*command, exits=code, **options)
    says(result, because)
    return result


def nothing_written(divisi, *kept):
    left = sorted(p.name for p in divisi.folder.iterdir()
                  if p.name not in kept)
    assert not left, f"left behind: {left}"


@pytest.mark.parametrize("name, code, because", BAD_MODELS,
                         ids=[case[0] for case in BAD_MODELS])
def test_bad_model(divisi, tmp_path, name, code, because):
    getattr(bad_models, name)(tmp_path)
    fails(divisi, code, "compile", "m.onnx", "--devices", 2,
          "-o", "m.divisi", because=because)
    assert not divisi.path("m.divisi").exists()


def test_good_models_of_the_same_making_are_accepted(divisi, tmp_path):
    """So that the others fail for the reason that they are made for."""
    for maker in (bad_models.good, bad_models.external_good):
        maker(tmp_path)
        divisi("compile", "m.onnx", "--devices", 2, "-o", "m.divisi")


def test_every_maker_is_used():
    used = {case[0] for case in BAD_MODELS} | {"good", "external_good"}
    helpers = {"value", "graph", "save", "external"}
    makers = {name for name, thing in vars(bad_models).items()
              if getattr(thing, "__module__", "") == "bad_models"
              and not name.startswith("_")} - helpers
    assert makers == used


# What is wrong on the command line, for a model that is right.
BAD_COMMANDS = [
    ("no devices", ["--devices", 0], USAGE, ["devices is 0", "4096"]),
    ("too many devices", ["--devices", 4097], USAGE, ["4097", "4096"]),
    ("negative devices", ["--devices", -1], USAGE, ["-1"]),
    ("no number", ["--devices", "four"], USAGE, ["four"]),
    ("degree that does not divide",
     ["--devices", 4, "--tensor-parallel-size", 3], USAGE, ["3", "4"]),
    ("degrees that do not divide together",
     ["--devices", 4, "--tensor-parallel-size", 4,
      "--data-parallel-size", 2], USAGE, ["4", "2"]),
    ("mesh of another size", ["--devices", 4, "--mesh", "2x3"], USAGE,
     ["2x3", "4"]),
    ("mesh that is none", ["--devices", 4, "--mesh", "2y2"], USAGE, ["2y2"]),
    ("unknown option", ["--device", 4], USAGE, ["--device"]),
    ("unknown dim", ["--devices", 2, "--dim", "batch=4"], USAGE, ["batch"]),
    ("shape of an unknown input", ["--devices", 2, "--shape", "q=2x3"],
     USAGE, ["'q'", "'x'"]),
    ("shape against the model", ["--devices", 2, "--shape", "x=5x3"], USAGE,
     ["'x'", "5"]),
    ("shapes from nowhere", ["--devices", 2, "--shapes-from", "no.npz"],
     FILES, ["no.npz"]),
    ("unknown cluster", ["--cluster", "abacus"], USAGE, ["abacus"]),
    ("no such cluster file", ["--cluster", "./no.yaml"], FILES, ["no.yaml"]),
    ("unknown stage", ["--devices", 2, "--dump-after", "lunch"], USAGE,
     ["lunch", "plan"]),
    ("unknown solver", ["--devices", 2, "--solver", "oracle"], USAGE,
     ["oracle"]),
    ("memory limit that is none", ["--devices", 2, "--memory-limit", "much"],
     USAGE, ["much"]),
    ("memory limit too small", ["--devices", 2, "--memory-limit", "16"],
     INFEASIBLE, ["memory", "16"]),
]


@pytest.mark.parametrize("flags, code, because",
                         [case[1:] for case in BAD_COMMANDS],
                         ids=[case[0] for case in BAD_COMMANDS])
def test_bad_command(divisi, tmp_path, flags, code, because):
    bad_models.good(tmp_path)
    fails(divisi, code, "compile", "m.onnx", *flags, "-o", "m.divisi",
          because=because)
    assert not divisi.path("m.divisi").exists()


@pytest.mark.parametrize("command", [[], ["bake"], ["compile"]],
                         ids=["no verb", "unknown verb", "no model"])
def test_bad_verb(divisi, command):
    fails(divisi, USAGE, *command, because=[])


def test_model_that_is_not_there(divisi):
    fails(divisi, FILES, "compile", "none.onnx", "--devices", 2,
          "-o", "m.divisi", because=["none.onnx"])


def test_model_that_is_a_folder(divisi, tmp_path):
    (tmp_path / "m.onnx").mkdir()
    fails(divisi, FILES, "compile", "m.onnx", "--devices", 2,
          "-o", "m.divisi", because=["m.onnx"])


def test_memory_limit_says_what_binds_and_how_much_is_missing(divisi):
    m = model("gpt2")
    result = fails(divisi, INFEASIBLE, "plan", m.onnx, *m.shapes,
                   "--devices", 2, "--memory-limit", "100KiB", "-o", "p.mlir",
                   because=[r": (at node '|when )", "--memory-limit"])
    used, missing, limit = map(int, re.findall(
        r"(\d+) bytes are in use, (\d+) more than the limit of (\d+)",
        result.err)[0])
    assert limit == 100 * 1024 and used - limit == missing > 0


def test_a_device_of_the_cluster_limits_the_memory(divisi):
    divisi.path("w.mlir").write_text("""
nn.global @w parameter : tensor<65536x65600xf32>
func.func @forward(%x: tensor<8x65536xf32> {nn.name = "x"})
    -> (tensor<8x65600xf32> {nn.name = "y"}) {
  %w = nn.read @w : tensor<65536x65600xf32>
  %y = nn.matmul %x, %w {labels = "mk,kn->mn"}
    : (tensor<8x65536xf32>, tensor<65536x65600xf32>) -> tensor<8x65600xf32>
  return %y : tensor<8x65600xf32>
}
""")
    fails(divisi, INFEASIBLE, "plan", "w.mlir", "--devices", 1, "-o", "p.mlir",
          because=[str(16 << 30), "cluster cpu", "--memory-limit"])
    # Half of them in the layout of the kernel, which reads them no more as they
    # were.
    divisi("plan", "w.mlir", "--devices", 2, "-o", "p.mlir")
    fails(divisi, INFEASIBLE, "plan", "w.mlir", "--devices", 2, "-o", "p.mlir",
          "--memory-limit", "8GiB", because=["more than the limit of 8589934592"])


def test_weightless_model_is_planned_but_not_compiled(divisi, generated):
    m = generated("mlp.py", "--widths", "64,32", "--weightless")
    divisi("plan", m.onnx, "--devices", 2, "-o", "p.mlir")
    fails(divisi, FILES, "compile", m.onnx, "--devices", 2, "-o", "m.divisi",
          because=["onnx.data"])


def test_unresolved_dims_are_resolved_by_any_of_three_flags(divisi, tmp_path):
    bad_models.unresolved_dims(tmp_path)
    np.savez(tmp_path / "x.npz", x=np.zeros((4, 3), np.float32),
             z=np.zeros((4, 3), np.float32))
    for flags in (["--dim", "batch=4", "--dim", "width=3"],
                  ["--shape", "x=4x3", "--shape", "z=4x3"],
                  ["--shapes-from", "x.npz"]):
        divisi("compile", "m.onnx", *flags, "--devices", 2, "-o", "m.divisi")


# Inputs at run time.

@pytest.fixture
def artifact(divisi, tmp_path):
    bad_models.good(tmp_path)
    divisi("compile", "m.onnx", "--devices", 2, "-o", "m.divisi")
    np.savez(tmp_path / "x.npz", x=np.ones((2, 3), np.float32))
    return divisi.path("m.divisi")


RUN_INPUTS = [
    ("wrong name", {"q": np.ones((2, 3), np.float32)}, ["'x'|'q'"]),
    ("missing", {}, ["'x'"]),
    ("one too many", {"x": np.ones((2, 3), np.float32),
                      "q": np.ones(1, np.float32)}, ["'q'"]),
    ("wrong shape", {"x": np.ones((3, 3), np.float32)},
     ["'x'", r"\[3, 3\]", r"\[2, 3\]"]),
    ("wrong rank", {"x": np.ones((2, 3, 1), np.float32)}, ["'x'"]),
    ("wrong type", {"x": np.ones((2, 3), np.int64)},
     ["'x'", "i64|int64", "f32|float32"]),
]


@pytest.mark.parametrize("arrays, because",
                         [case[1:] for case in RUN_INPUTS],
                         ids=[case[0] for case in RUN_INPUTS])
def test_bad_input_tensor(divisi, artifact, arrays, because):
    np.savez(divisi.path("bad.npz"), **arrays)
    fails(divisi, CONTENT, "run", "m.divisi", "--inputs", "bad.npz",
          "-o", "y.npz", because=because)
    assert not divisi.path("y.npz").exists()


@pytest.mark.parametrize("damage", ["truncated", "random", "empty", "pickle"])
def test_bad_input_file(divisi, artifact, damage):
    path = divisi.path("x.npz")
    bytes_ = path.read_bytes()
    # Python objects are an element type that is not supported.
    code = UNSUPPORTED if damage == "pickle" else CONTENT
    if damage == "pickle":
        np.savez(path, x=np.array([{"a": 1}], dtype=object))
    else:
        path.write_bytes({"truncated": bytes_[:-30], "empty": b"",
                          "random": np.random.default_rng(0).bytes(500)
                          }[damage])
    fails(divisi, code, "run", "m.divisi", "--inputs", "x.npz",
          "-o", "y.npz", because=["x.npz"])


def test_inputs_that_are_not_there(divisi, artifact):
    fails(divisi, FILES, "run", "m.divisi", "--inputs", "no.npz",
          "-o", "y.npz", because=["no.npz"])


def test_input_in_fortran_order_is_understood(divisi, artifact):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.savez(divisi.path("c.npz"), x=x)
    np.savez(divisi.path("f.npz"), x=np.asfortranarray(x))
    for name in "cf":
        divisi("run", "m.divisi", "--inputs", f"{name}.npz",
               "-o", f"y{name}.npz")
    assert_close(load(divisi.path("yf.npz")), load(divisi.path("yc.npz")))


def test_check_tells_what_differs(divisi, artifact):
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    expected = load(divisi.path("y.npz"))
    expected["y"][1, 2] += 1
    np.savez(divisi.path("e.npz"), **expected)
    result = divisi("check", "m.divisi", "--inputs", "x.npz",
                    "--expect", "e.npz", exits=DIFFERS)
    assert "y" in result.out + result.err


def test_check_does_not_take_nan_for_equal(divisi, artifact):
    np.savez(divisi.path("e.npz"), y=np.full((2, 4), np.nan, np.float32))
    divisi("check", "m.divisi", "--inputs", "x.npz", "--expect", "e.npz",
           exits=DIFFERS)


# Artifacts. The header: magic, u32 version, u32 manifest size, SHA-256.

def rewrite(path, change):
    data = bytearray(path.read_bytes())
    path.write_bytes(bytes(change(data) or data))


def flip(position):
    def change(data):
        data[position] ^= 0x40
    return change


DAMAGE = {
    "empty": lambda data: b"\0"[:0] or bytearray(),
    "short header": lambda data: data[:20],
    "truncated": lambda data: data[:-1],
    "half": lambda data: data[:len(data) // 2],
    "other magic": flip(0),
    "flipped hash": flip(20),
    "flipped manifest": flip(60),
    "huge manifest size":
        lambda data: data[:12] + struct.pack("<I", 0xfffffff0) + data[16:],
    "longer than said": lambda data: data + b"\0",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_artifact(divisi, artifact, damage):
    if damage == "empty":
        artifact.write_bytes(b"")
    else:
        rewrite(artifact, DAMAGE[damage])
    fails(divisi, CONTENT, "run", "m.divisi", "--inputs", "x.npz",
          "-o", "y.npz", because=["m.divisi"])


def test_artifact_of_a_newer_version(divisi, artifact):
    def newer(data):
        [version] = struct.unpack("<I", data[8:12])
        return data[:8] + struct.pack("<I", version + 1) + data[12:]
    rewrite(artifact, newer)
    fails(divisi, NEWER, "run", "m.divisi", "--inputs", "x.npz",
          "-o", "y.npz", because=["m.divisi", "newer|version"])


def test_damaged_weights_are_found_when_asked(divisi, artifact):
    weight = np.arange(12, dtype=np.float32).tobytes()
    place = artifact.read_bytes().find(weight)
    assert place > 0
    rewrite(artifact, flip(place + 9))
    fails(divisi, CONTENT, "run", "m.divisi", "--verify",
          "--inputs", "x.npz", "-o", "y.npz", because=["'w'|@w|\"w\""])


def test_random_bytes_never_crash_the_runtime(divisi, artifact):
    """Flips anywhere in the manifest: the hash catches each."""
    original = artifact.read_bytes()
    random = np.random.default_rng(7)
    for position in random.integers(48, 600, 10):
        artifact.write_bytes(original)
        rewrite(artifact, flip(int(position) % len(original)))
        result = divisi("run", "m.divisi", "--inputs", "x.npz",
                        "-o", "y.npz", exits=CONTENT)
        says(result, ["m.divisi"])


@pytest.mark.parametrize("text", [
    "", "not mlir", "module {", "\0" * 100, "module {" * 3000,
    "module { nn.global @w parameter : tensor<4xf32> from \"/etc/passwd\" "
    "[0, 16] }",
], ids=["empty", "words", "open brace", "zeros", "deep", "outside"])
def test_bad_dump(divisi, tmp_path, text):
    (tmp_path / "p.mlir").write_text(text)
    result = divisi("compile", "p.mlir", "--devices", 2, "-o", "m.divisi",
                    exits=CONTENT)
    says(result, ["p.mlir"])
    assert not divisi.path("m.divisi").exists()


# Outputs.

def test_output_in_a_folder_that_is_not_there(divisi, tmp_path):
    bad_models.good(tmp_path)
    fails(divisi, FILES, "compile", "m.onnx", "--devices", 2,
          "-o", "no/m.divisi", because=["no/m.divisi"])
    nothing_written(divisi, "m.onnx")


# Named by a whole path, the model is still there.
def test_the_folder_of_the_process_is_gone(divisi, tmp_path):
    bad_models.good(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()

    def leave():
        os.chdir(gone)
        os.rmdir(gone)

    for verb, name in (("compile", "m.divisi"), ("plan", "p.mlir")):
        fails(divisi, FILES, verb, tmp_path / "m.onnx", "--devices", 2, "-o",
              name, because=[f"cannot write '{name}': No such file"],
              preexec_fn=leave)
        gone.mkdir()


def test_output_that_is_a_folder(divisi, tmp_path):
    bad_models.good(tmp_path)
    (tmp_path / "m.divisi").mkdir()
    fails(divisi, FILES, "compile", "m.onnx", "--devices", 2,
          "-o", "m.divisi", because=["m.divisi"])
    nothing_written(divisi, "m.onnx", "m.divisi")


def small_files_only():
    """What a full disk does, at 100 bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def test_full_disk_leaves_no_half_artifact(divisi, tmp_path):
    bad_models.good(tmp_path)
    fails(divisi, FILES, "compile", "m.onnx", "--devices", 2,
          "-o", "m.divisi", because=["m.divisi"],
          preexec_fn=small_files_only)
    nothing_written(divisi, "m.onnx")


def test_full_disk_keeps_the_old_artifact(divisi, artifact):
    before = artifact.read_bytes()
    fails(divisi, FILES, "compile", "m.onnx", "--devices", 2,
          "-o", "m.divisi", because=["m.divisi"],
          preexec_fn=small_files_only)
    assert artifact.read_bytes() == before
    nothing_written(divisi, "m.onnx", "x.npz", "m.divisi")


def test_full_disk_leaves_no_half_result(divisi, artifact):
    fails(divisi, FILES, "run", "m.divisi", "--inputs", "x.npz",
          "-o", "y.npz", because=["y.npz"], preexec_fn=small_files_only)
    nothing_written(divisi, "m.onnx", "x.npz", "m.divisi")
