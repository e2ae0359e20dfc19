"""Writes generated-rules.md: the table that rules are generated of, and what
became of all graphs, from what this wrote:

    divisi rules generate --jobs 2 --counts COUNTS
    DIVISI_BUILD=build python docs/generate_generated_rules.py COUNTS TOOK

with how long that TOOK, in words.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PAGE = """# Generated rules

Written by docs/generate_generated_rules.py.

`divisi rules generate` makes rules that nobody wrote: it enumerates all graphs
of up to three operators, and of four of those that are linear, over the table
below, and keeps what is equal and does not follow from what it kept before.
[rationale-rewrite.md](rationale-rewrite.md) says how.

```
divisi rules generate -o all.rules --counts counts.md --journal journal --jobs 2
divisi prove all.rules
divisi rules entail --rules all.rules
divisi rules select --rules all.rules -o worth.rules
```

The first takes long; stopped, it goes on where the journals end, of which each
world has one, and writes the same file. `--jobs` says how many worlds are at work at once, after the first, whose
rules all may use; what comes out does not depend on it. Its rules are ordinary
ones. Those by which something can take less come first: fewer operations of
contractions, then fewer operators, then results of fewer elements. What no
proof is found for says `open`, and is off.

`select` keeps what is worth applying: what is proved, can take less, and does
not follow from the rules that people wrote. None of it is shipped yet.

## What is claimed of them, and how it is checked

Every equation of the table follows from the rules that are kept. The generator
drops an equation only if it follows from others by rewriting, or if the prover
derives it from the rules that are kept at that moment. `divisi rules entail`
checks this with nothing of the generator but its enumeration: it asks the prover
about each equation, as it is met, with the rules of the file for axioms, and
ends with 8 if one does not follow; without a file, with elements, and with the
rules and axioms of Divisi. A test does it for sums, products and functions of up to two operators.
`--of FILE` asks about those equations alone that follow from FILE as well:
`--of test/Rewrite/Inputs/taso.rules` about those that the properties of TASO's
operators express. All 45 rules there are proved (a test).

Of up to two operators these are 142 equations of sums, products and functions and
187 of matrices (products, concatenations, transposes, parts); all follow (a test).
Of three operators they take minutes, and have no test:

| world | equations of three operators | without words | TASO's say so | entailed |
|---|---|---|---|---|
| elementwise | 12857 | 1229 | 3346 | 3346 |
| linear | 8315 | 0 | 6308 | 6308 |
| batches | 20546 | 0 | 1818 | 1818 |
| reductions | 16324 | 11 | 8443 | 8443 |

by `divisi rules entail --world WORLD --operators 3 --of
test/Rewrite/Inputs/taso.rules`. Those of images of three operators take longer and
have not been counted.

What is not among the rules: equations of several results, which follow from one
for each; and equations in which more than four different tensors of one form
stand, but for those found by giving each operand a tensor of its own.

## What became of all graphs

| column | counts |
|---|---|
| enumerated | graphs, an operator on graphs that stand for their class |
| classes | of them the first with their result |
| equal | the others: each is an equation with the first of its class |
| up to names | of these, with other names of tensors only once |
| not rewritten | of these, what no rewriting by equations before derives |
| no words | of these: of constants alone, or of extents that rules cannot say |
| derived | of these: the prover derives it from the rules that are kept |
| refused | of these: false at other extents, or on numbers |
| kept | the others, of which are |
| proved | those that elements or the axioms of Divisi prove, and |
| tested only | those that do not, and say `open` |

Work that is used up is never an answer: an equation that the prover does not
derive within its limit is not dropped, but tried like the others, and kept if it
passes. An equation of more than seven different operands has no words.

Of all worlds, by two processes, from nothing: {took}

{counts}
## The table

A letter k is 2 where graphs are enumerated, s is 3; `2k` is cut in two. Which
extents have to be equal is found for each equation afterwards, and whether they
may be any number of dims.

```
{table}```
"""


def main():
    table = subprocess.run([BUILD / "bin/divisi", "rules", "generate",
                            "--table"], capture_output=True, text=True,
                           check=True).stdout
    counts = Path(sys.argv[1]).read_text(encoding="utf-8")
    page = PAGE.format(counts=counts, table=table, took=sys.argv[2])
    (ROOT / "docs/generated-rules.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
