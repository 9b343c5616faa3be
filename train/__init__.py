"""Everything that learns or measures: ``train.ppo``, ``train.evaluate``."""

import os

# PyTorch's threads wait for each other many thousand times a second, by default in a busy loop. Where another
# program wants a core, each then waits for a partner that is not running: 13 times slower in a test. OpenMP
# reads this once, when PyTorch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
