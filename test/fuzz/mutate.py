#!/usr/bin/env python3
"""Damages files in every stage of a program's life and runs `divisi` on them.

    mutate.py --count 20 --seed 0          twenty of each kind
    mutate.py --kind dump --seed 7 --only 13 --keep DIR

Whatever the damage, the program must end by itself with a documented exit
code other than 1 (internal error) and, unless it succeeds, a message. What
breaks this is kept with its command in `--keep`. Kinds:

  onnx      bytes of a model flipped, cut, copied
  wire      fields of a model's protobuf changed, dropped, repeated, swapped
  manifest  the same for an artifact's manifest, with its hash made right
  artifact  bytes of an artifact flipped or cut, the hash left alone
  dump      lines and numbers of a module after each stage
  npz       bytes and headers of input tensors

The same seed gives the same files on every machine.
"""

import argparse
import hashlib
import io
import os
import random
import re
import resource
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import wire

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))
import share  # noqa: E402

BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin" / "divisi"
MODELS = ROOT / "test" / "models"
STAGES = ("import", "plan", "partition", "schedule", "lower")
# 0, and what docs promise for wrong files and options; 1 is ours to fix.
ALLOWED = {0, 2, 3, 4, 5, 6, 7, 8, 9, 10}
SECONDS = 120
MEMORY = 8 << 30
INTERESTING = (0, 1, 2, 3, 7, 8, 64, 255, 2**31 - 1, 2**31, 2**32 - 1,
               2**62, 2**63 - 1, 2**63, 2**64 - 1)


def sanitized():
    """A sanitizer reserves more address space than any limit allows."""
    return b"__asan_init" in PROGRAM.read_bytes()


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(folder, *arguments):
    """(command, exit code or None for a hang, stderr)."""
    command = [str(PROGRAM)] + [str(a) for a in arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            preexec_fn=None if run.sanitized else limit_memory)
    except subprocess.TimeoutExpired as hang:
        return shlex.join(command), None, (hang.stderr or b"").decode()
    return (shlex.join(command), done.returncode,
            done.stderr.decode(errors="replace"))


def verdict(code, err):
    """What is wrong with this outcome, or nothing."""
    if code is None:
        return f"no end within {SECONDS} s"
    if code not in ALLOWED:
        return f"exit code {code}"
    if code != 0 and "error: " not in err:
        return f"exit code {code} without a message"
    return None


# Mutators: random.Random and bytes in, bytes out.

