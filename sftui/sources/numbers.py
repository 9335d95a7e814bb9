"""Plain numbers as they lie in files of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

BF16 = "BF16"
"""A type that numpy has not: each is the upper half of a 32-bit number. The others are called as in numpy."""


class HoldsObjects(ValueError):
    """A file holds Python objects, whose reading could run code."""


def bytes_of(dtype: str) -> int:
    """How many bytes a number has."""
    import numpy as np

    return np.dtype(_stored(dtype)).itemsize


def is_whole(dtype: str) -> bool:
    """Whether its numbers are whole."""
    import numpy as np

    return dtype != BF16 and np.dtype(dtype).kind in "iu"


def numbers(data: bytes, dtype: str) -> np.ndarray[Any, Any]:
    """The numbers of some bytes; what is less than one at the end is left out."""
    import numpy as np

    found = np.frombuffer(data[: len(data) // bytes_of(dtype) * bytes_of(dtype)], _stored(dtype))
    return (found.astype("<u4") << 16).view("<f4") if dtype == BF16 else found


def _stored(dtype: str) -> str:
    return "<u2" if dtype == BF16 else dtype
