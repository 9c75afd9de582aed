"""The figures of the paper and of own experiments, drawn without a display or global settings."""

from duelist.experiments._figures._action_selection import action_selection as action_selection
from duelist.experiments._figures._action_selection import three_arms as three_arms
from duelist.experiments._figures._curves import confidence_sets as confidence_sets
from duelist.experiments._figures._curves import kinds_of_regret as kinds_of_regret
from duelist.experiments._figures._curves import regret_curves as regret_curves
from duelist.experiments._figures._spread import distribution as distribution
from duelist.experiments._figures._write import FORMATS as FORMATS
from duelist.experiments._figures._write import figures as figures
from duelist.experiments._figures._write import write_figures as write_figures
