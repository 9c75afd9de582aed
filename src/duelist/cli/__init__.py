"""The command `duelist`. JAX and all that needs it is imported when a command runs."""

from duelist.cli._app import main as main
