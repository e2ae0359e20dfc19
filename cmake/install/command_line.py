"""Writes what tells shells and man of the command line: the programs' own help,
which is the table of all verbs and options, in four other forms.

    command_line.py PROGRAM SHARE

PROGRAM is bin/divisi of a tree, SHARE the folder where man and shells look.
"""

import argparse
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Option:
    """--NAME=VALUE or, of one letter, -NAME VALUE."""
    name: str
    value: str  # What it takes; empty for a switch.
    description: str
    group: str

    @property
    def spelled(self):
        return ("-" if len(self.name) == 1 else "--") + self.name

    @property
    def choices(self):
        """The words that it may be, where the help lists them."""
        words = self.value.split("|")
        is_list = len(words) > 1 and not re.search(r"[A-Z]|\.\.", self.value)
        return words if is_list else []


@dataclass
class Verb:
    name: str
    description: str
    usage: str = ""
    options: list[Option] = field(default_factory=list)


def read(program):
    """The verbs, as the program describes them."""
    def help_of(*verb):
        return subprocess.run([program, *verb, "--help"], check=True,
                              capture_output=True, text=True).stdout
    verbs = []
    for name, description in re.findall(r"^  ([\w-]+) +(.*)$", help_of(), re.M):
        verb = Verb(name, description)
        text = help_of(name)
        verb.usage = re.search(r"^USAGE: (.*)$", text, re.M)[1]
        group = ""
        for line in text.partition("OPTIONS:\n")[2].splitlines():
            if found := re.fullmatch(
                    r"  --?([\w-]+)(?:[= ]<(.*?)>)? +- (.*)", line):
                verb.options.append(Option(found[1], found[2] or "", found[3],
                                           group))
            elif line:
                group = line.rstrip(":")
        verbs.append(verb)
    return verbs


def bash(verbs):
    lines = ["# Completes command lines of divisi, for bash.",
             "_divisi() {",
             '  local current="${COMP_WORDS[COMP_CWORD]}" option= options=',
             "  COMPREPLY=()",
             '  if [ "$COMP_CWORD" = 1 ]; then',
             f'    COMPREPLY=($(compgen -W "{" ".join(v.name for v in verbs)} '
             '--help --version" -- "$current"))',
             "    return",
             "  fi",
             "  # bash takes = for a word.",
             '  if [ "$current" = "=" ]; then',
             '    option="${COMP_WORDS[COMP_CWORD-1]}" current=',
             '  elif [ "${COMP_WORDS[COMP_CWORD-1]}" = "=" ]; then',
             '    option="${COMP_WORDS[COMP_CWORD-2]}"',
             "  fi",
             '  case "${COMP_WORDS[1]} $option" in']
    for verb in verbs:
        for option in verb.options:
            if option.choices:
                lines.append(f'    "{verb.name} {option.spelled}") COMPREPLY=('
                             f'$(compgen -W "{" ".join(option.choices)}" -- '
                             '"$current")) ;;')
    for verb in verbs:
        words = " ".join(o.spelled + ("=" if o.value and len(o.name) > 1 else "")
                         for o in verb.options)
        lines.append(f'    "{verb.name} ") options="{words}" ;;')
    lines += ["  esac",
              "  # Files are what it completes by itself.",
              '  if [ -n "$options" ] && [[ "$current" == -* ]]; then',
              '    COMPREPLY=($(compgen -W "$options" -- "$current"))',
              '    [[ "${COMPREPLY[0]}" != *= ]] || compopt -o nospace '
              "2>/dev/null",
              "  fi",
              "}",
              "complete -o bashdefault -o default -F _divisi divisi"]
    return "\n".join(lines) + "\n"


