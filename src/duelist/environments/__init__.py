"""Environments: who answers in simulation."""

from duelist.environments._base import AbstractEnvironment as AbstractEnvironment
from duelist.environments._box import BoxEnvironment as BoxEnvironment
from duelist.environments._box import box_environment as box_environment
from duelist.environments._contextual import ContextualEnvironment as ContextualEnvironment
from duelist.environments._functions import OBJECTIVES as OBJECTIVES
from duelist.environments._functions import Objective as Objective
from duelist.environments._functions import Optimum as Optimum
from duelist.environments._functions import Variant as Variant
from duelist.environments._functions import objective as objective
from duelist.environments._functions import scale_utilities as scale_utilities
from duelist.environments._table import TableEnvironment as TableEnvironment
from duelist.environments._table import grid_environment as grid_environment
from duelist.environments._table import random_environment as random_environment
