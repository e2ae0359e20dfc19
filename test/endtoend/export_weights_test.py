"""divisi export-weights: trained weights go back to where they came from."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from train_runs import (BATCH, compile_classifier, order, safetensors,
                        save_classifier, state, train, write_data)

pytestmark = pytest.mark.as_written

USAGE, CONTENT, UNSUPPORTED = 2, 4, 5


def initializers(path):
    return {tensor.name: numpy_helper.to_array(tensor)
            for tensor in onnx.load(path).graph.initializer}


def cross_entropy(logits, labels):
    logits = logits.astype(np.float64)
    total = np.log(np.exp(logits).sum(-1))
    return np.mean(total - logits[np.arange(len(labels)), labels])


@pytest.mark.parametrize("external", [False, True])
def test_round_trip(divisi, external):
    """ONNX Runtime has the loss of the step that comes next."""
    compile_classifier(divisi, 2, external=external)
    data = write_data(divisi.path("data"))
    train(divisi, "--steps", 5)
    said = divisi("export-weights", "m.checkpoints", "--model", "m.onnx", "-o",
                  "o.onnx")
    assert "'m.checkpoints/step-0000000005' is the newest checkpoint" in said.err
    assert "wrote o.onnx: 3 weights of 'm.checkpoints', 1 other initializer" in said.err
    assert divisi.path("o.onnx.data").exists() == external
    before, after = (initializers(divisi.path(n)) for n in ("m.onnx", "o.onnx"))
    end = state(divisi.path("m.checkpoints/step-0000000005"))
    assert before.keys() == after.keys()
    for name, value in after.items():
        assert np.array_equal(value, end.get(name, before[name])), name
        assert np.array_equal(value, before[name]) == (name == "shift"), name
    next_step = json.loads(train(divisi, "--steps", 6, "--resume", "--json").out)
    batch = order(0, 100, 0)[5 * BATCH:6 * BATCH]
    session = onnxruntime.InferenceSession(divisi.path("o.onnx"))
    [logits] = session.run(None, {"x": data["x"][batch]})
    np.testing.assert_allclose(next_step["loss"],
                               cross_entropy(logits, data["labels"][batch]),
                               rtol=1e-5)


def test_state_of_no_step_is_the_model(divisi):
    save_classifier(divisi.path("m.onnx"))
    before = initializers(divisi.path("m.onnx"))
    np.savez(divisi.path("s.npz"), **before, more=np.ones(3))
    said = divisi("export-weights", "s.npz", "--model", "m.onnx", "-o", "o.onnx")
    assert "the model has no 'more': not written" in said.err
    after = initializers(divisi.path("o.onnx"))
    assert all(np.array_equal(before[n], after[n]) for n in before)


def test_safetensors_have_the_names_of_pytorch(divisi):
    compile_classifier(divisi)
    write_data(divisi.path("data"))
    train(divisi, "--steps", 2)
    said = divisi("export-weights", "m.checkpoints/step-0000000002", "--model",
                  "m.onnx", "-o", "o.safetensors")
    assert "'onnx::MatMul_7' is 'block.1.weight', transposed" in said.err
    found = safetensors(divisi.path("o.safetensors"))
    end = state(divisi.path("m.checkpoints/step-0000000002"))
    assert sorted(found) == ["block.1.weight", "first.bias", "first.weight",
                             "shift"]
    assert np.array_equal(found["block.1.weight"], end["onnx::MatMul_7"].T)
    assert np.array_equal(found["first.weight"], end["first.weight"])


def test_what_does_not_fit(divisi):
    save_classifier(divisi.path("m.onnx"))
    np.savez(divisi.path("s.npz"), **{"first.bias": np.ones(3, np.float32)})
    np.savez(divisi.path("l.npz"), lost=np.ones(3, np.float32))
    divisi.path("bad.onnx").write_bytes(b"no model")
    cases = [
        (["s.npz"], USAGE, "export-weights needs --model M.onnx"),
        (["s.npz", "--model", "m.onnx"], USAGE, "export-weights needs -o OUT.onnx"),
        (["s.npz", "--model", "m.onnx", "-o", "o.pt"], USAGE,
         "-o 'o.pt': expected a name that ends with .onnx or .safetensors"),
        (["s.npz", "--model", "m.onnx", "-o", "m.onnx"], USAGE,
         "-o 'm.onnx' is the model, which would be lost"),
        (["s.npz", "--model", "m.onnx", "-o", "o.onnx"], CONTENT,
         "the weight 'first.bias' is f32[3], and in 'm.onnx' FLOAT of 64 "
         "bytes; is it of another model?"),
        (["l.npz", "--model", "m.onnx", "-o", "o.onnx"], CONTENT,
         "'m.onnx' has no initializer 'lost'; is the weight of another model?"),
        (["s.npz", "--model", "bad.onnx", "-o", "o.onnx"], CONTENT,
         "'bad.onnx' is no ONNX model that can be read")]
    model = onnx.load(divisi.path("m.onnx"))
    added = model.graph.initializer.add(name="odd", data_type=1, dims=[1 << 62, 4])
    for kind, name, code, message in [
            (1, "shape.onnx", CONTENT, "initializer 'odd' has a shape that no "
                                       "tensor has"),
            (8, "text.onnx", UNSUPPORTED, "'text.onnx': initializer 'odd' is STRING"),
            (22, "small.onnx", UNSUPPORTED, "and .safetensors has no such type")]:
        added.data_type = kind
        if kind != 1:
            added.dims[:] = [2]
        onnx.save(model, divisi.path(name))
        cases.append((["b.npz", "--model", name, "-o", "o.safetensors"], code,
                      message))
    np.savez(divisi.path("b.npz"), **{"first.bias": np.ones(16, np.float32)})
    for arguments, code, message in cases:
        result = divisi("export-weights", *arguments, exits=code)
        assert message in result.err, result.report(message)
