"""Find what people like best from answers to "this one or that one?"."""

from importlib.metadata import version

__version__ = version("duelist")
