"""`duelist run`: an experiment of one's own."""

from pathlib import Path

from duelist.experiments._experiment import load_experiment
from duelist.experiments._session import Options, Session
from duelist.experiments._tables import table


def run(path: Path, options: Options) -> None:
    """Run the experiment of a file, write its table and figures and print the table.

    Raises:
        FileError: the file is not usable.
        ValueError, OSError: its data are not.
        StoreError, ClusterError, CellError: see `Session.run`.
    """
    experiment = load_experiment(path)
    name = experiment.document.name
    shared = {"experiment": experiment.summary()}
    configuration = {**shared, "jobs": options.jobs, "cluster": options.cluster}
    session = Session(name, options, name, configuration)
    results = session.run(experiment.cells, shared)
    session.report(results, lambda found: table(found, name))
