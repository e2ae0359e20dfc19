"""Quantizes exported models with onnxruntime.quantization.

Static, per channel, in the form of QuantizeLinear and DequantizeLinear around
operators in floating point, which leaves it to each compiler what it computes
in integers. Activations are unsigned and weights signed: the package's default,
both signed, is two to four times slower in ONNX Runtime. Calibrated on the
distribution that inputs are drawn from.
"""

import numpy as np
import onnx
from onnxruntime import quantization

import names

CALIBRATION = 4


class Reader(quantization.CalibrationDataReader):
    """Gives inputs like `tensors`: floats drawn, integers in another order."""

    def __init__(self, tensors, seed):
        random = np.random.default_rng(seed)
        self.left = [{name: self.draw(random, tensor)
                      for name, tensor in tensors.items()}
                     for _ in range(CALIBRATION)]

    @staticmethod
    def draw(random, tensor):
        if np.issubdtype(tensor.dtype, np.floating):
            return random.standard_normal(tensor.shape).astype(tensor.dtype)
        return random.permuted(tensor, axis=-1)

    def get_next(self):
        return self.left.pop() if self.left else None


def quantize(name, folder, seed):
    """Writes folder/NAME.part and NAME's inputs."""
    base, operators = names.QUANTIZED[name]
    tensors = dict(np.load(folder / f"{base}.inputs.npz"))
    prepared = folder / f"{name}.prepared"
    onnx.save(onnx.shape_inference.infer_shapes(
        onnx.load(folder / f"{base}.onnx")), prepared)
    try:
        quantization.quantize_static(
            prepared, folder / f"{name}.part", Reader(tensors, seed),
            quant_format=quantization.QuantFormat.QDQ, per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            op_types_to_quantize=operators)
    finally:
        prepared.unlink()
    np.savez(folder / f"{name}.inputs.npz", **tensors)
