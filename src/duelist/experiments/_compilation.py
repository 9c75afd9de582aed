"""How long something takes, and how much of that goes into compiling."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import jax.monitoring

T = TypeVar("T")


class _Intervals(threading.local):
    """When this thread was compiling: intervals on the clock of `time.perf_counter`."""

    def __init__(self) -> None:
        self.open: list[tuple[float, float]] | None = None


_intervals = _Intervals()


def _listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
    del kwargs
    if _intervals.open is not None and event.startswith("/jax/core/compile/"):
        now = time.perf_counter()
        _intervals.open.append((now - duration_secs, now))


jax.monitoring.register_event_duration_secs_listener(_listen)


def timed(action: Callable[[], T]) -> tuple[T, float, float]:
    """The result of `action`, its seconds, and how many of them JAX traced, lowered or compiled."""
    _intervals.open = []
    begin = time.perf_counter()
    try:
        result = action()
        seconds = time.perf_counter() - begin
        return result, seconds, _covered(_intervals.open)
    finally:
        _intervals.open = None


def _covered(intervals: list[tuple[float, float]]) -> float:
    """The length of a union of intervals: events of functions inside others are nested."""
    total, end = 0.0, float("-inf")
    for first, last in sorted(intervals):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total
