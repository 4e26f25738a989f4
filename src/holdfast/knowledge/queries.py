"""Answers to queries: relations of their own, evaluated beside the others and dropped."""

from __future__ import annotations

from holdfast.knowledge.evaluation import evaluate
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.relations import drop_relations
from holdfast.knowledge.views import Views
from holdfast.language import parse_body
from holdfast.program import check_query
from holdfast.relation_view import RelationView


def answers(text: str, state: Materialisation, views: Views) -> RelationView:
    """The answers to a query, within the limits."""
    with state.within_seconds():
        _, question = check_query(parse_body(text, "<query>"), state.program)
        backend = state.backend
        added = [relation for name, relation in question.relations.items() if name not in state.program.relations]
        try:
            for relation in added:
                backend.add_relation(relation)
            with state.limited(keep=False) as watch:
                evaluate(question.nodes, backend, watch)
            return views.all_facts(next(relation for relation in added if relation.name == "?"))
        finally:
            drop_relations(backend, added)
