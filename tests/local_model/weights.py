"""Where the weights of the model for the tests are: in the environment of the checkout, which git ignores."""

from pathlib import Path

from weftwork.adapters.model_server import weights
from weftwork.adapters.model_server.weights import KNOWN_MODELS

MODEL = KNOWN_MODELS["smollm2"]
DATA = Path(".venv") / "local-model"
FETCH = ["models", "fetch", MODEL.name, "--data", str(DATA)]
"""The command that downloads the weights, with paths from the root of the checkout."""
FOLDER = Path(__file__).parents[2] / DATA / "models"
WEIGHTS = FOLDER / MODEL.file


def has_weights() -> bool:
    return weights.has_weights(MODEL, FOLDER)
