"""What the verbs say, right and wrong: overviews, tables, edited dumps."""

import hashlib
import json
import re
import struct

import bad_models
import numpy as np
import onnx
import pytest
from conftest import HEADER, ROOT, Divisi, model
from onnx import helper
from written_programs import write_program

USAGE, FILES, CONTENT, UNSUPPORTED, DIFFERS, NEWER = 2, 3, 4, 5, 8, 10
X = np.ones((2, 3), np.float32)
PROGRAMS = ROOT / "test/endtoend/Inputs"


def says(result, *texts):
    for text in texts:
        assert text in result.out + result.err, result.report(
            f"it does not say {text!r}")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a model, its artifact, its dumps and its input."""
    divisi = Divisi(tmp_path_factory.mktemp("made"))
    bad_models.good(divisi.folder)
    result = divisi("compile", "m.onnx", "--devices", 2, "--dump-after", "all",
                    "-o", "m.divisi")
    says(result, "wrote m.divisi: 2 devices, ", " of weights; a run needs ",
         " per device, ")
    np.savez(divisi.path("x.npz"), x=X)
    return divisi


@pytest.fixture
def copy(divisi, made):
    """What `made` has, free to be changed."""
    for path in made.folder.iterdir():
        divisi.path(path.name).write_bytes(path.read_bytes())
    return divisi


def test_overview_lists_the_verbs(divisi):
    result = divisi("--help")
    says(result, "divisi: compiles deep-learning models for many devices",
         "usage: divisi VERB [options]",
         "divisi VERB --help lists the options of one",
         "compile         turn a model into an artifact for many devices",
         "plan            choose the strategies of a model, and write the "
         "annotated module",
         "run             execute an artifact on inputs, in this process",
         "train           run the training steps of an artifact on a folder of "
         "samples", "export          write a plan as PyTorch's DTensor placements, "
         "or as annotations of the ONNX model", "export-weights  write trained weights into the ONNX model "
         "that they came from, or as .safetensors",
         "check           compare an artifact with expected outputs, or a model on "
         "N devices with one",
         "bench           measure run and wait times of an artifact or a model, or "
         "of two alternately",
         "explain         show the predicted performance of a plan: of a model, a "
         "dump, or an artifact",
         "simulate        show when devices do what under a plan, and write it as "
         "a trace",
         "cluster         print the description of a machine as YAML, to edit and "
         "plan for",
         "prove           check whether substitution rules are true: those of a "
         "file, or Divisi's own",
         "rules           generate substitution rules, check what they entail, or "
         "select some",
         "solve           find the cheapest strategies of a planning problem, or "
         "--check a solution",
         "key             print this user's public key, make one, or list whose "
         "native code runs", "version         print the versions of this program "
                               "and its parts")


PARTS = ["LLVM", "ONNX", "Protocol Buffers", "oneDNN", "HiGHS", "Z3", "simdjson"]
OPENED = ["CUDA", "cuDNN", "NCCL", "MPI", "PMIx"]


def test_version_says_what_it_is_built_of(divisi):
    answer = json.loads(divisi("version", "--json").out)
    assert answer["schema_version"] == 1
    assert list(answer["opens"]) == sorted(OPENED)
    assert set(PARTS) < set(answer["built_of"])
    for name, version in (answer["built_of"] | answer["opens"]).items():
        assert version is None and name in OPENED or re.fullmatch(
            r"\d+(\.\d+)+", version), name
    def listed(names, of):
        return ", ".join(f"{name} {of[name]}" if of[name] else f"no {name}"
                         for name in names)
    [compiler] = set(answer["built_of"]) - set(PARTS)
    assert divisi("--version").out == divisi("version").out == (
        f"divisi {answer['divisi']} (artifacts of version {answer['artifact']})\n"
        f"built of {listed(PARTS + [compiler], answer['built_of'])}\n"
        f"opens where it is wanted {listed(OPENED, answer['opens'])}\n")
    # The package of ONNX is that which it is built of.
    assert answer["built_of"]["ONNX"] == onnx.__version__
    assert answer["built_of"]["LLVM"] == answer["llvm"]


# Flags.

COMPILE = [
    ([], "compile needs -o OUT.divisi"),
    (["--weights", "lost", "-o", "o.divisi"],
     "--weights 'lost': expected embed or external"),
    (["--dump-after", "lunch", "-o", "o.divisi"],
     "--dump-after 'lunch': expected import, train, rewrite, plan, partition, schedule, lower or all"),
    (["--memory-limit", "much", "-o", "o.divisi"],
     "--memory-limit 'much': expected a size such as 70GiB, 512MiB or "
     "1000000"),
    (["--mesh", "x=2,x=2", "-o", "o.divisi"],
     "the mesh 'x=2,x=2' is not a valid grid: the grid has two axes 'x'"),
    (["--mesh", "x=2:[1,0],y=2", "-o", "o.divisi"],
     "the mesh 'x=2:[1,0],y=2' is not a valid grid: axis 'x' has the weight "
     "0, expected "
     "1 to 1024"),
    (["--mesh", "2:[3,1", "-o", "o.divisi"],
     "the mesh '2:[3,1' is not understood at '2:[3,1'; write for example 2x4 "
     "or data=2,model=4"),
]


@pytest.mark.parametrize("flags, message", COMPILE,
                         ids=[row[1][:40] for row in COMPILE])
def test_flags_of_compile(made, flags, message):
    says(made("compile", "m.onnx", *flags, exits=USAGE), message)


def test_entry_has_to_be_chosen(divisi):
    random = np.random.default_rng(3)
    divisi.path("weights.bin").write_bytes(
        random.standard_normal(12 * 16 + 16 * 6, np.float32).tobytes())
    write_program(divisi.path("p.mlir"),
                  (PROGRAMS / "two_entries.mlir").read_text())
    divisi("compile", "p.mlir", "--devices", 2, "-o", "m.divisi")
    says(divisi("run", "m.divisi", "-o", "y.npz", exits=USAGE),
         "which entry? --entry takes one of batch2, batch8")


# check.

def test_check_says_what_it_has_compared(copy):
    says(copy("check", "m.divisi", "--inputs", "x.npz", exits=USAGE),
         "check of an artifact needs --expect FILE")
    copy("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    with np.load(copy.path("y.npz")) as file:
        y = file["y"]
    np.savez(copy.path("e.npz"), y=y + np.float32([[0, 0, 0, 2], [0] * 4]))
    says(copy("check", "m.divisi", "--inputs", "x.npz", "--expect", "e.npz",
              exits=DIFFERS), "m.divisi differs:",
         " y: 1 of 8 elements differ; at [0, 3] got ")
    says(copy("check", "m.onnx", "--devices", 2), "the plan found: equal")
    says(copy("check", "m.onnx", "--devices", 2, "--random-plans", 2,
              "--seed", 5), "random plan of seed 5: equal",
         "random plan of seed 6: equal")


def test_check_compares_integers_exactly(divisi):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])], "g",
        [value("x", onnx.TensorProto.INT64, (2, 2))],
        [value("y", onnx.TensorProto.INT64, (2, 2))])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), divisi.path("m.onnx"))
    np.savez(divisi.path("x.npz"), x=np.array([[1, 2], [3, 1 << 60]]))
    np.savez(divisi.path("e.npz"), y=-np.array([[1, 2], [3, (1 << 60) + 1]]))
    says(divisi("check", "m.onnx", "--devices", 2, "--inputs", "x.npz",
                "--expect", "e.npz", exits=DIFFERS),
         "y: 1 of 4 elements differ; at [1, 1] got -1152921504606846976, "
         "expected -1152921504606846977",
         "  y  i64[2, 2]  largest error 1, allowed 0, at [1, 1]: 1 of 4 "
         "differ\n")


def test_shared_cores_are_noted(copy):
    says(copy("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz",
              "--threads-per-device", 512),
         "divisi: note: 2 devices of 512 thread(s) share ",
         " cores; times are not representative")


def test_trace_names_the_ranks(copy):
    copy("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz", "--trace",
         "t.json")
    assert ('{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": '
            '"rank 1"}}') in copy.path("t.json").read_text()


# explain.

def test_tables_of_explain(made):
    says(made("explain", "m.onnx", "--devices", 2),
         " a run, predicted, without overlap", " on the fullest device",
         " arena", " packed constants", " FLOP, ", " % of it replicated",
         "kernels: oneDNN", "\nassumptions\n", "product",
         "large products reach ", " % of the peak", "launch of an operator: ",
         ", of a product ", " more\n", "outside of products: ",
         "level machine: ", " GB/s per device and direction")


def test_communication_of_explain(divisi):
    m = model("gpt2")
    says(divisi("explain", m.onnx, *m.shapes, "--tensor-parallel-size", 2),
         " x, ", " per device, ")


# Dumps that somebody has edited.

def edited(divisi, name, pattern, replacement):
    text = divisi.path(name).read_text()
    new = re.sub(pattern, replacement, text, count=1)
    assert new != text, pattern
    divisi.path("e.mlir").write_text(new)
    return "e.mlir"


REPORT = r'divisi\.report = "(?:[^"\\]|\\.)*"'
EDITED = [
    ("m.plan.mlir", r'divisi\.stage = "plan"', 'divisi.stage = "lunch"', CONTENT,
     "unknown stage 'lunch'; expected import, train, rewrite, plan, partition, schedule or lower"),
    ("m.lower.mlir", REPORT, "divisi.other = 1 : i64", CONTENT,
     "the module carries no report; resume from a stage before partition"),
    ("m.lower.mlir", REPORT, 'divisi.report = "{"', CONTENT, "divisi.report: "),
    ("m.lower.mlir", r"\\22schema_version\\22:\d+", r"\\22schema_version\\22:99",
     NEWER, "the report has schema version 99, expected "),
    ("m.lower.mlir", r"exec\.global @w ", "exec.global @v ", CONTENT,
     "no global @v"),
]


@pytest.mark.parametrize("name, pattern, replacement, code, message", EDITED,
                         ids=[row[-1][:40] for row in EDITED])
def test_edited_dump(copy, name, pattern, replacement, code, message):
    dump = edited(copy, name, pattern, replacement)
    says(copy("explain", dump, exits=code) if "report" in message else
         copy("compile", dump, "-o", "o.divisi", exits=code), message)


MODULES = [
    (CONTENT, "there is nothing to run: no function but @init",
     "func.func @init() {\n  return\n}\n"),
    (FILES, "the bytes of 'w' are missing: the model names no file for them; "
            "a model without weights can be planned, not compiled",
     "nn.global @w parameter : tensor<4xf32>\n"),
    (CONTENT, "the global 'w' has no value: it is derived and @init has not "
     "run, or its weights are missing",
     "nn.global @w derived : tensor<4xf32>\n"),
    (UNSUPPORTED, "'func.call' cannot be evaluated",
     "nn.global @w derived : tensor<4xf32>\n"
     "func.func @init() {\n  func.call @init() : () -> ()\n  return\n}\n"),
    (FILES, "the bytes of 'w': cannot read '",
     "nn.global @w parameter : tensor<4xf32> from \"lost.bin\" [0, 16]\n"),
]
FORWARD = """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = nn.read @w : tensor<4xf32>
  %y = nn.add %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


