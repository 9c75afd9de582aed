"""Files that are whole or not there: written beside their place, then moved into it."""

import os
from pathlib import Path


def output_directory(directory: str | Path) -> Path:
    """`directory`, made if it is not there.

    Raises:
        ValueError: it cannot be made or written to.
    """
    path = Path(directory)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"directory: cannot make {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise ValueError(f"directory: expected one that can be written to, got {path}")
    return path


def write_atomically(path: Path, content: str | bytes) -> Path:
    """Put `content` at `path` in one step; text as UTF-8.

    A reader sees the old file or the new one, and a crash, even of the machine, leaves one of them.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    data = content.encode() if isinstance(content, str) else content
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path
