"""One process of a mesh of gloo, started by torchrun: a parallelized module has the
outputs, losses and gradients of one process, and moves what its plan says.

    torch_mesh_host.py MODEL OPTIONS [DIVISI]

With DIVISI, the program, the plan is one of the command line's: of the model that
PyTorch exports, as `divisi export --to dtensor` writes it.
"""

import copy
import json
import math
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch
import torch.distributed as dist
import torch_models
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

import divisi.torch


# What plans call the functional collectives.
KINDS = {"all_gather_into_tensor": "all_gather", "all_reduce": "all_reduce",
         "reduce_scatter_tensor": "reduce_scatter",
         "all_to_all_single": "all_to_all"}


class Moved(TorchDispatchMode):
    """Counts the functional collectives, and the bytes that a process receives, as
    plans count them."""

    def __init__(self):
        super().__init__()
        self.counts, self.bytes = Counter(), 0

    def __torch_dispatch__(self, function, types, args=(), keywords=None):
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # its collectives come then
        result = function(*args, **(keywords or {}))
        name = str(function)
        if "c10d_functional" in name and not ("wait" in name or "_wrap" in name):
            kind = KINDS[name.split(".")[1]]
            group = dist.distributed_c10d._resolve_process_group(args[-1])
            others, size = group.size() - 1, group.size()
            self.counts[kind] += 1
            self.bytes += {
                "all_gather": lambda: others * args[0].nbytes,
                "all_reduce": lambda: 2 * others * result.nbytes // size,
                "reduce_scatter": lambda: others * result.nbytes,
                "all_to_all": lambda: result.nbytes - result.nbytes *
                args[1][group.rank()] // max(1, sum(args[1]))}[kind]()
        return result


def close(found, wanted, what):
    scale = wanted.abs().max().clamp(min=1e-6)
    assert (found - wanted).abs().max() <= 1e-4 * scale, what


def exported(divisi_program, module, x, options):
    """The path of a plan, written by process 0 of all."""
    folder = [tempfile.mkdtemp(prefix="divisi-mesh-")]
    dist.broadcast_object_list(folder, 0)
    model, plan = (str(Path(folder[0]) / name) for name in ("m.onnx", "m.json"))
    if dist.get_rank() == 0:
        torch.onnx.export(module, (x,), model, dynamo=True, verbose=False)
        flags = [f"--{key.replace('_', '-')}={value}"
                 for key, value in options.items() if key != "mesh"]
        flags += ["--mesh=" + ",".join(f"{axis}={size}" for axis, size in
                                       options["mesh"].items())
                  ] if "mesh" in options else []
        subprocess.run([divisi_program, "export", model, "--to", "dtensor", "-o",
                        plan, f"--devices={dist.get_world_size()}", *flags],
                       check=True)
    dist.barrier()
    return plan


def main():
    name, options = sys.argv[1], json.loads(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    module, x = getattr(torch_models, f"{name}_logits")()
    whole = copy.deepcopy(module)
    if len(sys.argv) > 3:
        plan = divisi.torch.read_plan(
            module, exported(sys.argv[3], module, x, options))
    else:
        plan = divisi.torch.plan(module, (x,), devices=dist.get_world_size(),
                                 **options)
    mesh = init_device_mesh("cpu", tuple(plan.axes.values()),
                            mesh_dim_names=tuple(plan.axes))
    divisi.torch.parallelize(module, plan, mesh, gather_outputs=False)
    with Moved() as moved:
        y = module(x)
    if dist.get_rank() == 0:
        print(json.dumps({
            "moved": moved.counts, "bytes": moved.bytes,
            "planned": plan.collectives,
            "products": list(plan.products),
            "report": plan.report, "plan": plan.to_dict()}), flush=True)
    y = y.full_tensor()
    wanted = whole(x)
    close(y, wanted, "outputs")
    losses = [torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        torch.arange(math.prod(logits.shape[:-1])) % logits.shape[-1])
        for logits in (y, wanted)]
    close(*losses, "loss")
    for loss in losses:
        loss.backward()
    for (key, ours), theirs in zip(module.named_parameters(),
                                   whole.parameters()):
        if theirs.grad is not None:
            close(ours.grad.full_tensor(), theirs.grad, key)
    state = divisi.torch.state_dict(module)
    for key, value in whole.state_dict().items():
        assert torch.equal(state[key], value), key
    held = sum(p.to_local().nbytes for p in module.parameters())
    held += sum(b.to_local().nbytes for b in module.buffers()
                if hasattr(b, "to_local"))
    assert abs(held - plan.bytes_per_device()) <= .1 * held, (
        held, plan.bytes_per_device())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
