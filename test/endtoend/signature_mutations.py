"""Draws small changes around the functions of a partitioned module: of globals
and where they lie, of @init, and of what callers see.
"""

import re

TENSOR = re.compile(r"tensor<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")


class SignatureMutations:
    """A part of Mutator, which has the lines, and those of globals, functions
    and operations."""

    # Globals.

    def do_place(self, lines, random):
        at = random.choice(self.globals + self.functions)
        m = list(re.finditer(r"#spmd\.place<@\w+: (\[[^\]]*\])>", lines[at]))
        if not m:
            return False
        m = random.choice(m)
        same = [l for l in self.layouts if "partial" not in l and
                l.count(",") == m[1].count(",")]
        lines[at] = lines[at][:m.start(1)] + random.choice(same or [m[1]]) + \
            lines[at][m.end(1):]
        return True

    def in_files(self, lines):
        return [i for i in self.globals if " from " in lines[i]]

    def do_offset(self, lines, random):
        found = self.in_files(lines)
        if not found:
            return False
        at = random.choice(found)
        by = random.choice([-4, -1, 1, 4, 64])
        lines[at] = re.sub(r"\[(\d+), (\d+)\] ", lambda m:
                           f"[{max(0, int(m[1]) + by)}, {m[2]}] ", lines[at],
                           count=1)
        return True

    def do_offsets(self, lines, random):
        found = self.in_files(lines)
        place = re.compile(r'from "[^"]*" \[\d+, (\d+)\]')
        pairs = [(a, b) for a in found for b in found if a < b and
                 place.search(lines[a])[1] == place.search(lines[b])[1]]
        if not pairs:
            return False
        a, b = random.choice(pairs)
        one, two = place.search(lines[a])[0], place.search(lines[b])[0]
        lines[a], lines[b] = (lines[a].replace(one, two),
                              lines[b].replace(two, one))
        return True

    def do_file(self, lines, random):
        found = self.in_files(lines)
        if not found:
            return False
        at = random.choice(found)
        names = sorted({re.search(r'from "([^"]*)"', lines[i])[1]
                        for i in found} | {"other.bin"})
        lines[at] = re.sub(r'from "[^"]*"', f'from "{random.choice(names)}"',
                           lines[at])
        return True

    def do_kind(self, lines, random):
        if not self.globals:
            return False
        at = random.choice(self.globals)
        what = random.choice(["kind", "zero", "type", "gone"])
        if what == "kind":
            lines[at] = re.sub(
                r" (parameter|state|constant|derived) :", " " + random.choice(
                    ["parameter", "state", "constant", "derived"]) + " :",
                lines[at], count=1)
        elif what == "zero":
            lines[at] = lines[at].replace(" zero", "") if " zero" in lines[at] \
                else re.sub(r'from "[^"]*" \[\d+, \d+\]', "zero", lines[at])
        elif what == "type":
            lines[at] = re.sub(r"x(f32|i64|i8)>", "x" + random.choice(
                ["i32", "ui8", "bf16"]) + ">", lines[at], count=1)
        else:
            del lines[at]
        return True

    def do_resource(self, lines, random):
        found = [i for i, line in enumerate(lines) if ': "0x' in line]
        if not found:
            return False
        at = random.choice(found)
        begin = lines[at].index('"0x') + 11
        where = random.randrange(begin, len(lines[at].rstrip('",')))
        digit = random.choice("0123456789ABCDEF")
        lines[at] = lines[at][:where] + digit + lines[at][where + 1:]
        return True

    def do_hash(self, lines, random):
        at = next(i for i, line in enumerate(lines) if "divisi.stage" in line)
        found = list(re.finditer(r'sha256 = "\w|bytes = \d|spmd.computes = array'
                                 r'<i64: -?\d', lines[at]))
        if not found:
            return False
        m = random.choice(found)
        lines[at] = lines[at][:m.end() - 1] + random.choice("123456789") + \
            lines[at][m.end():]
        return True

    def do_names(self, lines, random):
        """Two globals of one type are read, or updated, as each other."""
        found = [i for i in self.ops if re.search(r"nn\.(read|update) @", lines[i])]
        types = {i: TENSOR.findall(lines[i])[-1] for i in found}
        pairs = [(a, b) for a in found for b in found
                 if a < b and types[a] == types[b]]
        if not pairs:
            return False
        a, b = random.choice(pairs)
        name = re.compile(r'@(?:"[^"]*"|[\w.]+)')
        one, two = name.search(lines[a])[0], name.search(lines[b])[0]
        lines[a] = lines[a].replace(one, two, 1)
        if random.random() < .5:
            lines[b] = lines[b].replace(two, one, 1)
        return True

    # Functions.

    def do_init(self, lines, random):
        start = next((i for i in self.functions if "@init" in lines[i]), None)
        if start is None:
            return False
        end = next(i for i in range(start, len(lines))
                   if lines[i].startswith("  }"))
        what = random.choice(["all", "one", "inside", "inside", "inside"])
        if what == "all":
            del lines[start:end + 1]
            return True
        if what == "one":
            found = [i for i in range(start, end) if "nn.update" in lines[i]]
            del lines[random.choice(found)]
            return True
        outside = self.ops
        self.ops = [i for i in outside if start < i < end]
        done = getattr(self, "do_" + random.choice(
            ["number", "constant", "operand", "operands", "names", "drop",
             "word", "retype", "repeat"]))(lines, random)
        self.ops = outside
        return done

    def _do_part(self, lines, random, pattern, other):
        """Puts other(the match, all matches) in place of its first group."""
        at = random.choice(self.functions)
        found = list(re.finditer(pattern, lines[at]))
        if not found:
            return False
        m = random.choice(found)
        lines[at] = lines[at][:m.start(1)] + other(m, found) + \
            lines[at][m.end(1):]
        return True

    def do_index(self, lines, random):
        return self._do_part(lines, random, r"spmd\.index = (\d+)",
                             lambda m, found: str(random.randrange(3)))

    def do_called(self, lines, random):
        return self._do_part(
            lines, random, r'nn\.name = "([^"]*)"',
            lambda m, found: random.choice([f[1] for f in found] +
                                           ["other", m[1][:-1]]))

    def do_rename(self, lines, random):
        at = random.choice(self.functions)
        what = random.choice([(r'spmd\.entry = "\w+', 'spmd.entry = "other'),
                              (r"func\.func @", "func.func private @"),
                              (r"func\.func private @", "func.func @"),
                              (r"spmd\.computes = array<i64: ",
                               "spmd.computes = array<i64: 7, ")])
        lines[at] = re.sub(*what, lines[at], count=1)
        return True

    def do_ranks(self, lines, random):
        at = random.choice(self.functions)
        m = re.search(r"spmd\.ranks = array<i32: ([^>]*)>", lines[at])
        if not m:
            return False
        ranks = [int(r) for r in m[1].split(", ")]
        if random.random() < .5:
            ranks.pop(random.randrange(len(ranks)))
        else:
            ranks[random.randrange(len(ranks))] += 1
        lines[at] = lines[at].replace(m[1], ", ".join(map(str, ranks)), 1)
        return True

    def do_grid(self, lines, random):
        at = next(i for i, line in enumerate(lines) if "spmd.grid @" in line)
        found = list(re.finditer(r"(\w+) = (\d+)", lines[at]))
        m = random.choice(found)
        if random.random() < .5:
            new = f"{m[1]} = {int(m[2]) + random.choice([-1, 1])}"
        else:
            new = f"z = {m[2]}"
        lines[at] = lines[at].replace(m[0], new, 1)
        return True
