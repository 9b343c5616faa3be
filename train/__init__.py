"""Everything that learns or measures: ``train.ppo``, ``train.evaluate``, ``train.ladder``."""

import os
from importlib.util import find_spec

for _module in ("torch", "tyro", "rich"):
    if find_spec(_module) is None:
        raise ModuleNotFoundError(f"training and evaluation need {_module}: pip install -e '.[train]'")

# PyTorch's threads wait for each other many thousand times a second, by default in a busy loop of about a
# millisecond. Where another program wants a core, each then waits for a partner that is not running: 13 times
# slower in a test. A short loop costs nothing on an idle machine and saves most of that. GNU's OpenMP reads
# this once, when PyTorch is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
