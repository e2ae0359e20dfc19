"""Native code of artifacts: that it computes what the calls do without, and
that nobody runs it for whom its maker does not vouch."""

import functools
import hashlib
import json
import os
import re
import struct

import numpy as np
import pytest
from conftest import HEADER, load, model

pytestmark = pytest.mark.as_written

FILE, CONTENT, VERSION = 3, 4, 10
MODELS = ["gpt2", "bert", "llama", "vit", "t5"]
PLANS = {
    "one": ["--devices", 1],
    "found": ["--devices", 2],
    "uneven": ["--mesh", "3", "--solver", "random", "--seed", 3],
}
REFUSED = "the native code of the artifact is not run: "


def user(divisi, name="user"):
    """The environment of a user whose data lies in a folder of that name."""
    return {**os.environ, "XDG_DATA_HOME": str(divisi.path(name))}


def compile_native(divisi, m, *arguments, output="n.divisi", **options):
    options.setdefault("env", user(divisi))
    return divisi("compile", m.onnx, *m.shapes, *arguments, "--native", "auto",
                  "-o", output, "--dump-after", "lower", "--dump-to", ".",
                  **options)


def run(divisi, artifact, m, *arguments, exits=0, env=None):
    """The outputs, and what was said."""
    result = divisi("run", artifact, "--inputs", m.inputs, *arguments, "-o",
                    "out.npz", exits=exits, env=env or user(divisi))
    return load(divisi.path("out.npz")) if exits == 0 else None, result.err


