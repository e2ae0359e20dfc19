"""Stages of pipelines on grids of several axes."""

import numpy as np
import pytest
from pipeline_test import pipeline, states_after
from trained_models import Trained


@pytest.mark.parametrize("recompute", ["none", "full"])
def test_data_and_tensors_are_split_in_stages(divisi, recompute):
    """Several operators take rows of one micro-batch from each input."""
    case = Trained("gpt2", "sgd")
    expected, whole = states_after(divisi, case, 4, *pipeline(1, 4))
    losses, states = states_after(
        divisi, case, 4, "--devices", 8, *pipeline(2, 4, "1f1b"),
        "--data-parallel-size", 2, "--tensor-parallel-size", 2, "--zero", 0,
        "--recompute", recompute)
    np.testing.assert_allclose(losses, expected, 1e-5)
    for weight, value in whole.items():
        np.testing.assert_allclose(states[weight], value, 1e-3, 2e-5, weight)
