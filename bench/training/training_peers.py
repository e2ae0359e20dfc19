"""What is timed: a step of Divisi, and those of PyTorch."""

from pathlib import Path

import environment
import peers
import steps

HERE = Path(__file__).resolve().parent
# Of the first step's loss.
TOLERANCE = (0.0, 1e-4)


class Divisi(peers.Divisi):
    tolerance = TOLERANCE

    def prepare(self, case, folder):
        artifact = self.artifact(case, folder)
        _, seconds, peak = peers.divisi(
            "compile", case.model, *steps.flags_of(case.name), "--devices",
            self.devices, "-o", artifact)
        self.facts = {"compile_seconds": seconds, "compile_peak_mib": peak,
                      "artifact_mib": artifact.stat().st_size / 2**20}


class Torch(peers.Elsewhere):
    """As it is run, or compiled."""

    tolerance = TOLERANCE

    def __init__(self, how, python, threads):
        super().__init__(f"torch {how}", HERE / "torch_worker.py",
                         environment.REQUIREMENTS, python)
        self.how, self.threads = how, threads
        # Compiling takes longer than a round.
        self.stays = how == "compile"

    def arguments(self, case, outputs):
        return case.name, case.inputs, outputs, self.threads, self.how
