"""Memory is one sum, the same wherever it is said."""

import json

import bad_models
import pytest
from conftest import Divisi


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    divisi = Divisi(tmp_path_factory.mktemp("memory"))
    bad_models.good(divisi.folder)
    divisi("compile", "m.onnx", "--devices", 2, "-o", "m.divisi")
    return divisi


def test_the_parts_of_a_devices_memory_are_its_sum(made):
    report = json.loads(made("explain", "m.divisi", "--json").out)
    devices = report["memory"]["per_device"]
    assert len(devices) == 2
    for device in devices:
        parts = [device[part] for part in ("weight_bytes", "arena_bytes",
                                           "workspace_bytes", "packed_bytes")]
        assert device["total_bytes"] == sum(parts) > device["arena_bytes"] > 0
