"""What lib/Verify calls: data and accessors, and nothing that made the layouts.

A verifier that calls the functions it checks agrees with their mistakes. So the
library's undefined symbols of this project are compared with what it may use.
"""

import os
import re
import subprocess
from pathlib import Path

LIBRARY = Path(os.environ["DIVISI_BUILD"]) / "lib/libDivisiVerify.a"

# Accessors of operations, attributes and interfaces; the statement of loops;
# the value that a grid is, and printing; and the library itself.
ALLOWED = re.compile(
    r"divisi::(verify::\w+|spmd::\w+::get\w+|nn::\w+::get\w+|nn::globalType"
    r"|Grid::(Grid|print)|noteDataflow|verifyPartition)[\[(]"
    r"|divisi::verify::DataflowHashes::\w+\("
    r"|mlir::detail::TypeIDResolver<divisi::")


def undefined_symbols():
    listing = subprocess.run(["nm", "-uC", str(LIBRARY)], check=True,
                             capture_output=True, text=True).stdout
    return sorted({line.split(None, 1)[1] for line in listing.splitlines()
                   if " U " in line and "divisi::" in line})


def test_calls_nothing_that_makes_layouts():
    symbols = undefined_symbols()
    assert len(symbols) > 20, "is this the library?"
    foreign = [s for s in symbols if not ALLOWED.search(s)]
    assert not foreign, "\n".join(foreign)


def test_would_notice_the_functions_that_make_them():
    for symbol in [
            "divisi::operandLayout(divisi::LoopNest const&, unsigned int)",
            "divisi::verifyStep[abi:cxx11](divisi::Grid const&)",
            "divisi::Layout::box(divisi::Grid const&) const",
            "divisi::spmd::resolveSplit(mlir::Operation*)"]:
        assert not ALLOWED.search(symbol)