def mutate_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 4, 32))):
        if not data:
            break
        at = rng.randrange(len(data))
        # Headers and structure lie at the ends of most formats.
        if rng.random() < 0.5:
            at %= min(len(data), 4096)
            at = rng.choice((at, len(data) - 1 - at))
        action = rng.randrange(5)
        if action == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif action == 1:
            data[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
        elif action == 2:
            value = rng.choice(INTERESTING).to_bytes(8, "little")
            data[at:at + 8] = value[:len(data) - at]
        elif action == 3:
            del data[at:at + rng.choice((1, 8, 1000))]
        else:
            length = rng.choice((1, 8, 100))
            data[at:at] = data[at:at + length]
    if rng.random() < 0.2:
        del data[rng.randrange(len(data) + 1):]
    return bytes(data)


def mutate_wire(rng, data):
    message = wire.parse(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        mutate_message(rng, message)
    return wire.serialize(message)


def mutate_message(rng, message):
    """Changes one field somewhere beneath `message`."""
    fields = message
    while True:
        if not fields:
            return
        at = rng.randrange(len(fields))
        field = fields[at]
        # Repeated submessages hide the rest: go down more often than not.
        if isinstance(field.value, list) and rng.random() < 0.9:
            fields = field.value
            continue
        break
    action = rng.randrange(6)
    if action == 0:
        del fields[at]
    elif action == 1:
        fields.insert(rng.randrange(len(fields) + 1), field)
    elif action == 2:
        other = rng.randrange(len(fields))
        fields[at], fields[other] = fields[other], fields[at]
    elif isinstance(field.value, int):
        fields[at] = field.replaced(mutate_number(rng, field.value))
    elif isinstance(field.value, bytes):
        fields[at] = field.replaced(mutate_bytes(rng, field.value))
    else:
        del fields[at]


def mutate_number(rng, value):
    choices = INTERESTING + (value + 1, value - 1, value * 2, value // 2)
    return rng.choice(choices) % 2**64


# As test/endtoend/conftest.py says.
HEADER = 144


def mutate_manifest(rng, data):
    """An artifact whose manifest is wrong, and says so nowhere."""
    [size] = struct.unpack("<I", data[12:16])
    manifest = data[HEADER:HEADER + size]
    change = mutate_wire if rng.random() < 0.85 else mutate_bytes
    manifest = change(rng, manifest)
    # Sections keep their places unless the manifest outgrows its own.
    room = max(len(manifest), (HEADER + size + 4095) // 4096 * 4096 - HEADER)
    rest = data[HEADER + room:]
    return (data[:12] + struct.pack("<I", len(manifest)) +
            hashlib.sha256(manifest).digest() + data[48:HEADER] +
            manifest.ljust(room, b"\0") + rest)


NUMBER = re.compile(r"(?<![\w%@#])-?\d+(?:\.\d+(?:e[+-]?\d+)?)?")
NUMBERS = ("0", "1", "-1", "2", "3", "5", "9", "1000000",
           "2147483647", "4294967296", "9223372036854775807",
           "-9223372036854775808", "99999999999999999999", "1.0e+300")


def mutate_dump(rng, data):
    lines = data.decode().splitlines()
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        mutate_line(rng, lines)
    return ("\n".join(lines) + "\n").encode()


def mutate_line(rng, lines):
    at = rng.randrange(len(lines))
    action = rng.choice("drsnnnnwwb")
    if action == "d":
        del lines[at]
        lines or lines.append("")
    elif action == "r":
        lines.insert(at, lines[at])
    elif action == "s":
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif action == "n":
        replace_one(rng, lines, at, NUMBER, NUMBERS)
    elif action == "w":
        words = re.findall(r"[@%#]?[\w.]+", rng.choice(lines)) or ["x"]
        replace_one(rng, lines, at, re.compile(r"[@%#]?[\w.]+"), words)
    else:
        replace_one(rng, lines, at, re.compile(r"."), "()[]{}<>,:=%@#\"-x0")


def replace_one(rng, lines, at, pattern, choices):
    found = list(pattern.finditer(lines[at]))
    if found:
        span = rng.choice(found).span()
        line = lines[at]
        lines[at] = line[:span[0]] + rng.choice(choices) + line[span[1]:]


def mutate_npz(rng, data):
    if rng.random() < 0.4:
        return mutate_bytes(rng, data)
    # Members with right checksums, so that what is in them is looked at.
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, \
            zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        victim = rng.choice(names)
        for name in names:
            member = old.read(name)
            if name == victim:
                member = rng.choice((mutate_bytes, mutate_header))(rng, member)
            info = zipfile.ZipInfo(name)
            info.compress_type = rng.choice(
                (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            new.writestr(info, member)
    return out.getvalue()


def mutate_header(rng, member):
    header, body = member[:128], member[128:]
    text = header.decode("latin1")
    lines = [text]
    for _ in range(rng.choice((1, 2))):
        replace_one(rng, lines, 0, re.compile(r"\d+|<|'\w+'|True|False"),
                    NUMBERS + ("'f4'", "'<i8'", "'|b1'", "'|O'", ">", "True"))
    return lines[0].encode("latin1") + body


def devices_of(dump):
    """Later stages have decided."""
    return ("--devices", 2) if dump.endswith(".import.mlir") else ()


class Fuzzer:
    """Works in `folder`; `keep` receives what went wrong."""

    def __init__(self, folder, keep, seed):
        self.folder, self.keep, self.seed = folder, keep, seed
        self.failures = 0

    def prepare(self, name):
        """Everything that can be damaged of one model."""
        folder = self.folder / name
        folder.mkdir()
        for ending in (".onnx", ".inputs.npz"):
            shutil.copy(MODELS / (name + ending), folder / ("m" + ending))
        command, code, err = run(
            folder, "compile", "m.onnx", "--shapes-from", "m.inputs.npz",
            "--devices", 2, "--dump-after", "all", "-o", "m.divisi")
        if code != 0:
            sys.exit(f"{command}\nexit code {code}\n{err}")
        # A stage that could not be resumed would be refused for that, and
        # its damage would never be looked at.
        for stage in STAGES:
            dump = f"m.{stage}.mlir"
            command, code, err = run(folder, "compile", dump,
                                     *devices_of(dump), "-o", "out.divisi")
            if code != 0:
                sys.exit(f"{command}\nexit code {code}\n{err}")
        command, code, err = run(folder, "run", "out.divisi", "--inputs",
                                 "m.inputs.npz", "-o", "out.npz")
        if code != 0:
            sys.exit(f"{command}\nexit code {code}\n{err}")
        return folder

    def case(self, kind, name, folder, index):
        """Damages one file and runs the program: its exit code."""
        rng = random.Random(f"{self.seed} {kind} {name} {index}")
        if kind == "dump":
            stage = STAGES[index % len(STAGES)]
            source, mutator = f"m.{stage}.mlir", mutate_dump
        else:
            source, mutator = {
                "onnx": ("m.onnx", mutate_bytes),
                "wire": ("m.onnx", mutate_wire),
                "manifest": ("m.divisi", mutate_manifest),
                "artifact": ("m.divisi", mutate_bytes),
                "npz": ("m.inputs.npz", mutate_npz)}[kind]
        bad = f"bad{Path(source).suffix}"
        (folder / bad).write_bytes(
            mutator(rng, (folder / source).read_bytes()))
        if kind in ("onnx", "wire"):
            first = ("compile", bad, "--shapes-from", "m.inputs.npz",
                     "--devices", 2, "-o", "out.divisi")
        elif kind == "dump":
            first = ("compile", bad, *devices_of(source), "-o",
                     "out.divisi")
        else:
            first = ("run", "m.divisi" if kind == "npz" else bad, "--inputs",
                     bad if kind == "npz" else "m.inputs.npz",
                     "-o", "out.npz")
        code = self.judge(kind, index, folder, bad, *first)
        if code == 0 and first[0] == "compile":
            self.judge(kind, index, folder, bad, "run", "out.divisi",
                       "--inputs", "m.inputs.npz", "-o", "out.npz")
        return code

    def judge(self, kind, index, folder, bad, *arguments):
        command, code, err = run(folder, *arguments)
        wrong = verdict(code, err)
        if wrong:
            self.failures += 1
            kept = self.keep / f"{folder.name}-{kind}-{index}"
            shutil.copytree(folder, kept, dirs_exist_ok=True)
            (kept / "report.txt").write_text(f"{wrong}\n{command}\n{err}")
            end = "\n    ".join(err.strip().splitlines()[-12:])
            print(f"{kept.name}: {wrong}\n  $ cd {kept} && {command}\n"
                  f"    {end}", flush=True)
        return code


def main():
    kinds = ("onnx", "wire", "manifest", "artifact", "dump", "npz")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=share.sample_size(100),
                        help="of each kind (default: a share of 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the case of this index")
    parser.add_argument("--kind", action="append", choices=kinds)
    parser.add_argument("--model", action="append",
                        help="of test/models (default: gpt2)")
    parser.add_argument("--keep", type=Path, default=BUILD / "test" / "fuzz",
                        help="where failing files go")
    arguments = parser.parse_args()
    run.sanitized = sanitized()
    indices = (range(arguments.count) if arguments.only is None
               else [arguments.only])
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder), arguments.keep, arguments.seed)
        for name in arguments.model or ["gpt2"]:
            place = fuzzer.prepare(name)
            for kind in arguments.kind or kinds:
                codes = [fuzzer.case(kind, name, place, i) for i in indices]
                total += len(codes)
                counts = ", ".join(f"{codes.count(c)} × {c}" for c in
                                   sorted(set(codes), key=str))
                print(f"{name} {kind}: exit codes {counts}", flush=True)
    print(f"counted: damaged files: {total}, {fuzzer.failures} failures")
    return 1 if fuzzer.failures or not total else 0


if __name__ == "__main__":
    sys.exit(main())
