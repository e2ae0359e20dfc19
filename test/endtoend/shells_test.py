"""What an installed tree tells shells and man of the command line has each verb
and each option, and shells understand it."""

import re
import shutil
import subprocess

import pytest

FILES = {"bash": "bash-completion/completions/divisi",
         "zsh": "zsh/site-functions/_divisi",
         "fish": "fish/vendor_completions.d/divisi.fish",
         "man": "man/man1/divisi.1"}


@pytest.fixture(scope="module")
def table(tree):
    """Verb to options, as they are in the help."""
    def words(pattern, *verb):
        text = subprocess.run([tree / "bin/divisi", *verb, "--help"], check=True,
                              capture_output=True, text=True).stdout
        return re.findall(pattern, text, re.M)
    found = {verb: words(r"^  (--?[a-z][\w-]*)", verb)
             for verb in words(r"^  ([a-z-]+) ")}
    assert "--devices" in found["compile"] and "-o" in found["solve"]
    assert len(found) > 10
    return found


@pytest.fixture(params=FILES)
def shell(request):
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param} here")
    return request.param


def parts(kind, text, verb):
    """What a file says of one verb."""
    patterns = {"bash": rf'"{verb} "\) (.*)',
                "zsh": rf"^  {verb}\)\n(.*?);;",
                "fish": rf"_subcommand_from {verb}' (.*)",
                "man": rf'^\.SH "DIVISI {verb.upper()}"\n(.*?)(?=^\.SH|\Z)'}
    flags = re.M | (0 if kind == "fish" else re.S)
    found = re.findall(patterns[kind], text, flags)
    assert found, (kind, verb)
    return "\n".join(found[:None if kind == "fish" else 1])


@pytest.mark.parametrize("kind", FILES)
def test_each_verb_and_option_is_there(tree, table, kind):
    text = (tree / "share" / FILES[kind]).read_text()
    for verb, options in table.items():
        said = parts(kind, text, verb).replace("\\-", "-")
        for option in options:
            name = option.lstrip("-")
            pattern = {"bash": rf"[ \"]{option}[= \"]",
                       "zsh": rf"'{option}=?\[",
                       "fish": rf"^-[ls] {name} ",
                       "man": rf"^\\fB{option}\\fR"}[kind]
            assert re.search(pattern, said, re.M), (verb, option)


def complete_bash(tree, *words):
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); '
              '_divisi; printf "%s\\n" "${COMPREPLY[@]}"')
    return subprocess.run(
        ["bash", "-c", script, "bash", tree / "share" / FILES["bash"], *words],
        check=True, capture_output=True, text=True).stdout.split()


def complete_fish(tree, *words):
    line = "".join(words[:1]) + "".join(
        word if word == "=" or before == "=" else f" {word}"
        for before, word in zip(words, words[1:]))
    answers = subprocess.run(
        ["fish", "--no-config", "-c",
         'source $argv[1]; complete -C $argv[2]', "--",
         tree / "share" / FILES["fish"], line], check=True,
        capture_output=True, text=True).stdout.splitlines()
    return [answer.split("\t")[0].removeprefix("--precision=")
            for answer in answers]


@pytest.mark.parametrize("complete", [complete_bash, complete_fish])
def test_words_are_completed(tree, table, complete):
    if not shutil.which(complete.__name__.split("_")[1]):
        pytest.skip(f"no shell for {complete.__name__} here")
    assert complete(tree, "divisi", "expl") == ["explain"]
    assert set(table) <= set(complete(tree, "divisi", ""))
    assert [word.rstrip("=") for word in complete(
        tree, "divisi", "compile", "--dev")] == ["--devices"]
    assert not complete(tree, "divisi", "run", "--dev")
    assert set(complete(tree, "divisi", "compile", "--precision", "=", "")) == {
        "bf16", "f16"}
    assert complete(tree, "divisi", "compile", "--precision", "=", "b") == [
        "bf16"]


def test_shells_and_man_understand_it(tree, shell):
    path = tree / "share" / FILES[shell]
    command = {"man": ["man", "--warnings=w", "-l", path]}.get(
        shell, [shell, "-n", path])
    done = subprocess.run(command, capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80",
                               "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    if shell == "man":
        text = re.sub(".\b", "", done.stdout)
        assert "--tensor-parallel-size=N" in text
        assert "infeasible: no plan fits" in " ".join(text.split())


def test_zsh_loads_it(tree, tmp_path):
    if not shutil.which("zsh"):
        pytest.skip("no zsh here")
    folder = (tree / "share" / FILES["zsh"]).parent
    done = subprocess.run(
        ["zsh", "-fc", f"fpath=({folder} $fpath); autoload -Uz compinit; "
         f"compinit -u -d {tmp_path}/dump; print $_comps[divisi]"],
        capture_output=True, text=True)
    assert done.stdout == "_divisi\n", done.stderr
