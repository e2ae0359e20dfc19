"""ONNX Runtime on CUDA: onnxruntime_worker.py MODEL INPUTS OUTPUTS PRECISION.

Its provider has few operators in bf16: what others compute in bf16 it does in
f16, which GPUs multiply as fast.
"""

import sys
import tempfile
from pathlib import Path

import onnx
import onnxruntime
from onnxruntime.transformers.float16 import convert_float_to_float16

sys.path.append(str(Path(__file__).resolve().parents[1] / "onnxruntime"))

import worker  # noqa: E402


def in_f16(model, folder):
    """The file of the same model in f16, with inputs and outputs as they are."""
    half = convert_float_to_float16(onnx.load(model), keep_io_types=True,
                                    disable_shape_infer=True)
    path = Path(folder) / "half.onnx"
    onnx.save(half, path, save_as_external_data=True)
    return path


def load(model, inputs, precision):
    onnxruntime.preload_dlls()  # CUDA's libraries, of pip
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    own = {"use_tf32": int(precision == "tf32"),
           "cudnn_conv_algo_search": "EXHAUSTIVE"}
    with tempfile.TemporaryDirectory() as folder:
        if precision == "bf16":
            model = in_f16(model, folder)
        session = onnxruntime.InferenceSession(
            model, options, providers=[("CUDAExecutionProvider", own)])
    if session.get_providers()[0] != "CUDAExecutionProvider":
        raise SystemExit("ONNX Runtime has no provider for CUDA here")
    names = [output.name for output in session.get_outputs()]
    said = {"version": onnxruntime.__version__,
            "providers": session.get_providers(), **own,
            "computes_in": {"bf16": "f16"}.get(precision, precision)}
    return lambda: dict(zip(names, session.run(names, inputs))), said


if __name__ == "__main__":
    worker.main(load)
