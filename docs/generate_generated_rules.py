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

`divisi rules generate` derives rules automatically: it enumerates all graphs of
up to three operators, and of four linear ones, over the table below, and keeps
an equation if it does not follow from those kept before.
[rationale-rewrite.md](rationale-rewrite.md) describes the method.

```
divisi rules generate -o all.rules --counts counts.md --journal journal --jobs 2
divisi prove all.rules
divisi rules entail --rules all.rules
divisi rules select --rules all.rules -o worth.rules
```

The first command takes long. If it is stopped, it resumes from its journals,
one per world, and writes the same file. `--jobs` says how many worlds are
processed in parallel, after the first, whose rules all others may use; the
result does not depend on it. The generated rules have the ordinary form. Rules
that can reduce cost come first: fewer operations of contractions, then fewer
operators, then results of fewer elements. A rule without a proof says `open`,
and is off.

`select` keeps the rules that are worth applying: those that are proved, can
reduce cost, and do not follow from the hand-written rules. None of them is
shipped yet.

## What is claimed of them, and how it is checked

Every equation of the table follows from the rules that are kept. The generator
drops an equation only if it follows from others by rewriting, or if the prover
derives it from the rules that are kept at that moment. `divisi rules entail`
checks this and shares only the enumeration with the generator: it asks the
prover about each equation, in its original form, with the rules of the file as
axioms, and ends with 8 if one does not follow; without a file, it uses
elements, and the rules and axioms of Divisi. A test does it for sums, products
and functions of up to two operators. `--of FILE` asks only about the equations
that also follow from FILE: `--of test/Prove/Inputs/taso.rules` about those
that the properties of TASO's operators express. All 45 rules there are proved
(a test).

Up to two operators there are 142 equations of sums, products and functions and
187 of matrices (products, concatenations, transposes, parts); all follow (a
test). Those of three operators take minutes, and have no test:

| world | equations of three operators | not expressible | follow from TASO's | entailed |
|---|---|---|---|---|
| elementwise | 12857 | 1229 | 3346 | 3346 |
| linear | 8315 | 0 | 6308 | 6308 |
| batches | 20546 | 0 | 1818 | 1818 |
| reductions | 16324 | 11 | 8443 | 8443 |

by `divisi rules entail --world WORLD --operators 3 --of
test/Prove/Inputs/taso.rules`. Those of images of three operators take longer
and have not been counted.

The rules do not include equations of several results, which follow from one for
each; and equations of more than four different tensors of one form, except
those found by making all operands distinct.

## What became of all graphs

| column | counts |
|---|---|
| enumerated | graphs: an operator on the representatives of classes |
| classes | of them the first with their result |
| equal | the others: each is an equation with the first of its class |
| up to names | of these, counted once for all names of tensors |
| not rewritten | of these, those that rewriting by earlier equations does not derive |
| no words | of these, those that rules cannot express: of constants alone, or of other extents |
| derived | of these: the prover derives it from the rules that are kept |
| refused | of these: false at other extents, or on numbers |
| kept | the others, of which are |
| proved | those that elements or the axioms of Divisi prove, and |
| tested only | those that do not, and say `open` |

An exhausted work limit is never an answer: an equation that the prover does not
derive within its limit is not dropped, but tried like the others, and kept if
it passes. An equation of more than seven different operands counts as `no
words`.

Of all worlds, by two processes, from nothing: {took}

{counts}
## The table

A letter k is 2 where graphs are enumerated, s is 3; `2k` is split in two. Which
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
