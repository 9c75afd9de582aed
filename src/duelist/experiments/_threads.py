"""How XLA and BLAS are set up where cells are run: one thread per process."""

import os


def single_threaded() -> None:
    """Let XLA and BLAS use one thread, by this process's environment; before its first computation.

    The matrices of a cell are too small for several threads to pay, and processes share the cores:
    a triangular solve of 100 x 100 took 200 times as long where OpenBLAS's threads had to wait.
    It also avoids a deadlock of jaxlib 0.10: a batched call of LAPACK that runs on the pool of
    threads waits for the pool to run its parts, and two at once fill a pool of two.
    """
    # `NPROC` is the size of XLA's pool on the CPU; no flag sets it.
    os.environ["NPROC"] = "1"
    # Read when SciPy's BLAS, which JAX calls for its linear algebra, is first loaded.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
