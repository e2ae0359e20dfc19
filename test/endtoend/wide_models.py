"""Models of many wide layers, for plans of stages."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def declared(name, shape):
    """A weight in a file that is not there: plans need no more."""
    weight = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape,
                         data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=f"{name}.data")
    return weight


def wide_layers(count, width, weightless=True):
    """So many products of 1,024 rows, each with a weight of its own."""
    random = np.random.default_rng(0)
    weights = [declared(f"w{i}", (width, width)) if weightless else
               numpy_helper.from_array(random.standard_normal(
                   (width, width), np.float32) / width ** 0.5, f"w{i}")
               for i in range(count)]
    nodes = [helper.make_node(kind, inputs, [output], name=f"/l{i}/{kind}")
             for i in range(count)
             for kind, inputs, output in (
                 ("MatMul", [f"h{i}", f"w{i}"], f"p{i}"),
                 ("Relu", [f"p{i}"], f"h{i + 1}"))]
    value = (helper.make_tensor_value_info(name, TensorProto.FLOAT,
                                           (1024, width))
             for name in ("h0", f"h{count}"))
    return helper.make_model(helper.make_graph(
        nodes, "wide", [next(value)], [next(value)], weights),
        opset_imports=[helper.make_opsetid("", 17)])
