"""The Storm model checker as a second opinion."""

from __future__ import annotations

import stormpy
import stormpy.environments


def by_storm(path, query, precision="1/10000000"):
    """The optimum of a query over a DRN file by Storm's multi-objective engine."""
    model = stormpy.build_model_from_drn(str(path))
    environment = stormpy.environments.default(model)
    environment.modelchecker().multi().precision = stormpy.Rational(precision)
    found = stormpy.model_checking(
        model, stormpy.parse_properties(query)[0], environment=environment
    )
    return float(found.get_value(model.initial_states[0]))
