"""Work in shares: all rows once, results in order, PyTorch on one thread."""

from __future__ import annotations

import pytest
import torch

from train.shares import in_shares, single_threaded


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 100])
def test_results_come_in_the_order_of_the_shares_and_cover_all_rows(rows: int, threads: int) -> None:
    shares = in_shares(lambda share: share, rows, 8, threads)
    assert [row for share in shares for row in range(rows)[share]] == list(range(rows))
    assert all(share.stop - share.start == 8 for share in shares[:-1])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_share_is_computed_on_one_thread(threads: int) -> None:
    with single_threaded():
        assert set(in_shares(lambda _: torch.get_num_threads(), 40, 4, threads)) == {1}


def test_the_number_of_threads_is_given_back_even_after_an_error() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with pytest.raises(KeyError), single_threaded():
            raise KeyError
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_share_is_raised(threads: int) -> None:
    def work(share: slice) -> None:
        if share.start == 8:
            raise ZeroDivisionError

    with single_threaded(), pytest.raises(ZeroDivisionError):
        in_shares(work, 40, 4, threads)
