"""What torch_test.py runs by a Python that has PyTorch.

    torch_host.py CASE …

Each case is a function of this file.
"""

import contextlib
import copy
import doctest
import functools
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import divisi.torch  # noqa: E402

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="divisi-test-")


def compiled(module, devices=1, **options):
    """By torch.compile, from nothing; and the graphs that are made of it."""
    torch._dynamo.reset()
    graphs = []
    dynamic = options.pop("dynamic", False)
    return torch.compile(module, dynamic=dynamic, backend=functools.partial(
        divisi.torch.backend, graphs=graphs,
        options={"devices": devices, "fallback": "error", **options})), graphs


def close(found, wanted, what="", tolerance=1e-4):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, what
    scale = wanted.abs().max().item() if wanted.numel() else 1
    error = (found.double() - wanted.double()).abs().max().item() \
        if wanted.numel() else 0
    assert error <= tolerance * max(scale, 1e-6), (what, error, scale)


def perceptron():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()


def smoke():
    """By its name, on two devices."""
    module, x = perceptron(), torch.randn(6, 8)
    run = torch.compile(module, backend="divisi", options={
        "devices": 2, "fallback": "error"})
    with torch.no_grad():
        close(run(x), module(x))


def weights_change():
    """In place, or by others in their place."""
    module, x = perceptron(), torch.randn(6, 8)
    run, graphs = compiled(module)
    with torch.no_grad():
        close(run(x), module(x))
        [program] = graphs[0].programs
        assert program.is_frozen
        module[0].weight.add_(1)
        close(run(x), module(x))
        assert not program.is_frozen
        module[2].weight.data = torch.randn(4, 16)
        close(run(x), module(x))


def threads_take_turns():
    from concurrent.futures import ThreadPoolExecutor
    module, x = perceptron(), torch.randn(6, 8)
    run = divisi.compile(module, (x,))
    with ThreadPoolExecutor(8) as pool, torch.no_grad():
        for found in pool.map(lambda _: run(x), range(200)):
            close(found, module(x))


def shapes_are_dynamic():
    module = perceptron()
    for background in (False, True):
        run, graphs = compiled(module, dynamic=True, background=background)
        with torch.no_grad():
            for rows in (3, 5, 3, 7, 5, 3):
                x = torch.randn(rows, 8)
                close(run(x), module(x))
        assert len(graphs) == 1
        assert background or len(graphs[0].programs) == 3


