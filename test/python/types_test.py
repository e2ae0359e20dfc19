"""Checkers of types know the package: it is marked (py.typed), and what it exports is
annotated."""

import inspect
import typing

import pytest
from conftest import ROOT

import divisi
from divisi import onnx_backend

OWN = {name: getattr(divisi, name) for name in divisi.__all__}
OWN.update({name: getattr(onnx_backend, name) for name in (
    "DivisiBackend", "DivisiRep", "prepare", "run_model", "run_node",
    "is_compatible", "supports_device")})


def functions_of(thing):
    """Itself, or what a class has of its own."""
    if not inspect.isclass(thing):
        yield thing
        return
    for name, member in vars(thing).items():
        if isinstance(member, property):
            yield from filter(None, (member.fget, member.fset))
        elif not name.startswith("_") or name == "__init__":
            member = getattr(member, "__func__", member)
            if inspect.isfunction(member) and \
                    member.__module__.startswith("divisi"):  # not generated
                yield member


@pytest.mark.parametrize("name", OWN)
def test_all_that_is_exported_is_annotated(name):
    for function in functions_of(OWN[name]):
        hints = typing.get_type_hints(function)
        for parameter in inspect.signature(function).parameters.values():
            assert parameter.name in ("self", "cls") or \
                parameter.name in hints, (function, parameter.name)
        assert "return" in hints, function


def test_package_is_marked():
    assert (ROOT / "python/divisi/py.typed").exists()