@pytest.mark.parametrize("code, message, text", MODULES,
                         ids=[row[1][:40] for row in MODULES])
def test_module(divisi, code, message, text):
    divisi.path("p.mlir").write_text(
        text + (FORWARD if "@w" in text else ""))
    says(divisi("compile", "p.mlir", "--devices", 2, "-o", "o.divisi",
                exits=code), message)


def test_weights_that_are_not_there(divisi):
    bad_models.external_absent(divisi.folder)
    says(divisi("compile", "m.onnx", "--devices", 2, "-o", "m.divisi",
                exits=FILES), "the weights in '",
         "w.bin' are needed and the file is not there; without it the model "
         "can only be planned")


# Artifacts: weights in other files, and a report that is none.

def rehashed(data, old, new):
    """The artifact with `new` for `old` in its manifest."""
    size = struct.unpack("<I", data[12:16])[0]
    manifest = data[HEADER:HEADER + size]
    assert old in manifest and len(old) == len(new)
    manifest = manifest.replace(old, new)
    return (data[:16] + hashlib.sha256(manifest).digest() + data[48:HEADER] +
            manifest + data[HEADER + size:])


def test_artifact_without_a_report(copy):
    data = copy.path("m.divisi").read_bytes()
    begin = data.index(b'{"cluster":"cluster ')
    old = data[begin:begin + 30]
    copy.path("m.divisi").write_bytes(rehashed(data, old, b"?" + old[1:]))
    says(copy("explain", "m.divisi", exits=CONTENT),
         "'m.divisi' carries no report of its plan")


