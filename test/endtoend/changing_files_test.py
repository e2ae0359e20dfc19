"""Files that another process changes while they are read: what was checked is
what runs, and no run dies of a signal."""

import os
import re
import resource
import struct
import threading
import time

import pytest
from conftest import model
from native_test import compile_native, user, with_hashes_of
from share import sample_size

FILE, CONTENT = 3, 4
# Exits with 77 by a system call, whoever runs it.
FOREIGN = b"\xb8\xe7\0\0\0\xbf\x4d\0\0\0\x0f\x05"
RUNS = 100


def entry_of(code):
    """Where in the object its only function begins."""
    [headers] = struct.unpack_from("<Q", code, 32)
    [count] = struct.unpack_from("<H", code, 56)
    parts = [struct.unpack_from("<IIQQQQ", code, headers + 56 * i)
             for i in range(count)]

    def at(address):
        for kind, _, offset, begin, _, size in parts:
            if kind == 1 and begin <= address < begin + size:
                return address - begin + offset
        raise AssertionError(hex(address))

    [dynamic] = [offset for kind, _, offset, *_ in parts if kind == 2]
    tags = {}
    while not tags or tag:
        tag, value = struct.unpack_from("<QQ", code, dynamic)
        tags[tag] = value
        dynamic += 16
    # The symbol behind the one that is none.
    [address] = struct.unpack_from("<Q", code, at(tags[6]) + 24 + 8)
    return at(address)


def with_foreign_code(data):
    """The artifact with all of its objects doing something else."""
    bad = bytearray(data)
    for found in re.finditer(rb"\x7fELF", data):
        begin = found.start() + entry_of(data[found.start():])
        bad[begin:begin + len(FOREIGN)] = FOREIGN
    assert bad != data
    return bytes(bad)


class Changing:
    """While it lasts, a file has one content and then the other."""

    def __init__(self, path, contents):
        self.path, self.contents = path, contents
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.change)

    def change(self):
        file = os.open(self.path, os.O_RDWR)
        while not self.ends.is_set():
            for content in self.contents:
                os.pwrite(file, content, 0)
                os.ftruncate(file, len(content))
                time.sleep(0.001)
        os.pwrite(file, self.contents[0], 0)
        os.close(file)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


@pytest.fixture
def artifact(divisi):
    m = model("bert")
    compile_native(divisi, m)
    return divisi, m, divisi.path("n.divisi").read_bytes()


def runs(divisi, m, path, contents, *arguments):
    """What runs end with while the content changes, and what they say."""
    ends = []
    with Changing(path, contents):
        for _ in range(sample_size(RUNS, least=4)):
            done = divisi("run", "n.divisi", "--inputs", m.inputs, *arguments,
                          "-o", "out.npz", exits=None, env=user(divisi))
            ends.append((done.code, done.err))
    return ends


def test_the_planted_code_would_run(artifact):
    """Or the next test shows nothing."""
    divisi, m, data = artifact
    bad = with_foreign_code(data)
    divisi.path("n.divisi").write_bytes(with_hashes_of(data, bad))
    divisi("run", "n.divisi", "--inputs", m.inputs, "--allow-native", "-o",
           "out.npz", exits=77, env=user(divisi))


def test_code_that_is_swapped_never_runs(artifact):
    divisi, m, data = artifact
    bad = with_foreign_code(data)
    for code, said in runs(divisi, m, divisi.path("n.divisi"), [data, bad]):
        assert code == 0 or (code == CONTENT and
                             "does not match its hash" in said), (code, said)


@pytest.mark.parametrize("flags", [[], ["--verify"]])
def test_a_file_that_becomes_shorter_is_an_error(artifact, flags):
    divisi, m, data = artifact
    for code, said in runs(divisi, m, divisi.path("n.divisi"),
                           [data, data[:5000]], *flags):
        assert code in (0, FILE, CONTENT), (code, said)
        assert code == 0 or "divisi: error: " in said
        assert "report it" not in said


def test_inputs_that_become_shorter_are_an_error(artifact):
    divisi, m, _ = artifact
    data = m.inputs.read_bytes()
    path = divisi.path("in.npz")
    path.write_bytes(data)
    with Changing(path, [data, data[:100]]):
        for _ in range(sample_size(RUNS // 4, least=2)):
            done = divisi("run", "n.divisi", "--inputs", path, "-o", "out.npz",
                          exits=None, env=user(divisi))
            assert done.code in (0, FILE, CONTENT), done.report("ended")
            assert "report it" not in done.err


def test_a_model_that_becomes_shorter_is_an_error(divisi):
    m = model("bert")
    data = m.onnx.read_bytes()
    divisi.path("m.onnx").write_bytes(data)
    with Changing(divisi.path("m.onnx"), [data, data[:100000]]):
        for _ in range(sample_size(RUNS // 4, least=2)):
            done = divisi("compile", "m.onnx", *m.shapes, "-o", "o.divisi",
                          exits=None)
            assert done.code in (0, FILE, CONTENT), done.report("ended")
            assert "report it" not in done.err


def test_a_text_that_memory_has_no_room_for_is_an_error(divisi):
    divisi.path("m.mlir").write_text("module {\n" + " " * 5000)
    os.truncate(divisi.path("m.mlir"), 8 << 30)
    few = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    said = divisi("compile", "m.mlir", "-o", "o.divisi", exits=FILE,
                  preexec_fn=few).err
    assert ("cannot read 'm.mlir': it has 8589934592 bytes, for which there is "
            "no memory") in said