def expect_near(got, expected):
    assert got.keys() == expected.keys() and got
    for name, values in got.items():
        scale = np.abs(expected[name]).max(initial=1)
        np.testing.assert_allclose(values, expected[name], err_msg=name,
                                   rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.sample("name", "plan")
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", MODELS)
def test_native_code_computes_the_same(divisi, name, plan):
    m = model(name)
    compile_native(divisi, m, *PLANS[plan])
    [dump] = divisi.folder.glob("*.lower.mlir")
    assert re.search(r"exec\.call \"fused\".* code @rows_", dump.read_text())
    divisi("compile", m.onnx, *m.shapes, *PLANS[plan], "--native", "off", "-o",
           "plain.divisi")
    native, said = run(divisi, "n.divisi", m)
    assert "native code" not in said
    plain, _ = run(divisi, "plain.divisi", m)
    expect_near(native, plain)
    # Another user computes without, and is told so once.
    without, said = run(divisi, "n.divisi", m, "--repeat", 3,
                        env=user(divisi, "other"))
    assert said.count(REFUSED + "it is signed by 'divisi-ed25519 ") == 1
    for key, values in without.items():
        np.testing.assert_array_equal(values, plain[key])
    trusting, said = run(divisi, "n.divisi", m, "--allow-native",
                         env=user(divisi, "other"))
    assert "native code" not in said
    for key, values in trusting.items():
        np.testing.assert_array_equal(values, native[key])


def test_other_backends_do_without(divisi):
    m = model("bert")
    compile_native(divisi, m)
    divisi("compile", m.onnx, *m.shapes, "--native", "off", "-o",
           "plain.divisi")
    got, said = run(divisi, "n.divisi", m, "--backend", "reference")
    plain, _ = run(divisi, "plain.divisi", m, "--backend", "reference")
    assert "native code" not in said
    for key, values in got.items():
        np.testing.assert_array_equal(values, plain[key])


def test_one_code_is_for_all_equal_layers(divisi):
    m = model("gpt2")
    compile_native(divisi, m)
    [dump] = divisi.folder.glob("*.lower.mlir")
    text = dump.read_text()
    assert text.count("exec.code @rows_") < len(
        re.findall(r"exec\.call \"fused\".* code @rows_", text))


def test_the_same_artifact_twice(divisi):
    m = model("bert")
    compile_native(divisi, m, output="a.divisi")
    compile_native(divisi, m, output="b.divisi")
    assert (divisi.path("a.divisi").read_bytes() ==
            divisi.path("b.divisi").read_bytes())


FOR_GPUS = ["--cluster", "dgx-a100:8", "--devices", 1, "--cubins", "off"]
CODE = re.compile(r'(exec\.code @\w+ for "[^"]+" )"((?:[^"\\]|\\.)*)"')


def lower_dump(divisi, m, *flags):
    """The text after the last stage."""
    compile_native(divisi, m, *flags)
    [dump] = divisi.folder.glob("*.lower.mlir")
    text = dump.read_text()
    assert CODE.search(text)
    return text


def compile_text(divisi, text, output, **options):
    divisi.path(output).with_suffix(".mlir").write_text(text)
    options.setdefault("env", user(divisi))
    return divisi("compile", divisi.path(output).with_suffix(".mlir"), "-o",
                  output, "--data", model("bert").onnx, **options)


def is_signed(path):
    return any(path.read_bytes()[48:HEADER])


@pytest.mark.sample()
@pytest.mark.parametrize("flags", [[], FOR_GPUS], ids=["host", "gpu"])
def test_code_in_a_dump_is_made_anew(divisi, flags):
    """The bytes there may be anybody's: they are neither signed nor run."""
    m = model("bert")
    text = lower_dump(divisi, m, *flags)
    ours = divisi.path("n.divisi").read_bytes()
    bad = CODE.sub(r'\1"\\7FELF of another"', text)
    # What no call names is nobody's, either.
    bad = re.sub(r"( *)(exec\.code @)\w+( .*\n)", r"\g<0>\1\2more\3", bad,
                 count=1)
    assert bad.count("of another") == text.count("exec.code @") + 1
    said = compile_text(divisi, bad, "bad.divisi").err
    assert "warning" not in said
    assert divisi.path("bad.divisi").read_bytes() == ours
    assert is_signed(divisi.path("bad.divisi"))
    if not flags:
        expect_near(run(divisi, "bad.divisi", m)[0],
                    run(divisi, "n.divisi", m)[0])
        said = divisi("bench", "bad.mlir", "--inputs", m.inputs, "--data", m.onnx,
                      env=user(divisi)).err
        assert "native code" not in said


def test_code_in_an_earlier_dump_is_not_signed(divisi):
    m = model("bert")
    divisi("compile", m.onnx, *m.shapes, "-o", "p.divisi", "--dump-after",
           "plan", "--dump-to", ".", env=user(divisi))
    plan = divisi.path("bert.plan.mlir").read_text()
    at = plan.index("{\n", plan.index("module")) + 2
    code = 'exec.code @rows_0 for "x86_64-linux-rows1:x86-64-v3" "of another"\n'
    compile_text(divisi, plan[:at] + code + plan[at:], "q.divisi")
    made = divisi.path("q.divisi").read_bytes()
    assert b"of another" not in made
    assert (made.count(b"\x7fELF") ==
            divisi.path("p.divisi").read_bytes().count(b"\x7fELF"))


def with_one_code(text):
    """The dump with all calls naming the same."""
    bad = re.sub(r" code @rows_\d+", " code @rows_0", text)
    assert bad != text
    return bad


def with_code_of_a_gather(text):
    bad = re.sub(r'(exec\.call "nn\.gather".*?\})', r"\1 code @rows_0", text,
                 count=1)
    assert bad != text
    return bad


@pytest.mark.parametrize("change, why", [
    (with_one_code, "calls of different structure name it"),
    (with_code_of_a_gather, "no code is made of a call that names it"),
])
def test_code_of_other_calls_is_left_out(divisi, change, why):
    """Calls then run as without code, and somebody says so."""
    m = model("bert")
    text = lower_dump(divisi, m, "--rewrite", "off")
    bad = change(text)
    said = compile_text(divisi, bad, "bad.divisi").err
    assert ("warning: the input's code is left out, and parts of calls run one "
            "by one without it: exec.code @rows_0, since " + why + "\n") in said
    divisi("compile", m.onnx, *m.shapes, "--native", "off", "-o",
           "plain.divisi")
    got, said = run(divisi, "bad.divisi", m)
    plain, _ = run(divisi, "plain.divisi", m)
    assert "native code" not in said
    expect_near(got, plain)
    assert (divisi.path("bad.divisi").read_bytes().count(b"\x7fELF") ==
            (change == with_code_of_a_gather))


@pytest.mark.parametrize("change, why", [
    (with_one_code, "calls of different structure name it"),
    (lambda text: text.replace(":sm_80", ":sm_99999"),
     "no code is made for 'nvptx64-nvidia-cuda-grid1:sm_99999'"),
])
def test_kernels_that_cannot_be_made_anew_are_not_signed(divisi, change, why):
    text = lower_dump(divisi, model("bert"), *FOR_GPUS)
    said = compile_text(divisi, change(text), "bad.divisi").err
    assert ("warning: the native code of the artifact is not signed, and runs "
            "only with --allow-native: it has, as the input has it, "
            "exec.code @rows_") in said and "@rows_0, since " + why in said
    assert not is_signed(divisi.path("bad.divisi"))


def test_explain_says_what_is_native(divisi):
    m = model("bert")
    compile_native(divisi, m)
    out = divisi("explain", "n.divisi").out
    assert re.search(r"kernels: generated +\w+\+ \(\d+\)", out), out
    assert re.search(r"native code +\d+ objects?, [\d.]+ KiB\n", out), out
    codes = json.loads(divisi("explain", "n.divisi", "--json").out)["codes"]
    data = divisi.path("n.divisi").read_bytes()
    assert len(codes) == data.count(b"\x7fELF")
    assert all(re.fullmatch(r"x86_64-linux-rows1:x86-64-v[34]", code["target"])
               for code in codes)


def operators_by(kind, said):
    """Of device 0."""
    found = re.search(rf"note: device 0 runs (\d+) operators? by {kind}: (.*)\n",
                      said)
    assert not found or int(found[1]) == sum(
        int(n) for n in re.findall(r" x (\d+)", found[2]))
    return int(found[1]) if found else 0


def test_run_says_which_kernels_run(divisi):
    m = model("bert")
    compile_native(divisi, m, "--devices", 2)
    _, said = run(divisi, "n.divisi", m, "--verbose")
    native, library = (operators_by(kind, said)
                       for kind in ("native code", "kernels of 'cpu'"))
    assert native > 0 and library > 0 and "note: device 1 runs" in said
    _, said = run(divisi, "n.divisi", m, "--verbose",
                  env=user(divisi, "other"))
    assert operators_by("native code", said) == 0
    assert operators_by("kernels of 'cpu'", said) > library
    _, said = run(divisi, "n.divisi", m)
    assert "note: device 0 runs" not in said


@pytest.fixture
def artifact(divisi):
    """A small one, its model, and its bytes."""
    m = model("bert")
    compile_native(divisi, m)
    return divisi, m, divisi.path("n.divisi").read_bytes()


def with_manifest(data, change):
    """`data` with another manifest of the same length, and its hash."""
    [size] = struct.unpack("<I", data[12:16])
    manifest = change(data[HEADER:HEADER + size])
    assert len(manifest) == size
    return (data[:16] + hashlib.sha256(manifest).digest() + data[48:HEADER] +
            manifest + data[HEADER + size:])


def with_hashes_of(data, bad):
    """`bad`, which differs from `data` in its codes alone, as if these had
    always been in it: the hash of each is where the other's was."""
    ends = [found.start() for found in re.finditer(rb"\x7fELF", data)]
    hashes = {}
    for begin, end in zip(ends, [*ends[1:], len(data)]):
        [size] = [length for length in range(64, end - begin + 1)
                  if hashlib.sha256(data[begin:begin + length]).digest() in
                  data]
        old, new = (hashlib.sha256(text[begin:begin + size]).digest()
                    for text in (data, bad))
        hashes[old] = new
    return with_manifest(bad, lambda text: functools.reduce(
        lambda text, item: text.replace(*item), hashes.items(), text))


def code_offset(data):
    """Where the first object lies."""
    return data.index(b"\x7fELF")


@pytest.mark.parametrize("at", [50, 80, HEADER - 1])
def test_a_wrong_signature_is_refused(artifact, at):
    """Of the signer's key, and of both ends of the signature."""
    divisi, m, data = artifact
    bad = bytearray(data)
    bad[at] ^= 1
    divisi.path("bad.divisi").write_bytes(bad)
    _, said = run(divisi, "bad.divisi", m)
    assert REFUSED + "its signature by 'divisi-ed25519 " in said
    assert "' is wrong" in said


def test_code_that_nobody_signed_is_refused(artifact):
    divisi, m, data = artifact
    divisi.path("bad.divisi").write_bytes(data[:48] + bytes(HEADER - 48) +
                                          data[HEADER:])
    _, said = run(divisi, "bad.divisi", m)
    assert REFUSED + "nobody has signed it" in said


def test_another_program_around_the_code_is_refused(artifact):
    """The code is the same, but who says how it is called is not."""
    divisi, m, data = artifact
    bad = with_manifest(data, lambda text: text.replace(b"divisi 0", b"divisi 1"))
    assert bad != data
    divisi.path("bad.divisi").write_bytes(bad)
    _, said = run(divisi, "bad.divisi", m)
    assert REFUSED + "its signature by 'divisi-ed25519 " in said


def test_a_changed_object_is_damage(artifact):
    divisi, m, data = artifact
    bad = bytearray(data)
    bad[code_offset(data) + 600] ^= 1
    divisi.path("bad.divisi").write_bytes(bad)
    for flags in ([], ["--allow-native"]):
        _, said = run(divisi, "bad.divisi", m, *flags, exits=CONTENT)
        assert "does not match its hash" in said


def test_a_cut_section_is_damage(artifact):
    divisi, m, data = artifact
    divisi.path("bad.divisi").write_bytes(data[:code_offset(data) + 100])
    _, said = run(divisi, "bad.divisi", m, exits=CONTENT)
    assert "it may be truncated" in said


def test_code_for_another_processor_is_not_run(artifact):
    divisi, m, data = artifact
    bad = with_manifest(
        data, lambda text: re.sub(rb"rows1:x86-64-v\d", b"rows1:x86-64-v9",
                                  text))
    divisi.path("bad.divisi").write_bytes(bad)
    _, said = run(divisi, "bad.divisi", m, "--allow-native")
    assert (REFUSED + "it is for x86-64-v9, which this processor is not"
            in said)


@pytest.mark.sample()
@pytest.mark.parametrize("change, message", [
    # e_machine
    (lambda code: code[:18] + b"\xb7\x00" + code[20:],
     "is not a shared object for this kind of processor"),
    # e_phnum: what lies behind the program headers is none
    (lambda code: code[:56] + b"\xff\x00" + code[58:], "is cut off"),
    # the segment of code could be written, too
    (lambda code: code[:68] + b"\x07" + code[69:], "could change itself"),
    # no segment is a table
    (lambda code: code.replace(struct.pack("<II", 2, 6),
                               struct.pack("<II", 4, 6), 1),
     "has no table of names"),
    (lambda code: code.replace(b"divisi_rows_1", b"divisi_rows_0", 1),
     "cannot be loaded: "),
    # DT_HASH becomes DT_INIT
    (lambda code: code[:4096 * (len(code) // 4096)] +
     code[4096 * (len(code) // 4096):].replace(b"\x04", b"\x0c", 1),
     "imports something"),
])
def test_what_is_no_object_of_ours_is_not_loaded(artifact, change, message):
    """Damage that hashes agree with; even then, and if the user allows it."""
    divisi, m, data = artifact
    begin = code_offset(data)
    # Up to the next section, or the end of the file.
    match = re.compile(rb"\x7fELF").search(data, begin + 4)
    end = match.start() if match else len(data)
    code = data[begin:end].rstrip(b"\0")
    code += b"\0" * (-len(code) % 16)
    most = min(len(code) + 96, len(data) - begin + 1)
    [real] = [length for length in range(len(code), most)
              if hashlib.sha256(data[begin:begin + length]).digest() in data]
    code = data[begin:begin + real]
    bad = change(code)
    assert bad != code and len(bad) == len(code)
    old, new = hashlib.sha256(code).digest(), hashlib.sha256(bad).digest()
    data = with_manifest(data, lambda text: text.replace(old, new))
    divisi.path("bad.divisi").write_bytes(
        data[:begin] + bad + data[begin + len(code):])
    _, said = run(divisi, "bad.divisi", m, "--allow-native", exits=5)
    assert "native code " + message in said


def test_a_key_that_others_can_read_is_none(artifact):
    divisi, m, _ = artifact
    divisi.path("user/divisi/native.key").chmod(0o644)
    _, said = run(divisi, "n.divisi", m)
    assert REFUSED in said and "expected mode 0600" in said
    said = compile_native(divisi, m).err
    assert ("the native code of the artifact is not signed, and runs only "
            "with --allow-native: ") in said
    _, said = run(divisi, "n.divisi", m, "--allow-native")
    assert "native code" not in said


@pytest.mark.parametrize("flags, message", [
    (["--native", "on"], "--native 'on': expected auto or off"),
    (["--target-cpu", "zen4"], "--target-cpu 'zen4': expected cluster, host, "
     "x86-64-v3 or x86-64-v4"),
])
def test_bad_flags(divisi, flags, message):
    m = model("bert")
    assert message in divisi("compile", m.onnx, *m.shapes, *flags, "-o",
                             "o.divisi", exits=2).err
