"""The hot loops over graphs: components, reachability, and the gains and losses of a closure.

A folder of its own beside `backends/memory/kernels/`: no loop here uses a helper from there.

A graph is compressed sparse rows: the successors of node v are `targets[first[v]:first[v + 1]]`, in order; in addition
there are two short sorted lists of edges as keys (see `edges.py`), those that `came` since and those that `went`.
Components are numbered so that each comes after all that it reaches; `members` lists the nodes component by component,
and a component is *cyclic* when its nodes reach themselves.  A graph that is not condensed is one in which each node is
a component and none is cyclic.
"""

from holdfast.modules.graph_kernels.condensing import components, condense, fill_bits
from holdfast.modules.graph_kernels.differences import count_targets, differences
from holdfast.modules.graph_kernels.walking import detours, reach

__all__ = ["components", "condense", "count_targets", "detours", "differences", "fill_bits", "reach"]