class Written(nn.Module):
    """Writes to a buffer and an argument, returns views, has tied weights."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.table = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids, y):
        self.total.add_(1)
        y.mul_(2)
        hidden = self.table(ids) + self.total
        return self.head(hidden), y.view(2, -1), hidden, hidden.view(-1)


def memory_is_shared():
    for has_gradients in (False, True):
        for devices in (1, 2):
            ours, theirs = Written(), Written()
            ours.load_state_dict(theirs.state_dict())
            run, graphs = compiled(ours, devices)
            with torch.set_grad_enabled(has_gradients):
                for _ in range(3):
                    ids, y = torch.randint(10, (3,)), torch.randn(4)
                    same = y.clone()
                    wanted, found = theirs(ids, y), run(ids, same)
                    for a, b in zip(found, wanted):
                        close(a, b)
                    assert torch.equal(y, same)
                    assert torch.equal(ours.total, theirs.total)
                    with torch.no_grad():
                        found[1].add_(1)
                        assert torch.equal(same, y + 1)
                        before = found[2].clone()
                        found[3].add_(1)
                        assert torch.equal(found[2], before + 1)
            assert graphs and all(graph.programs for graph in graphs)


def falls_back():
    """With one warning, which names the operator and the line."""
    def drawn(x):
        return (x + torch.rand(3)).cos()

    def decomposed(x):
        return torch.linalg.svd(x)[1] + 1

    for function, operator, x in (
            (drawn, "aten.rand", torch.ones(3)),
            (decomposed, "aten._linalg_svd", torch.randn(3, 3))):
        torch._dynamo.reset()
        run = torch.compile(function, backend="divisi")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(3):
                run(x)
        told = [str(warning.message) for warning in told
                if issubclass(warning.category, divisi.DivisiWarning)]
        assert len(told) == 1, told
        assert f"operator {operator}" in told[0], told
        line = function.__code__.co_firstlineno + 1
        assert f"torch_host.py:{line}: return" in told[0], told
        try:
            compiled(function)[0](x)
        except Exception as error:
            assert operator in str(error), error
        else:
            raise AssertionError("it was compiled")


def branches():
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: (x.cos(),),
                          lambda x: (x.sin(),), (x,))[0]

    run, graphs = compiled(function)
    with torch.no_grad():
        for sign in (1, -1):
            x = sign * torch.ones(3)
            close(run(x), function(x))
    assert len(graphs) == 1


def fused_layers():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x = torch.randn(2, 5, 16)
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[0, 3:] = True
    with torch.no_grad():
        for keywords in ({}, {"src_key_padding_mask": mask}):
            run = divisi.compile(layer, (x,), example_keywords=keywords)
            close(run(x, **keywords), layer(x, **keywords))


def small_floats():
    """Results have their types, also where the exporter computes in others."""
    for function in (lambda x: x.sum(0), lambda x: x.prod(1),
                     lambda x: x.cumsum(0), lambda x: x.amax(0),
                     lambda x: (x.amin(1) * x.sum()).softmax(0)):
        for dtype in (torch.bfloat16, torch.float16):
            x = torch.rand(8, 8, dtype=dtype)
            close(compiled(function)[0](x), function(x), tolerance=2e-2)


def groups_of_rows():
    """The second of them empty; rows of no group are zeros."""
    def function(x, weight, ends):
        return torch.nn.functional.grouped_mm(x, weight, offs=ends)

    x = torch.randn(16, 16, dtype=torch.bfloat16)
    weight = torch.randn(3, 16, 32, dtype=torch.bfloat16)
    ends = torch.tensor([4, 4, 13], dtype=torch.int32)
    found = compiled(function, 2)[0](x, weight, ends)
    close(found[:13], function(x, weight, ends)[:13], tolerance=2e-2)
    assert not found[13:].any()


def programs_are_compiled():
    """Modules and exported programs, by divisi.compile()."""
    module, x = perceptron(), torch.randn(6, 8)
    program = torch.export.export(module, (x,))
    for given in (module, program):
        run = divisi.compile(given, (x,), devices=2)
        close(run(x), module(x).detach())
        assert run.artifact.devices == 2
    try:
        divisi.compile(module, "path")
    except divisi.UsageError as error:
        assert "example_inputs: got a str" in str(error)
    else:
        raise AssertionError("it was compiled")


def plan_files_are_read():
    """By read_plan(): what was written, and nothing else."""
    import json
    module, x = perceptron(), torch.randn(6, 8)
    plan = divisi.torch.plan(module, (x,), devices=2, tensor_parallel_size=2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        plan.export(path)
        read = divisi.torch.read_plan(module, path)
        assert read.to_dict() == plan.to_dict()
        assert str(read.parameters["0.weight"]) == "[Shard(dim=0)]"
        made = json.loads(path.read_text())
        other = nn.Sequential(nn.Sequential(nn.Linear(8, 4)))
        unshaped = {**made, "inputs": [{"name": "x", "dtype": "FLOAT"}]}
        for owner, given, kind, message in (
                (other, path, divisi.UsageError, "no parameter of this one"),
                (module, Path(folder) / "lost", divisi.FileError, "cannot read"),
                (module, {**made, "version": 2}, divisi.InvalidError,
                 "no plan of version 1"),
                (module, unshaped, divisi.UsageError,
                 "the shape or type of the input 'x'")):
            try:
                divisi.torch.read_plan(owner, given)
            except kind as error:
                assert message in str(error), error
            else:
                raise AssertionError(message)
        path.write_text("{")
        try:
            divisi.torch.read_plan(module, path)
        except divisi.InvalidError as error:
            assert "is no JSON" in str(error), error
        assert divisi.torch.read_plan(module, unshaped, (x,)).axes == plan.axes


def options_are_refused():
    for options, message in (
            ({"session": {"mpi_comm": 1}}, "do not compile together"),
            ({"process_group": True}, "init_process_group() before"),
            ({"process_group": 3}, "expected True, for the default group"),
            ({"process_group": True, "background": True}, "compile together, "),
            ({"shapes": {}}, "the shapes that it is called with"),
            ({"fallback": "never"}, "expected 'warn' or 'error'")):
        try:
            divisi.compile(perceptron(), (torch.randn(6, 8),), **options)
        except Exception as error:
            assert message in str(error), error
        else:
            raise AssertionError("it was compiled")


def cache_is_found():
    module, x = perceptron(), torch.randn(6, 8)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        def exported(**options):
            before = set(Path(folder).iterdir())
            run, _ = compiled(module, cache=folder, **options)
            close(run(x), module(x))
            return len(set(Path(folder).iterdir()) - before)

        assert exported() == 3  # the model, its names, an artifact
        assert exported() == 0
        assert exported(devices=2) == 1
        module[0].weight.add_(1)
        assert exported() == 1
        for path in Path(folder).iterdir():
            path.write_bytes(b"damaged")
        exported()


def training(case, devices):
    """Five steps; of losses, and of the state after them."""
    import torch_models
    torch.manual_seed(0)
    theirs, loss = getattr(torch_models, case)()
    ours = copy.deepcopy(theirs)
    run, graphs = compiled(ours, int(devices))
    losses = []
    for module, called in ((theirs, theirs), (ours, run)):
        optimizer = torch.optim.SGD(module.parameters(), lr=1e-2, momentum=.9)
        losses.append([])
        for _ in range(5):
            optimizer.zero_grad()
            value = loss(called)
            value.backward()
            optimizer.step()
            losses[-1].append(value.detach())
    close(torch.stack(losses[1]), torch.stack(losses[0]), "losses", 1e-4)
    # Nothing has fallen back; some models are several graphs.
    assert graphs and len(graphs) % 2 == 0, len(graphs)
    for (name, b), a in zip(ours.state_dict().items(),
                            theirs.state_dict().values()):
        assert (b.double() - a.double()).abs().max() <= 1e-3 * max(
            1, a.abs().max()), name


def model(name, devices):
    """One of bench/onnxruntime."""
    sys.path.insert(0, str(ROOT / "bench" / "onnxruntime"))
    import export
    module, inputs = export.make(name)
    run, graphs = compiled(module, int(devices))
    with torch.no_grad():
        close(run(*inputs.values()), module(*inputs.values()), name)
    assert len(graphs) == 1, graphs


def page():
    """The examples of docs/pytorch.md."""
    text = (ROOT / "docs" / "pytorch.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    test = doctest.DocTestParser().get_doctest(
        "".join(blocks), {}, "pytorch.md", "pytorch.md", 0)
    assert len(test.examples) > 10
    told = []
    # The examples write files.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        result = doctest.DocTestRunner(
            optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(
                test, out=told.append)
    assert result.failed == 0, "".join(told)


def main():
    for case in sys.argv[1:]:
        name, *arguments = case.split(":")
        globals()[name](*arguments)
        print(f"passed {case}", flush=True)


if __name__ == "__main__":
    main()
