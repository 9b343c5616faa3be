"""Work on rows of tensors in shares, each on one thread from its first operation to its last.

PyTorch divides every operation between threads, which then wait for each other; in a small network there are
some hundred such meetings per gradient step. Shares meet once. Their sizes do not depend on the number of
threads, so neither do results, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from fivesthrees_env.threads import next_block, run

__all__ = ["in_shares", "single_threaded"]

Result = TypeVar("Result")


def in_shares(work: Callable[[slice], Result], rows: int, share: int, threads: int) -> list[Result]:
    """Call ``work(rows of a share)`` for all shares.

    PyTorch works on a single thread in each.

    Args:
        work: gets a slice of at most `share` rows.
        rows: rows of all shares together.
        share: rows of each but the last.
        threads: at most so many shares are worked on at once.

    Returns:
        The results, in the order of the shares.
    """
    shares = [slice(first, min(first + share, rows)) for first in range(0, rows, share)]
    results: list[Any] = [None] * len(shares)

    def take(blocks: Any) -> None:
        torch.set_num_threads(1)  # each thread's own setting
        while (k := next_block(blocks)) >= 0:
            results[k] = work(shares[k])

    with single_threaded():
        run(take, min(threads, len(shares)), len(shares))
    return results


@contextmanager
def single_threaded() -> Iterator[None]:
    """PyTorch works on the calling thread alone: its helpers would be in the way of shares."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
