"""Commands that measure: ``engine``, ``aec``, ``train``, ``compare``. Each prints a table; none is a test."""

import train  # noqa: F401 - sets how PyTorch's threads wait, before PyTorch is loaded
