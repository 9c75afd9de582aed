"""The package as it is installed, and the files that pin what it is installed with."""

import re
import tomllib
from importlib import metadata, resources
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import duelist

ROOT = Path(__file__).parent.parent
PIN = re.compile(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [a-z_]+ [<>=!]+ '[a-z0-9.]+')?")


def pins(name: str) -> dict[str, str]:
    """The pinned requirements of requirements/NAME.txt: the line of each package."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    return {line.partition("==")[0]: line for line in lines if not line.startswith("#")}


def declared(requirements: list[str]) -> set[str]:
    """The names of the packages in a list of requirement specifiers."""
    return {re.split(r"[^A-Za-z0-9-]", line)[0].lower() for line in requirements}


@pytest.fixture(scope="module")
def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_version_is_that_of_the_project(pyproject: dict) -> None:
    assert duelist.__version__ == pyproject["project"]["version"]


def test_types_are_published() -> None:
    assert resources.files("duelist").joinpath("py.typed").is_file()


def test_import_leaves_the_precision_alone() -> None:
    assert jnp.zeros(1).dtype == jnp.float32
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize("name", ["base", "dev"])
def test_requirements_are_exact_pins_without_addresses(name: str) -> None:
    assert [line for line in pins(name).values() if not PIN.fullmatch(line)] == []


def test_requirements_cover_what_is_declared(pyproject: dict) -> None:
    project, groups = pyproject["project"], pyproject["dependency-groups"]
    extras = project["optional-dependencies"]
    tools = [*extras["cli"], *extras["experiments"], *extras["cluster"], *groups["dev"]]
    assert declared(project["dependencies"]) <= pins("base").keys()
    assert declared(tools) - {"duelist"} <= pins("dev").keys()
    assert pins("base").items() <= pins("dev").items()


@pytest.mark.parametrize("package", ["jax", "jaxlib", "numpy", "equinox", "tinygp"])
def test_tests_run_with_the_pinned_versions(package: str) -> None:
    assert pins("dev")[package] == f"{package}=={metadata.version(package)}"


def test_jax_refuses_to_mix_dtypes() -> None:
    with pytest.raises(jax.dtypes.TypePromotionError, match="strict"):
        jnp.zeros(2, jnp.float32) + jnp.zeros(2, jnp.int32)


def test_jax_refuses_to_mix_ranks() -> None:
    with pytest.raises(ValueError, match="rank_promotion"):
        jnp.zeros((2, 2)) + jnp.zeros(2)


def test_x64_fixture_sets_the_mode(x64: np.dtype) -> None:
    assert jnp.zeros(1).dtype == x64
