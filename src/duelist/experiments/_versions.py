"""What a result depends on besides its settings, and what it was computed on."""

import hashlib
import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import duelist

_PACKAGES: Final = ("jax", "jaxlib", "equinox", "tinygp", "numpy")
_SOURCES: Final = (
    *("_checks.py", "kernels.py", "links.py", "simulation.py"),
    *("belief/*.py", "domains/*.py", "environments/*.py", "policies/*.py"),
    *("experiments/_registry.py", "experiments/_simulate.py", "experiments/_threads.py"),
)


@cache
def versions() -> Mapping[str, str]:
    """Whatever may change a number: packages, our own source, precision and instruction set."""
    return {
        "duelist": duelist.__version__,
        "source": _source_digest(),
        "python": platform.python_version(),
        **{package: version(package) for package in _PACKAGES},
        "architecture": platform.machine(),
        "precision": "float64",
    }


def machine() -> Mapping[str, Any]:
    """Where the command runs."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
    }


def _source_digest() -> str:
    """The first digits of a SHA-256 over the modules that a result is computed by."""
    root, digest = Path(duelist.__file__).parent, hashlib.sha256()
    for path in sorted(path for pattern in _SOURCES for path in root.glob(pattern)):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """The processor's name, as Linux knows it, or what Python knows."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
