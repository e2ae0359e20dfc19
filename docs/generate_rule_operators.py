"""Writes the last section of writing-a-rule.md, the operators that rules may
have, from the definitions of the nn dialect.

    python docs/generate_rule_operators.py
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/writing-a-rule.md"
BEGIN = "## Operators\n"
HEAD = BEGIN + """
Written by docs/generate_rule_operators.py from the definitions in dialects/NN.
Operands are in parentheses, attributes in braces; those in brackets are
optional, all others are required. When shapes broadcast together, the shorter
one gets dims of extent 1 in front, and dims of extent 1 are repeated; a tensor
of one number is a `float[]`.
"""
ATTRIBUTES = {"NN_I64": "integer", "NN_F64": "real", "BoolAttr": "true or false",
              "StrAttr": "text", "DenseI64ArrayAttr": "list",
              "DenseF64ArrayAttr": "list of reals"}
# Families whose names say all.
PLAIN = {"NN_Unary", "NN_FloatTest", "NN_NumberBinary", "NN_LogicBinary"}
# What is loaded or written out, and what has numbers without names.
NOT_IN_RULES = {"constant", "global", "read", "update", "resample"}


def records():
    tool = shutil.which("llvm-tblgen-22") or "/usr/lib/llvm-22/bin/llvm-tblgen"
    include = Path(tool).resolve().parent.parent / "include"
    done = subprocess.run(
        [tool, "--dump-json", ROOT / "dialects/NN/NNOps.td", "-I", include,
         "-I", ROOT], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def base(known, name):
    """The record that an optional operand or a default is about."""
    record = known[name]
    for key in ("baseType", "baseAttr"):
        if record.get(key):
            return record[key]["def"]
    return name


def signature(known, operator):
    operands, attributes = [], []
    for argument, name in operator["arguments"]["args"]:
        kind = base(known, argument["def"])
        superclasses = known[argument["def"]]["!superclasses"]
        if kind in ATTRIBUTES:
            text = f"{name} = {ATTRIBUTES[kind]}"
            attributes.append(f"[{text}]" if "OptionalAttr" in superclasses
                              else text)
        elif "Variadic" in superclasses:
            operands.append(f"{name}, ...")
        else:
            operands.append(f"[{name}]" if "Optional" in superclasses else name)
    text = f"{operator['opName']}({', '.join(operands)})"
    text += f" {{{', '.join(attributes)}}}" if attributes else ""
    return text + (" : type" if "NN_CheckedOp" in operator["!superclasses"]
                   else "")


def paragraphs(operator):
    """What an operator computes, and when it is legal."""
    text = re.sub(r"\n *Example:.*", "", operator["description"], flags=re.S)
    lines = [line.strip() for line in text.strip().splitlines()]
    said = " ".join(lines).replace("Constraints:", "")
    said = re.sub(r" *- \(C\d+\)", "", said)
    return re.sub(r"\s+", " ", said).strip().replace("|", "\\|")


def section():
    known = records()
    operators = sorted((known[name] for name in known["!instanceof"]["Op"]
                        if known[name]["opName"] not in NOT_IN_RULES),
                       key=lambda each: each["opName"])
    def is_plain(operator):
        return PLAIN & set(operator["!superclasses"])

    plain = [each for each in operators if is_plain(each)]
    others = [each for each in operators if not is_plain(each)]
    lines = [HEAD, "| elementwise operator | result |",
             "|---|---|"]
    lines += [f"| `{signature(known, each)}` | "
              f"{each['summary'].replace('|', chr(92) + '|')} |"
              for each in plain]
    lines += ["", "| operator | result and constraints |", "|---|---|"]
    lines += [f"| `{signature(known, each)}` | {paragraphs(each)} |"
              for each in others]
    return "\n".join(lines) + "\n"


def page():
    text = PAGE.read_text(encoding="utf-8")
    return text[:text.index(BEGIN)] + section()


def main():
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
