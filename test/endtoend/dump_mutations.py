"""Draws small changes of the text of a partitioned module: types and extents of
values, layouts, splits, attributes, constants, operands, operations, moves,
globals and where they lie, functions, and what callers see of them.
"""

import re

from signature_mutations import TENSOR, SignatureMutations

VALUE = re.compile(r"%[\w#]+")
RESULT = re.compile(r"\s*(%\w+)(?::\d+)? = ")
ELEMENTS = ["f32", "f64", "f16", "bf16", "i64", "i32", "i8", "ui8", "i1"]
MOVES = ["slice", "mask", "all_gather", "all_to_all", "all_reduce",
         "reduce_scatter", "exchange"]


def bare(text):
    """`text` without locations and the report, which nobody reads here."""
    text = re.sub(r' loc\((#loc\d*|"[^"]*"(:\d+:\d+)?)\)', "", text)
    text = re.sub(r"^#loc.*\n", "", text, flags=re.M)
    return re.sub(r'divisi\.report = "(?:\\.|[^"\\])*", ', "", text)


class Mutator(SignatureMutations):
    """Mutations of the module `text`."""

    def __init__(self, text):
        self.lines = bare(text).splitlines()
        self.ops = [i for i, line in enumerate(self.lines)
                    if re.match(r"\s*(%[\w:]+ = )?(nn|spmd)\.(?!global|grid)\w+ ",
                                line)]
        self.globals = [i for i, line in enumerate(self.lines)
                        if line.lstrip().startswith("nn.global")]
        self.functions = [i for i, line in enumerate(self.lines)
                          if line.lstrip().startswith("func.func")]
        self.layouts = sorted(set(re.findall(r"\[[^\[\]]*\](?: partial \w+ {[^}]*})?"
                                             r"(?=, |>)", "\n".join(self.lines))))

    KINDS = ["retype", "resize", "relayout", "relayout_once", "split", "number",
             "number", "word", "operand", "operand", "operands", "constant",
             "drop", "twice", "order", "move", "axes", "tag", "place", "offset",
             "offsets", "file", "kind", "resource", "hash", "names", "init",
             "index", "called", "ranks", "grid", "rename", "repeat", "swap_types"]

    def draw(self, random):
        """(what was done, the text), or None where nothing fits."""
        kind = random.choice(self.KINDS)
        lines = list(self.lines)
        if not getattr(self, "do_" + kind)(lines, random) or lines == self.lines:
            return None
        what = [f"- {a}\n+ {b}" for a, b in zip(self.lines, lines) if a != b]
        if len(lines) != len(self.lines):
            at = next((i for i, (a, b) in enumerate(zip(self.lines, lines))
                       if a != b), len(lines) - 1)
            what = [f"@ {self.lines[at]}\n: {lines[at]}"]
        return f"{kind}\n" + "\n".join(w[:700] for w in what[:3]), \
            "\n".join(lines) + "\n"

    # Values.

    def uses(self, lines, at, name):
        """(line, number of the tensor type) wherever the value is, in its
        function."""
        found, depth = [], 0
        for i in range(at, len(lines)):
            line = lines[i]
            if i > at and line.startswith("  }"):
                break
            made = RESULT.match(line)
            if not made and not re.match(r"\s*(return|nn\.update|spmd\.)", line):
                continue
            head = line[made.end():] if made else line
            head = head.split(" : ")[0]
            operands = VALUE.findall(head)
            types = TENSOR.findall(line)
            if made and made.group(1) == name and i == at:
                found.append((i, len(types) - 1))
            skip = 1 if "dense<" in line else 0
            found += [(i, skip + n) for n, o in enumerate(operands) if o == name
                      and skip + n < len(types)]
        return found

    def change_types(self, lines, random, change):
        at = random.choice(self.ops)
        made = RESULT.match(lines[at])
        if not made or not TENSOR.findall(lines[at]):
            return False
        old = TENSOR.findall(lines[at])[-1]
        new = change(old)
        if new is None or new == old:
            return False
        for i, number in self.uses(lines, at, made.group(1)):
            spans = [m.span() for m in TENSOR.finditer(lines[i])]
            begin, end = spans[number]
            if lines[i][begin:end] == old:
                lines[i] = lines[i][:begin] + new + lines[i][end:]
        return True

    def do_retype(self, lines, random):
        element = random.choice(ELEMENTS)
        return self.change_types(lines, random, lambda t: re.sub(
            r"([<x])(%s)(?=[,>])" % "|".join(ELEMENTS), r"\g<1>" + element, t,
            count=1))

    def do_resize(self, lines, random):
        def change(tensor):
            m = re.match(r"tensor<([\dx]+)x(\w+), (.*), ([\dx]+)>>$", tensor)
            if not m:
                return None
            local, whole = m[1].split("x"), m[4].split("x")
            d = random.randrange(len(whole))
            by = random.choice([lambda n: n + 1, lambda n: n - 1,
                                lambda n: n * 2, lambda n: n // 2])
            local[d], whole[d] = (str(by(int(n))) for n in (local[d], whole[d]))
            return f"tensor<{'x'.join(local)}x{m[2]}, {m[3]}, {'x'.join(whole)}>>"
        return self.change_types(lines, random, change)

    def do_relayout(self, lines, random):
        return self.change_types(lines, random, lambda t: self.other_layout(
            t, random))

    def other_layout(self, tensor, random):
        m = re.search(r"\[[^\[\]]*\](?: partial \w+ {[^}]*})?(?=, |>)", tensor)
        if not m:
            return None
        return tensor[:m.start()] + random.choice(
            [l for l in self.layouts if l.split("]")[0].count(",") ==
             m[0].split("]")[0].count(",")] or [m[0]]) + tensor[m.end():]

    def do_relayout_once(self, lines, random):
        at = random.choice(self.ops)
        spans = [m.span() for m in TENSOR.finditer(lines[at])]
        if not spans:
            return False
        begin, end = random.choice(spans)
        new = self.other_layout(lines[at][begin:end], random)
        if new:
            lines[at] = lines[at][:begin] + new + lines[at][end:]
        return bool(new)

    def do_swap_types(self, lines, random):
        at = random.choice(self.ops)
        types = [m.span() for m in TENSOR.finditer(lines[at])]
        if len(types) < 2:
            return False
        (a, b), (c, d) = sorted(random.sample(types, 2))
        line = lines[at]
        lines[at] = line[:a] + line[c:d] + line[b:c] + line[a:b] + line[d:]
        return True

    def alike(self, lines, at, name):
        """Values before line `at` with the type that `name` has there."""
        types = {}
        for i in range(at - 1, -1, -1):
            if lines[i].lstrip().startswith("func.func"):
                for arg, tensor in re.findall(r"(%\w+): (tensor<.*?>>)",
                                              lines[i]):
                    types[arg] = tensor
                break
            made = RESULT.match(lines[i])
            if made and TENSOR.findall(lines[i]):
                types[made.group(1)] = TENSOR.findall(lines[i])[-1]
        own = types.get(name)
        return [v for v, t in types.items() if t == own and v != name]

    def do_operand(self, lines, random):
        at = random.choice(self.ops)
        made = RESULT.match(lines[at])
        start = made.end() if made else 0
        head = lines[at][start:].split(" : ")[0]
        operands = list(VALUE.finditer(head))
        if not operands:
            return False
        one = random.choice(operands)
        others = self.alike(lines, at, one[0])
        if not others:
            return False
        begin, end = start + one.start(), start + one.end()
        lines[at] = lines[at][:begin] + random.choice(others) + lines[at][end:]
        return True

    def do_operands(self, lines, random):
        at = random.choice(self.ops)
        m = re.search(r"(%\w+), (%\w+)", lines[at])
        if not m:
            return False
        lines[at] = lines[at].replace(m[0], f"{m[2]}, {m[1]}", 1)
        return True

    # Attributes.

    def do_number(self, lines, random):
        at = random.choice(self.ops)
        head, colon, types = lines[at].partition("} : ")
        found = list(re.finditer(r"(?<![\w%.#@\"-])-?\d+(\.\d+)?(e[-+]\d+)?\b",
                                 re.sub(r"spmd\.\w+ = #spmd[^>]*>",
                                        lambda m: "_" * len(m[0]), head)))
        if not found or not colon:
            return False
        m = random.choice(found)
        value = float(m[0]) if m[1] or m[2] else int(m[0])
        new = random.choice([value + 1, value - 1, value * 2, -value, 0])
        lines[at] = head[:m.start()] + str(new) + head[m.end():] + colon + types
        return True

    def do_word(self, lines, random):
        at = random.choice(self.ops)
        swaps = [("true", "false"), ("false", "true"), ('"sum"', '"max"'),
                 ('"max"', '"min"'), ('"gt"', '"ge"'), ('"lt"', '"gt"'),
                 ('"eq"', '"ne"'), ("nn.add", "nn.sub"), ("nn.mul", "nn.add"),
                 ("nn.sub", "nn.add"), ("nn.relu", "nn.neg"),
                 ("nn.tanh", "nn.relu"), ("nn.sigmoid", "nn.tanh"),
                 ("nn.gelu", "nn.relu"), ("nn.max", "nn.min"),
                 ("nn.div", "nn.mul"), ("nn.sqrt", "nn.exp")]
        fits = [(a, b) for a, b in swaps if a in lines[at]]
        if "labels" in lines[at]:
            m = re.search(r'labels = "([^"]*)"', lines[at])
            letters = sorted(set(m[1]) - set(",->"))
            a, b = random.choice(letters), random.choice(letters)
            where = random.randrange(len(m[1]))
            text = m[1][:where] + m[1][where:].replace(a, "?").replace(
                b, a).replace("?", b)
            fits.append((m[1], text))
        if not fits:
            return False
        lines[at] = lines[at].replace(*random.choice(fits), 1)
        return True

    def do_split(self, lines, random):
        at = random.choice(self.ops)
        m = re.search(r"#spmd\.split<(@\w+)(?:: ([^>]*))?>", lines[at])
        if not m:
            return False
        parts = re.findall(r"[^,{]+(?:{[^}]*})?", m[2] or "")
        others = [p for line in lines for p in re.findall(
            r"#spmd\.split<@\w+: ([^>,]*)", line)]
        what = random.choice(["less", "more", "other"])
        if what == "less" and parts:
            parts.pop(random.randrange(len(parts)))
        elif what == "more" and others:
            parts.append(random.choice(others))
        elif parts and others:
            parts[random.randrange(len(parts))] = random.choice(others)
        inner = m[1] + (": " + ", ".join(p.strip() for p in parts)
                        if parts else "")
        lines[at] = lines[at].replace(m[0], f"#spmd.split<{inner}>")
        return True

    def do_constant(self, lines, random):
        found = [i for i in self.ops if "dense<" in lines[i]]
        if not found:
            return False
        at = random.choice(found)
        m = re.search(r"dense<(.*?)> : ", lines[at])
        numbers = list(re.finditer(r"-?\d+(\.\d+)?(E[-+]?\d+|e[-+]?\d+)?", m[1]))
        if not numbers:
            return False
        n = random.choice(numbers)
        new = str(float(n[0]) + 1) if n[1] or n[2] else str(int(n[0]) + 1)
        begin = m.start(1)
        lines[at] = lines[at][:begin + n.start()] + new + \
            lines[at][begin + n.end():]
        return True

    # Operations.

    def do_drop(self, lines, random):
        at = random.choice(self.ops)
        made = RESULT.match(lines[at])
        if not made:
            del lines[at]
            return True
        head = lines[at][made.end():].split(" : ")[0]
        inputs = VALUE.findall(head) + self.alike(lines, at, made.group(1))
        if not inputs:
            return False
        other = random.choice(inputs)
        for i in range(at + 1, len(lines)):
            if lines[i].startswith("  }"):
                break
            lines[i] = re.sub(re.escape(made.group(1)) + r"\b", other, lines[i])
        del lines[at]
        return True

    def do_twice(self, lines, random):
        at = random.choice(self.ops)
        again = RESULT.sub("    %again = ", lines[at], count=1)
        lines.insert(at + 1, again)
        return True

    def do_repeat(self, lines, random):
        """An operator of one operand is done once more to its result."""
        at = random.choice(self.ops)
        made = RESULT.match(lines[at])
        if not made or len(VALUE.findall(lines[at].split(" : ")[0])) != 2:
            return False
        for i in range(at + 1, len(lines)):
            if lines[i].startswith("  }"):
                break
            lines[i] = re.sub(re.escape(made.group(1)) + r"\b", "%again",
                              lines[i])
        operand = VALUE.findall(lines[at])[1]
        again = RESULT.sub("    %again = ", lines[at], count=1)
        lines.insert(at + 1, again.replace(operand + " ", made.group(1) + " ", 1))
        return True

    def do_order(self, lines, random):
        at = random.choice(self.ops[:-1])
        to = at + random.choice([1, 2, 3])
        if to not in self.ops:
            return False
        lines[at], lines[to] = lines[to], lines[at]
        return True

    def steps(self, lines):
        return [i for i in self.ops if re.search(r"= spmd\.\w+ ", lines[i])]

    def do_move(self, lines, random):
        found = self.steps(lines)
        if not found:
            return False
        at = random.choice(found)
        lines[at] = re.sub(r"= spmd\.\w+", "= spmd." + random.choice(MOVES),
                           lines[at], count=1)
        if random.random() < .5:
            lines[at] = re.sub(r", tag = \d+ : i64", "", lines[at])
        return True

    def do_axes(self, lines, random):
        found = self.steps(lines)
        if not found:
            return False
        at = random.choice(found)
        names = re.findall(r"(\w+) = \d+", next(
            l for l in lines if "spmd.grid" in l))
        some = random.sample(names, random.randrange(len(names) + 1))
        listed = ", ".join(f'"{n}"' for n in some)
        lines[at] = re.sub(r"axes = \[[^\]]*\]", f"axes = [{listed}]", lines[at])
        return True

    def do_tag(self, lines, random):
        found = [i for i in self.steps(lines) if "tag = " in lines[i]]
        if len(found) < 2:
            return False
        a, b = random.sample(found, 2)
        tags = [re.search(r"tag = \d+", lines[i])[0] for i in (a, b)]
        lines[a] = lines[a].replace(tags[0], tags[1])
        if random.random() < .5:
            lines[b] = lines[b].replace(tags[1], tags[0])
        return True
