"""Writes rules.md, the list of the rules of Divisi, from what
`divisi prove --json` says of them and from the files of rules/; and
rules/proofs.txt, the record of what is proved. `make prove` runs it.
"""

import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
HEAD = """# Rules

Written by docs/generate_rules.py. `apply-rules{names=...}` applies them where
the target costs less than the source. [writing-a-rule.md](writing-a-rule.md)
explains how to write a rule, [rationale-rewrite.md](rationale-rewrite.md) why
rules can be trusted.
"""


def row(name, summary, rule):
    """The line of one rule, if `rule` is what is said of it."""
    by = (", ".join(rule["axioms"]) if rule["standing"] == "proved"
          else f"*{rule['standing']}*")
    summary = summary.replace("|", "\\|")
    return f"| {name} | {summary} | {rule['class']} | {by} |"


def rows(text):
    """{name: the line of the rule} of a page."""
    return {line.split()[1]: line for line in text.splitlines()
            if line.startswith("| ") and not line.startswith("| rule |")}


def page(answers, known=None):
    """The page, if `answers` is {name: what is said of the rule}; lines of other
    rules are those of `known`."""
    lines = [HEAD, ""]
    made = dict(known or {})
    for path in sorted((ROOT / "rules").glob("*.rules")):
        lines += [f"## {path.name}\n", "| rule | summary | class | proved by |",
                  "|---|---|---|---|"]
        found = re.findall(r'^rule (\S+) \{\n  summary "(.*)"$',
                           path.read_text(encoding="utf-8"), re.M)
        for name, summary in found:
            if name in answers:
                made[name] = row(name, summary, answers[name])
            lines.append(made[name])
        lines.append("")
    proved = sum(not line.endswith("* |") for line in made.values())
    lines[1] = f"{len(made)} rules, {proved} of them proved.\n"
    return "\n".join(lines)


def main():
    done = subprocess.run(
        [BUILD / "bin/divisi", "prove", "--json", "--record",
         ROOT / "rules/proofs.txt"], capture_output=True, text=True, check=True)
    answers = {rule["rule"]: rule for rule in json.loads(done.stdout)["rules"]}
    (ROOT / "docs/rules.md").write_text(page(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
