"""Packages that only some pipelines need, imported when they are needed."""

import importlib
from typing import Any


def require(module: str, *, package: str, purpose: str) -> Any:
    """Import an optional module, or say what to install.

    Args:
        module: the name to import, such as `sklearn.decomposition`.
        package: the name it is installed under, such as `scikit-learn`.
        purpose: what needs it, for the message.

    Raises:
        ImportError: if the module cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"{purpose} needs the package {package}, which cannot be imported: {error}"
        raise ImportError(message) from error
