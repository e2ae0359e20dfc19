#!/usr/bin/env python3
"""Writes the table of kernels in docs/gpu.md: what ptxas makes of those of the
tests' models, for the GPUs that it knows.

    docs/generate_kernel_table.py            writes the table
    docs/generate_kernel_table.py --check    fails if it would change

Without ptxas, or with another one than the table names, nothing is compared but
that no kernel spills registers; the script says so. test/endtoend/
kernel_table_test.py runs the check.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gpu.md"
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PTXAS = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "ptxas"
MODELS = ["gpt2", "bert", "llama", "t5", "vit", "resnet", "segformer"]
BEGIN, END = "<!-- kernels: begin -->\n", "<!-- kernels: end -->\n"

# Of a multiprocessor of each: bytes that blocks share, of which each block costs
# 1 KiB more. Registers, warps and blocks are alike (CUDA Programming Guide,
# "Technical Specifications per Compute Capability").
SHARED = {"sm_80": 164 << 10, "sm_90": 228 << 10, "sm_100": 228 << 10}
REGISTERS, WARPS, BLOCKS, WARPS_OF_BLOCK = 65536, 64, 32, 8


def occupancy(registers, shared, architecture):
    """The share of its warps that a multiprocessor has with blocks of 256."""
    of_warp = -(-registers * 32 // 256) * 256
    blocks = min(BLOCKS, WARPS // WARPS_OF_BLOCK,
                 REGISTERS // (of_warp * WARPS_OF_BLOCK),
                 SHARED[architecture] // (shared + 1024))
    return blocks * WARPS_OF_BLOCK / WARPS


def unescape(text):
    return re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), text)


def kernels_of(name, folder):
    """By PTX, what the kernels of the model do."""
    model = ROOT / "test" / "models" / f"{name}.onnx"
    subprocess.run(
        [BUILD / "bin" / "divisi", "compile", model, "--shapes-from",
         model.with_suffix(".inputs.npz"), "--devices", "1", "--gpu", "sm_80",
         "--cubins", "off",
         "-o", f"{name}.divisi", "--dump-after", "lower", "--dump-to", "."],
        cwd=folder, check=True, capture_output=True)
    text = (folder / f"{name}.lower.mlir").read_text()
    codes = {m[1]: unescape(m[2]) for m in re.finditer(
        r'exec\.code @(\S+) for "nvptx[^"]*" "([^"]*)"', text)}
    found = {}
    for call in re.finditer(
            r'exec\.call "([\w.]+)"[^\n]*? code @(\S+)([^\n]*\n)', text):
        operator, code, rest = call.groups()
        if code not in codes:
            continue
        if operator == "fused":
            region = text[call.end():text.index("exec.yield", call.end())]
            parts = re.findall(r"= nn\.(\w+)", region)
            rows = {"softmax", "normalize"} & set(parts)
            operator = ("regions with " + " and ".join(sorted(rows)) if rows
                        else "regions of elements")
        else:
            operator = operator.removeprefix("nn.")
        found[codes[code]] = operator
    for call in re.finditer(
            r'exec\.call "([\w.]+)"[^\n]*? fallback @(\S+)', text):
        operator, code = call.groups()
        if operator == "fused":
            operator = re.search(r"= (nn\.\w+)", text[call.end():])[1]
        kind = "products" if operator == "nn.matmul" else "convolutions"
        found.setdefault(codes[code], f"{kind} as fallbacks")
    return found


def measure(ptx, architecture, folder):
    """Registers, bytes spilled, and shared by a block."""
    (folder / "k.ptx").write_text(ptx)
    said = subprocess.run(
        [PTXAS, "-v", f"-arch={architecture}", "k.ptx", "-o", "k.cubin"],
        cwd=folder, check=True, capture_output=True, text=True).stderr
    number = lambda pattern: sum(map(int, re.findall(pattern, said)))
    return (number(r"Used (\d+) registers"), number(r"(\d+) bytes spill"),
            number(r"(\d+) bytes smem"))


def rows_of(folder):
    """By what kernels do: how many, and what each is measured to be."""
    kinds = defaultdict(dict)
    for name in MODELS:
        for ptx, kind in kernels_of(name, folder).items():
            kinds[kind][ptx] = True
    for kind, kernels in sorted(kinds.items()):
        yield kind, {architecture: [measure(ptx, architecture, folder)
                                    for ptx in kernels]
                     for architecture in SHARED}


def version():
    said = subprocess.run([PTXAS, "--version"], capture_output=True, text=True,
                          check=True).stdout
    return re.search(r"V([\d.]+)", said)[1]


def write_table(rows):
    lines = [f"Of ptxas {version()}, the most that a kernel of the kind takes:",
             "", "| kernels | how many | registers on " +
             " | on ".join(SHARED) + " | shared | spilled | occupancy from |",
             "|" + "---|" * 8]
    for kind, measured in rows:
        most = [max(m[0] for m in each) for each in measured.values()]
        all_of = [(m, a) for a, each in measured.items() for m in each]
        lines.append(
            f"| {kind} | {len(all_of) // len(SHARED)} | "
            + " | ".join(map(str, most))
            + f" | {max(m[2] for m, _ in all_of)} B"
            + f" | {max(m[1] for m, _ in all_of)}"
            + f" | {min(occupancy(m[0], m[2], a) for m, a in all_of):.0%} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    if not os.access(PTXAS, os.X_OK):
        print(f"no {PTXAS}: nothing was compared")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        rows = list(rows_of(Path(folder)))
    spills = [kind for kind, measured in rows
              if any(m[1] for each in measured.values() for m in each)]
    if spills:
        print("these spill registers: " + ", ".join(spills))
        return 1
    page = PAGE.read_text()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    table = write_table(rows)
    if not check:
        PAGE.write_text(page[:begin] + table + page[end:])
        return 0
    if f"ptxas {version()}," not in page[begin:end]:
        print(f"the table is not of ptxas {version()}: no kernel spills, and "
              "nothing else was compared")
        return 0
    if page[begin:end] != table:
        print("docs/gpu.md has another table than the tools now write; run "
              "docs/generate_kernel_table.py\n" + table)
        return 1
    print("counted: kernels that ptxas takes for each of "
          f"{len(SHARED)} kinds of GPUs, without a spill: "
          f"{sum(len(each['sm_80']) for _, each in rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
