"""How XLA is set up where cells are run: one thread per process."""

import os


def single_threaded() -> None:
    """Let XLA use one thread, by the environment of this process; before its first computation.

    The matrices of a cell are too small for several threads to pay, and processes share the cores.
    It also avoids a deadlock of jaxlib 0.10: a batched call of LAPACK that runs on the pool of
    threads waits for the pool to run its parts, and two at once fill a pool of two.
    """
    # `NPROC` is the size of XLA's pool on the CPU; no flag sets it.
    os.environ["NPROC"] = "1"
