"""Keys of native code: whose signatures count, and what `divisi key` says."""

import os
import re

import numpy as np
import pytest
from conftest import model
from native_test import (CONTENT, FILE, REFUSED, artifact, compile_native, run,
                         user)

assert artifact  # a fixture


def key_of(divisi, name, action="show"):
    return divisi("key", action, env=user(divisi, name)).out


def test_a_server_runs_what_a_machine_that_it_trusts_has_signed(artifact):
    divisi, m, _ = artifact
    native, _ = run(divisi, "n.divisi", m)
    server = user(divisi, "server")
    without, said = run(divisi, "n.divisi", m, env=server)
    line = key_of(divisi, "user").strip()
    assert (REFUSED + f"it is signed by '{line}', which is not trusted" in said)
    assert "results may differ in their last bits" in said
    trusted = divisi.path("keys")
    trusted.write_text("# who builds\n" + line + " the CI machine\n")
    trusted.chmod(0o644)
    for always in (False, True):
        if always:
            divisi.path("server/divisi").mkdir(parents=True, exist_ok=True)
            trusted.rename(divisi.path("server/divisi/trusted.keys"))
        got, said = run(divisi, "n.divisi", m,
                        *([] if always else ["--trust", "keys"]), env=server)
        assert "native code" not in said
        for key, values in got.items():
            np.testing.assert_array_equal(values, native[key])
    # It cannot sign for them: what it compiles is signed by its own key.
    compile_native(divisi, m, output="own.divisi", env=server)
    _, said = run(divisi, "own.divisi", m)
    own = key_of(divisi, "server").strip()
    assert own != line
    assert REFUSED + f"it is signed by '{own}', which is not trusted" in said


@pytest.mark.sample()
@pytest.mark.parametrize("command", [
    ["run"], ["run", "--launch", 2], ["check", "--expect", "out.npz"],
    ["check", "--expect", "out.npz", "--json"], ["bench", "--repeat", 1],
    ["bench", "--repeat", 1, "--json"]], ids=lambda words: " ".join(
        map(str, words)))
def test_who_runs_without_it_is_told_that_bits_may_differ(divisi, command):
    """Once, whatever runs it, and however many processes."""
    m = model("bert")
    compile_native(divisi, m, "--devices", 2)
    run(divisi, "n.divisi", m) # writes out.npz
    verb, *flags = command
    inputs = [] if verb == "bench" else ["--inputs", m.inputs]
    for name, times in ("user", 0), ("server", 1):
        said = divisi(verb, "n.divisi", *inputs, *flags,
                      env=user(divisi, name)).err
        assert said.count(REFUSED) == times
        assert said.count("Kernels without it round differently, so results "
                          "may differ in their last bits") == times


def test_keys_that_others_may_write_are_not_trusted(artifact):
    divisi, m, _ = artifact
    trusted = divisi.path("keys")
    trusted.write_text(key_of(divisi, "user"))
    trusted.chmod(0o666)
    _, said = run(divisi, "n.divisi", m, "--trust", "keys", exits=CONTENT,
                  env=user(divisi, "server"))
    assert "the file of trusted keys 'keys' is not a file that " in said
    trusted.unlink()
    os.mkfifo(trusted)
    run(divisi, "n.divisi", m, "--trust", "keys", exits=CONTENT,
        env=user(divisi, "server"))


def test_key_shows_makes_and_lists(divisi):
    said = divisi("key", exits=FILE, env=user(divisi)).err
    assert "'divisi key make' makes one" in said
    listed = divisi("key", "trusted", env=user(divisi))
    path = divisi.path("user/divisi/trusted.keys")
    assert listed.out == ""
    assert (f"divisi: note: there is no '{path}', which would name more\n"
            in listed.err)
    made = divisi("key", "make", env=user(divisi))
    assert re.fullmatch(r"divisi-ed25519 [0-9a-f]{64}\n", made.out)
    assert "note: the secret key is in '" in made.err
    assert "'; who has it signs as this user\n" in made.err
    for action in ([], ["show"], ["make"]):
        assert divisi("key", *action, env=user(divisi)).out == made.out
    other = key_of(divisi, "other", "make")
    trusted = divisi.path("user/divisi/trusted.keys")
    trusted.write_text(other.strip() + " another\n")
    trusted.chmod(0o600)
    assert (divisi("key", "trusted", env=user(divisi)).out ==
            made.out.strip() + " (this user's own)\n" +
            other.strip() + " another\n")
    assert ("'burn': expected show, make or trusted"
            in divisi("key", "burn", env=user(divisi), exits=2).err)
