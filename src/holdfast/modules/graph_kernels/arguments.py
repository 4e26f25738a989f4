"""The types of the arguments of the kernels over graphs."""

from __future__ import annotations

import numpy as np

from holdfast.compilation import int64, types, uint8, uint64

Numbers = int64[::1]
Flags = uint8[::1]
Bits = uint64[:, ::1]
Pairs = int64[:, ::1]

Edges = types.Tuple((Numbers, Numbers, Numbers, Numbers))
"""The edges of a graph: first, targets, came, went."""

Condensed = types.Tuple((Edges, Numbers, Numbers, Flags, Bits))
"""A condensation: edges, member_first, members, cyclic, bits; the bits are for each component, or none."""

Groups = types.Tuple((Numbers, Numbers, Numbers, Numbers))
"""Groups of sources: old, new, source_first, sources.

The sources of group g, sources[source_first[g]:source_first[g + 1]], are in component old[g] of the old graph and
new[g] of the new one, -1 for an empty graph.
"""

ONE = np.uint64(1)
