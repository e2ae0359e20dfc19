#!/usr/bin/env python3
"""Times modules that plans of Divisi divide beside tensor parallelism by hand.

    python bench/torch/megatron.py [--only NAME,...] [--calls 11]

It starts itself by torchrun, as two processes of one thread each with gloo between
them, in the environment of bench/onnxruntime. The peers of a model are modules in the
same processes, which take turns call by call. Markdown to stdout. See README.md.
"""

import argparse
import contextlib
import copy
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "onnxruntime"), str(ROOT / "python")]

PROCESSES = 2
TOLERANCE = 1e-4
MODELS = ("llama", "vit")


def make(name):
    """A module, and its input."""
    import export  # noqa: F401 (which lets torchvision load)
    import torch
    import transformers

    class Logits(torch.nn.Module):
        def __init__(self, model, **options):
            super().__init__()
            self.model, self.options = model, options

        def forward(self, x):
            return self.model(x, **self.options).logits

    size = dict(hidden_size=512, num_hidden_layers=4, num_attention_heads=8)
    torch.manual_seed(0)
    if name == "llama":
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=4096, intermediate_size=1408, bos_token_id=0,
            eos_token_id=0, **size))
        return (Logits(model, use_cache=False).eval(),
                torch.randint(4096, (4, 128)))
    model = transformers.ViTForImageClassification(transformers.ViTConfig(
        intermediate_size=2048, image_size=176, num_labels=1000, **size))
    return Logits(model).eval(), torch.randn(4, 3, 176, 176)


def by_hand(module, mesh):
    """Megatron's division of each layer, and of a language model's head."""
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import (
        ColwiseParallel, RowwiseParallel, parallelize_module)
    styles = {}
    for name, _ in module.named_modules():
        last = name.rpartition(".")[2]
        if last in ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "fc1"):
            styles[name] = ColwiseParallel()
        elif last in ("o_proj", "down_proj", "fc2"):
            styles[name] = RowwiseParallel()
        elif last == "lm_head":
            styles[name] = ColwiseParallel(output_layouts=Replicate())
    return parallelize_module(module, mesh, styles)


def planned(module, x, options):
    """`module`, as a plan divides it, and what that is in words."""
    import divisi.torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate
    plan = divisi.torch.plan(module, (x,), devices=PROCESSES, **options)
    mesh = init_device_mesh("cpu", tuple(plan.axes.values()),
                            mesh_dim_names=tuple(plan.axes))
    divisi.torch.parallelize(module, plan, mesh)
    divided = sum(any(placement != Replicate() for placement in placements)
                  for placements in plan.parameters.values())
    return module, (f"mesh {plan.axes}, {divided} of {len(plan.parameters)} "
                    "parameters divided")


def step(module, x):
    """Forward and backward, with gradients placed as their parameters are."""
    from torch.distributed.tensor import DTensor
    module.zero_grad()
    y = module(x)
    y.square().mean().backward()
    for parameter in module.parameters():
        grad = parameter.grad
        if isinstance(grad, DTensor) and grad.placements != parameter.placements:
            parameter.grad = grad.redistribute(placements=parameter.placements)
    return y


def error(found, wanted, least):
    """How far off, as a part of the largest value, or of `least` if that is more."""
    found = found.full_tensor() if hasattr(found, "full_tensor") else found
    return ((found - wanted).abs().max() / max(wanted.abs().max(), least)).item()


def check(name, peer, module, x, whole):
    """Ends the program where a result is not that of one process. A gradient that
    cancels out, as of a bias of keys, is rounding errors: it has no scale."""
    worst = error(step(module, x).detach(), step(whole, x).detach(), 1e-6)
    pairs = [(ours.grad, theirs.grad) for ours, theirs in
             zip(module.parameters(), whole.parameters()) if theirs.grad is not None]
    least = 1e-4 * max(grad.abs().max() for _, grad in pairs)
    worst = max(worst, *(error(*pair, least) for pair in pairs))
    if not worst <= TOLERANCE:
        sys.exit(f"megatron.py: {name}, {peer}: the results differ by {worst:.1e}")


def moved(call, module, x):
    """The megabytes that a process receives in a call."""
    from divisi.torch._received import Received
    with Received() as received:
        call(module, x)
    return sum(received.bytes.values()) / 1e6


def timed(call, peers, x, calls):
    """{peer: the median of a call}, each as long as its slowest process."""
    import torch
    import torch.distributed as dist
    order = list(peers)
    times = torch.zeros(calls, len(order), dtype=torch.float64)
    for round_ in range(calls):
        for turn in range(len(order)):
            at = (round_ + turn) % len(order)
            dist.barrier()
            begin = time.perf_counter()
            call(peers[order[at]], x)
            times[round_, at] = time.perf_counter() - begin
    dist.all_reduce(times, dist.ReduceOp.MAX)
    return {peer: statistics.median(times[:, at].tolist())
            for at, peer in enumerate(order)}


def measure(name, calls, say):
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    whole, x = make(name)
    mesh = init_device_mesh("cpu", (PROCESSES,))
    peers = {"one process": whole, "by hand": by_hand(copy.deepcopy(whole), mesh)}
    notes = []
    for peer, options in (("planned", {}), ("planned with backward", {"backward": True}),
                          ("planned, tensor parallel",
                           {"tensor_parallel_size": PROCESSES})):
        peers[peer], note = planned(copy.deepcopy(whole), x, options)
        notes.append(f"{name}, {peer}: {note}")
    for peer, module in peers.items():
        check(name, peer, module, x, whole)
    for what, call, context in (
            ("forward", lambda module, x: module(x), torch.no_grad()),
            ("forward and backward", step, contextlib.nullcontext())):
        with context:
            times = timed(call, peers, x, calls)
            for peer, module in peers.items():
                say(f"| {name} | {what} | {peer} | {times[peer] * 1e3:.0f} ms "
                    f"| {times['by hand'] / times[peer]:.2f}x "
                    f"| {moved(call, module, x):.1f} MB |")
    return notes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(MODELS))
    parser.add_argument("--calls", type=int, default=11)
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    if not set(names) <= set(MODELS) or arguments.calls < 1:
        parser.error(f"models are {', '.join(MODELS)}, and calls are at least 1")
    if "LOCAL_RANK" not in os.environ:
        import environment
        sys.exit(subprocess.run([
            environment.ensure(environment.REQUIREMENTS), "-m",
            "torch.distributed.run", "--standalone", "--nproc-per-node",
            str(PROCESSES), __file__, *sys.argv[1:]],
            env={**os.environ, "OMP_NUM_THREADS": "1"}).returncode)
    import torch.distributed as dist
    dist.init_process_group("gloo")
    say = print if dist.get_rank() == 0 else lambda *_: None
    say("| model | call | peer | median | speed beside by hand | received |\n"
        + "|---" * 6 + "|")
    notes = [note for name in names
             for note in measure(name, arguments.calls, say)]
    say("\n" + "\n".join(notes))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
