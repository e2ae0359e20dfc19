"""ONNX Runtime: onnxruntime_worker.py MODEL INPUTS OUTPUTS THREADS LEVEL."""

import onnxruntime

import worker

# Said in full, as what is compared with should be. All but the number of
# threads and the level are defaults.
SETTINGS = {
    "execution_mode": onnxruntime.ExecutionMode.ORT_SEQUENTIAL,
    "inter_op_num_threads": 1,
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
}
ENTRIES = {"session.intra_op.allow_spinning": "1"}


def load(model, inputs, threads, level):
    threads = int(threads)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, level)
    for name, value in SETTINGS.items():
        setattr(options, name, value)
    for name, value in ENTRIES.items():
        options.add_session_config_entry(name, value)
    session = onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    said = {"version": onnxruntime.__version__,
            "providers": session.get_providers(),
            "graph_optimization_level": level,
            "intra_op_num_threads": threads,
            **{name: getattr(value, "name", value)
               for name, value in SETTINGS.items()}, **ENTRIES}
    return lambda: dict(zip(names, session.run(names, inputs))), said


if __name__ == "__main__":
    worker.main(load)
