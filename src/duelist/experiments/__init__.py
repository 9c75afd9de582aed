"""The tables and figures of the paper, own experiments, and the data they run on."""
