"""Settings every test runs under: strict JAX promotion, and hypothesis without deadlines."""

import os
from collections.abc import Iterator

import hypothesis
import jax
import jaxtyping
import numpy as np
import pytest

# BLAS, which JAX loads at its first use, then has one thread: pytest's processes share the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)


def pytest_configure() -> None:
    """Make JAX refuse what it would otherwise convert silently."""
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    hypothesis.settings.load_profile("ci" if "CI" in os.environ else "local")


@pytest.fixture(scope="module", autouse=True)
def forgotten_programs() -> Iterator[None]:
    """Forget what a file of tests compiled: XLA maps memory for it, and Linux limits the maps.

    A process with the programs of half the suite reaches the limit (65530) and dies compiling.
    """
    yield
    jax.clear_caches()


@pytest.fixture(params=["float32", "float64"])
def x64(request: pytest.FixtureRequest) -> Iterator[np.dtype]:
    """The dtype to compute in: float32, then float64 with JAX's 64-bit mode switched on.

    The mode is the same for all examples of a hypothesis test, which may therefore suppress
    `HealthCheck.function_scoped_fixture` when it asks for this fixture.
    """
    with jax.enable_x64(request.param == "float64"):
        yield np.dtype(request.param)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without the type checker that the tests put around every function, as users run it."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