def zsh(verbs):
    def quoted(text):
        return text.replace("'", r"'\''")

    def described(text):
        return quoted(re.sub(r"([\[\]:\\])", r"\\\1", text))
    lines = ["#compdef divisi", "# Completes command lines of divisi, for zsh.",
             "local -a verbs", "verbs=("]
    for verb in verbs:
        description = quoted(verb.description.replace(":", r"\:"))
        lines.append(f"  '{verb.name}:{description}'")
    lines += [")", "if (( CURRENT == 2 )); then", "  _describe verb verbs",
              "  return", "fi", "local verb=$words[2]", "shift words",
              "(( CURRENT-- ))", "case $verb in"]
    for verb in verbs:
        lines.append(f"  {verb.name})")
        lines.append("    _arguments \\")
        for option in verb.options:
            mark = "=" if option.value and len(option.name) > 1 else ""
            spec = f"{option.spelled}{mark}[{described(option.description)}]"
            if option.value:
                takes = (f"({' '.join(option.choices)})" if option.choices
                         else "_files")
                spec += f":{described(option.value)}:{takes}"
            lines.append(f"      '{spec}' \\")
        lines += ["      '*:file:_files'", "    ;;"]
    return "\n".join(lines + ["esac"]) + "\n"


def fish(verbs):
    def quoted(text):
        return "'" + text.replace("\\", r"\\").replace("'", r"\'") + "'"
    lines = ["# Completes command lines of divisi, for fish."]
    for verb in verbs:
        lines.append("complete -c divisi -n __fish_use_subcommand -f "
                     f"-a {verb.name} -d {quoted(verb.description)}")
    for verb in verbs:
        for option in verb.options:
            kind = "-s" if len(option.name) == 1 else "-l"
            takes = ""
            if option.choices:
                takes = f" -x -a {quoted(' '.join(option.choices))}"
            elif option.value:
                takes = " -r"
            lines.append(
                f"complete -c divisi -n '__fish_seen_subcommand_from "
                f"{verb.name}' {kind} {option.name}{takes} "
                f"-d {quoted(option.description)}")
    return "\n".join(lines) + "\n"


def exit_codes():
    """Those of docs/error-codes.md, as (code, meaning)."""
    text = (ROOT / "docs/error-codes.md").read_text()
    return [(code, f"{name}: {when}" if when else name) for code, name, when in
            re.findall(r"^\| (\d+) \| ([^|]*) \| (?:([^|]*) )?\|", text, re.M)]


def man(verbs, version):
    def plain(text):
        text = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "")
        return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)
    lines = [f'.TH DIVISI 1 "" "divisi {version}" "User Commands"',
             ".SH NAME",
             r"divisi \- compiles deep-learning models for many devices",
             ".SH SYNOPSIS"]
    for verb in verbs:
        lines += [plain(verb.usage), ".br"]
    lines += [".SH DESCRIPTION",
              "Divisi plans how a model in ONNX is split over devices, compiles "
              "it to an artifact, and runs that.",
              "An option may be written with a space in place of =."]
    for verb in verbs:
        lines += [f'.SH "DIVISI {verb.name.upper()}"',
                  plain(verb.description[0].upper() + verb.description[1:]) + ".",
                  ".PP", r"\fB" + plain(verb.usage) + r"\fR"]
        group = None
        for option in verb.options:
            if option.group != group:
                group = option.group
                lines.append(f'.SS "{plain(group)}"')
            mark = "=" if len(option.name) > 1 else " "
            value = f"{mark}\\fI{plain(option.value)}\\fR" if option.value else ""
            lines += [".TP", f"\\fB{plain(option.spelled)}\\fR{value}",
                      plain(option.description)]
    lines.append('.SH "EXIT STATUS"')
    for code, meaning in exit_codes():
        lines += [".TP", code, plain(meaning)]
    lines += [".SH FILES", ".TP", ".I share/doc/divisi",
              "the guide, descriptions of files and errors, and licences"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("share", type=Path)
    arguments = parser.parse_args()
    verbs = read(arguments.program)
    version = subprocess.run([arguments.program, "version"], check=True,
                             capture_output=True, text=True).stdout.split()[1]
    for name, text in {
            "bash-completion/completions/divisi": bash(verbs),
            "zsh/site-functions/_divisi": zsh(verbs),
            "fish/vendor_completions.d/divisi.fish": fish(verbs),
            "man/man1/divisi.1": man(verbs, version)}.items():
        (arguments.share / name).parent.mkdir(parents=True, exist_ok=True)
        (arguments.share / name).write_text(text)


if __name__ == "__main__":
    main()