@pytest.fixture
def external(divisi):
    """An artifact whose weight lies in aa/w.bin, and the input."""
    divisi.path("aa").mkdir()
    divisi.path("aa/w.bin").write_bytes(bytes(24))
    bad_models.external(divisi.folder, "aa/w.bin")
    divisi("compile", "m.onnx", "--devices", 2, "--weights", "external",
           "-o", "m.divisi")
    np.savez(divisi.path("x.npz"), x=X)
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    return divisi


def run(divisi, code, *texts):
    says(divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "z.npz",
                exits=code), *texts)


def test_external_weights_lie_beneath_the_artifact(external):
    external.path("apart").mkdir()
    says(external("compile", "m.onnx", "--devices", 2, "--weights",
                  "external", "-o", "apart/m.divisi", exits=USAGE),
         "external weights must be below the artifact's folder: '",
         "; write the artifact beside the model, or embed the weights")


def test_artifact_that_leads_out_of_its_folder(external):
    path = external.path("m.divisi")
    path.write_bytes(rehashed(path.read_bytes(), b"aa/w.bin", b"../w.bin"))
    run(external, CONTENT, "leaves the folder '")


def test_link_that_leads_out_of_the_folder(external, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "w.bin"
    outside.write_bytes(bytes(24))
    external.path("aa/w.bin").unlink()
    external.path("aa/w.bin").symlink_to(outside)
    run(external, CONTENT, "the path 'aa/w.bin' leaves the folder '")


def test_weights_that_are_a_folder(external):
    external.path("aa/w.bin").unlink()
    external.path("aa/w.bin").mkdir()
    run(external, FILES, "aa/w.bin': it is not a regular file")
