"""What the importer refuses, and every message that it does so with."""

import os
import subprocess
from pathlib import Path

import pytest
import refused_files
import refused_nodes

TOOL = Path(os.environ["DIVISI_BUILD"]) / "bin/import-each"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What import-each says of every node and file, by its number."""
    folder = tmp_path_factory.mktemp("refused")
    paths = []
    for number, (_, _, *row) in enumerate(refused_nodes.ROWS):
        path = folder / f"node{number}.onnx"
        path.write_bytes(refused_nodes.make_model(*row).SerializeToString())
        paths.append(path)
    for number, (_, _, make) in enumerate(refused_files.ROWS):
        inside = folder / f"file{number}"
        inside.mkdir()
        make(inside)
        paths.append(inside / "m.onnx")
    done = subprocess.run([TOOL, "--depth", "8", "--nodes", "20",
                           "--expansion", "40", *paths],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(paths)
    return [line.split("\t", 1) for line in lines]


def refused(answer, code, message):
    assert message in answer[1] and int(answer[0]) == code, answer
    assert not answer[1].endswith(".")


@pytest.mark.parametrize("number", range(len(refused_nodes.ROWS)),
                         ids=[f"{row[2]}: {row[1]}"[:60]
                              for row in refused_nodes.ROWS])
def test_node(answers, number):
    refused(answers[number], *refused_nodes.ROWS[number][:2])
    assert "node 'only'" in answers[number][1]


@pytest.mark.parametrize("number", range(len(refused_files.ROWS)),
                         ids=[row[1][:60] for row in refused_files.ROWS])
def test_file(answers, number):
    refused(answers[len(refused_nodes.ROWS) + number],
            *refused_files.ROWS[number][:2])
