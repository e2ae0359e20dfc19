"""torch.compile: inductor_worker.py NAME INPUTS OUTPUTS THREADS.

NAME is a model of zoo.py, made again with the weights that were exported.
"""

import torch

import export
import worker


def load(name, inputs, threads):
    torch.set_num_threads(int(threads))
    # Weights are constants, as they are to the others.
    torch._inductor.config.freezing = True
    model, _ = export.make(name)
    compiled = torch.compile(model)
    values = [torch.from_numpy(array) for array in inputs.values()]

    def run():
        with torch.no_grad():
            return {"y": compiled(*values)}

    run()  # which compiles
    return run, {"version": torch.__version__, "freezing": True,
                 "num_threads": torch.get_num_threads()}


if __name__ == "__main__":
    worker.main(load)
