"""Our environments beside those of other libraries, on one core of this machine.

    python -m benchmarks.compare

``peers`` says who is compared and how each is installed, ``environment`` makes the one virtual environment
that all of them share, ``play/`` has a measuring script for each library, ``measure`` runs them in turn, and
``report`` writes ``docs/benchmarks.md`` with its chart and its JSON file.
"""
