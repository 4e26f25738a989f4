"""Plans: join orders and delta rules, the same for every backend."""

from holdfast.plans.explain import explain, explain_json
from holdfast.plans.model import AggregatePlan, AnyPlan, NodePlans, Plan, Read
from holdfast.plans.planner import Planner, plan_node, plan_rule
from holdfast.plans.statistics import SizeStatistics

__all__ = [
    "AggregatePlan",
    "AnyPlan",
    "NodePlans",
    "Plan",
    "Planner",
    "Read",
    "SizeStatistics",
    "explain",
    "explain_json",
    "plan_node",
    "plan_rule",
]
