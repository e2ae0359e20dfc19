"""Models of one node for every operator at every version of its schema.

An operator's recipe gives inputs and attributes for one version and one element
type; version_elementwise.py, version_movement.py and version_layers.py hold the
recipes. Expected outputs are computed by version_suite.py.
"""

import zlib
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx
from node_cases import SHAPE_INPUTS, TYPES, Case
from onnx import defs, helper

OLDEST = 7
# That of ONNX's own operators where one of another domain is the case.
OTHERS = 21
DOMAINS = ("", "ai.onnx.preview.training")
# Operators without recipes, and why.
LEFT_OUT = {
    "a state, for which ONNX's own cases are better": {
        "CausalConvWithState", "LinearAttention"},
    "a graph in an attribute, or a sequence": {
        "If", "Loop", "Scan", "SequenceMap", "ConcatFromSequence", "Optional",
        "OptionalGetElement", "OptionalHasElement", "SequenceAt",
        "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
        "SequenceLength", "SplitToSequence",
        "ai.onnx.preview.training.Gradient"},
    "text or an encoded image": {
        "ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer",
        "StringSplit", "TfIdfVectorizer"},
    "random numbers, which no two implementations share": {
        "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike",
        "RandomUniform", "RandomUniformLike"},
}
FLOAT16S = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
# In one order, so that cases keep their numbers.
KINDS = sorted(TYPES, key=lambda kind: kind.name)
_RECIPES = {}
_KINDS = {}


@dataclass
class Operator:
    """What a recipe is asked for."""
    name: str
    schema: defs.OpSchema
    type: np.dtype  # Of the input that the recipe varies.

    @property
    def version(self):
        return self.schema.since_version

    @property
    def opset(self):
        return max(self.version, OLDEST)

    @property
    def is_float(self):
        return is_float(self.type)

    @property
    def is_integer(self):
        return not self.is_float and self.type != bool

    def has(self, attribute):
        return attribute in self.schema.attributes

    def takes(self, index, kind):
        """Whether the input at `index` may be of this type."""
        return np.dtype(kind) in input_types(self.schema, index)

    def values(self, *shape, kind=None, low=-4, high=4):
        """Values of `kind`, else of the type that varies; always the same."""
        return draw(kind or self.type, shape, low, high,
                    f"{self.name} {shape} {low}")


def is_float(kind):
    return np.dtype(kind).kind == "f" or kind in FLOAT16S or \
        "float" in np.dtype(kind).name


def draw(kind, shape, low=-4, high=4, seed=""):
    random = np.random.default_rng(zlib.crc32(seed.encode()))
    kind = np.dtype(kind)
    if kind == bool:
        return random.integers(0, 2, shape).astype(bool)
    if is_float(kind):
        values = np.asarray(random.uniform(low, high, shape))
        return (np.abs(values) if kind.name == "float8_e8m0fnu" else
                values).astype(kind)
    limits = ml_dtypes.iinfo(kind)
    return np.asarray(random.integers(
        max(int(np.ceil(low)), int(limits.min)),
        min(int(np.floor(high)), int(limits.max)), shape, np.int64,
        endpoint=True)).astype(kind)


def of(*operators, by=0):
    """Marks the recipe of these operators, which varies the type of the input
    `by`, or of the first output where there is no input. A recipe yields inputs
    and attributes, and `outputs` where there are several."""
    def mark(recipe):
        for name in operators:
            assert name not in _RECIPES, name
            _RECIPES[name] = recipe, by
        return recipe
    return mark


def qualified(schema):
    return (f"{schema.domain}." if schema.domain else "") + schema.name


def versions():
    """{operator: its schemas that models of opset 7 or newer select}"""
    found = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain in DOMAINS:
            found.setdefault(qualified(schema), []).append(schema)
    for name, schemas in found.items():
        schemas.sort(key=lambda schema: schema.since_version)
        newer = [schema for schema in schemas if schema.since_version > OLDEST]
        older = schemas[:len(schemas) - len(newer)]
        found[name] = [schema for schema in older[-1:] + newer
                       if not schema.deprecated]
    return dict(sorted(found.items()))


def kinds_of(schema, text):
    """NumPy's types of a type parameter, or of a type in words."""
    key = schema.domain, schema.name, schema.since_version, text
    if key not in _KINDS:
        _KINDS[key] = read_kinds(schema, text)
    return _KINDS[key]


def read_kinds(schema, text):
    texts = [text]
    for constraint in schema.type_constraints:
        if constraint.type_param_str == text:
            texts = constraint.allowed_type_strs
    names = [each.removeprefix("tensor(").removesuffix(")") for each in texts
             if each.startswith("tensor(")]
    names = [{"float": "float32", "double": "float64",
              "float4e2m1": "float4_e2m1fn", "float8e8m0": "float8_e8m0fnu",
              }.get(name, name.replace("float8e", "float8_e"))
             for name in names]
    return sorted((kind for kind in TYPES if kind.name in names),
                  key=lambda kind: kind.name)


def input_types(schema, index):
    formal = schema.inputs[min(index, len(schema.inputs) - 1)]
    return kinds_of(schema, formal.type_str)


def varied_types(schema, by):
    if not schema.inputs:
        return kinds_of(schema, schema.outputs[0].type_str)
    return input_types(schema, by)


def with_recipes():
    return set(_RECIPES)


def is_allowed(schema, inputs):
    """Whether the schema takes inputs of these types."""
    last = len(schema.inputs) - 1
    if len(inputs) > schema.max_input or len(inputs) < schema.min_input:
        return False
    return all(value is None or
               value.dtype in input_types(schema, min(index, last))
               for index, value in enumerate(inputs))


def cases_of(name, schema):
    """The cases of an operator at one version."""
    recipe, by = _RECIPES[name]
    for kind in varied_types(schema, by):
        operator = Operator(name, schema, kind)
        for number, drawn in enumerate(recipe(operator)):
            inputs, attributes, *more = drawn
            inputs = [None if value is None else np.asarray(value)
                      for value in inputs]
            if not is_allowed(schema, inputs) or \
                    set(attributes) - set(schema.attributes):
                continue
            outputs = more[0] if more else 1
            names = ["" if value is None else f"x{i}"
                     for i, value in enumerate(inputs)]
            case = f"{name}-{schema.since_version} {kind.name} {number}"
            node = helper.make_node(
                schema.name, names, [f"y{i}" for i in range(outputs)], case,
                domain=schema.domain, **attributes)
            case = Case(case, node, inputs, [None] * outputs,
                        max(schema.since_version, OLDEST)
                        if not schema.domain else OTHERS)
            case.constants = constant_inputs(schema, node)
            yield case


def constant_inputs(schema, node):
    return {at for at in SHAPE_INPUTS.get(schema.name, ())
            if at < len(node.input) and node.input[at]}


def all_cases():
    for name, schemas in versions().items():
        if name in _RECIPES:
            for schema in schemas:
                yield from cases_of(name, schema)
