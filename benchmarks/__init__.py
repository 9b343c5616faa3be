"""Commands that measure, ``python -m benchmarks.NAME``: each prints a table or writes a page."""

import train  # noqa: F401 - sets how PyTorch's threads wait, before PyTorch is loaded
