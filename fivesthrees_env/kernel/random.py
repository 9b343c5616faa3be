"""A counter-based random stream inside each match record.

The n-th output of the stream with key k is SplitMix64's finaliser applied to ``k + n * GAMMA`` (Steele, Lea
and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Nothing is global: the same seed
gives the same match alone, in a batch, and on every machine.
"""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.jit import jit

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MUL_1 = np.uint64(0xBF58476D1CE4E5B9)
_MUL_2 = np.uint64(0x94D049BB133111EB)
_LOW_32 = np.uint64(0xFFFFFFFF)


@jit
def mix(x):
    """SplitMix64's finaliser: a bijection of the 64-bit integers."""
    x = (x ^ (x >> np.uint64(30))) * _MUL_1
    x = (x ^ (x >> np.uint64(27))) * _MUL_2
    return x ^ (x >> np.uint64(31))


@jit
def seed_stream(match, seed):
    """Start the match's stream; neighbouring seeds give unrelated streams."""
    match.key = mix(np.uint64(seed) + _GAMMA)
    match.counter = np.uint64(0)


@jit
def below(match, n):
    """A uniform integer in [0, n), n < 2**32: Lemire's multiply-and-shift, exact by rejection."""
    n = np.uint64(n)
    while True:
        match.counter += np.uint64(1)
        product = (mix(match.key + match.counter * _GAMMA) & _LOW_32) * n
        low = product & _LOW_32
        # The threshold is below n, so the division is rarely needed.
        if low >= n or low >= (_LOW_32 + np.uint64(1) - n) % n:
            return np.int64(product >> np.uint64(32))


@jit
def uniform(match):
    """A uniform float64 in [0, 1): a multiple of 2**-53."""
    match.counter += np.uint64(1)
    return np.float64(mix(match.key + match.counter * _GAMMA) >> np.uint64(11)) * 2.0**-53
