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
    """The line of one rule."""
    by = (", ".join(rule["axioms"]) if rule["standing"] == "proved"
          else f"*{rule['standing']}*")
    summary = summary.replace("|", "\\|")
    return f"| {name} | {summary} | {rule['class']} | {by} |"


def page(answers):
    """The page, if `answers` is {name: what is said of the rule}."""
    lines = [HEAD]
    proved = sum(rule["standing"] == "proved" for rule in answers.values())
    lines.append(f"{len(answers)} rules, {proved} of them proved.\n")
    for path in sorted((ROOT / "rules").glob("*.rules")):
        lines += [f"## {path.name}\n", "| rule | summary | class | proved by |",
                  "|---|---|---|---|"]
        found = re.findall(r'^rule (\S+) \{\n  summary "(.*)"$',
                           path.read_text(encoding="utf-8"), re.M)
        for name, summary in found:
            lines.append(row(name, summary, answers[name]))
        lines.append("")
    return "\n".join(lines)


def main():
    done = subprocess.run(
        [BUILD / "bin/divisi", "prove", "--json", "--record",
         ROOT / "rules/proofs.txt"], capture_output=True, text=True, check=True)
    answers = {rule["rule"]: rule for rule in json.loads(done.stdout)["rules"]}
    (ROOT / "docs/rules.md").write_text(page(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
