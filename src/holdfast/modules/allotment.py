"""Assigns the rules of a hyper-node to modules; semi-naive evaluation gets the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.modules.interface import Declined, Module, Service
from holdfast.program.impact import rule_key
from holdfast.program.model import HyperNode, Relation, Rule
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Allotment:
    """The services in one hyper-node; `generic` are the recursive rules that none of them serves."""

    services: tuple[Service, ...] = ()
    generic: tuple[Rule, ...] = ()
    declined: tuple[tuple[str, Declined], ...] = ()  # each with the module's name

    @property
    def alone(self) -> Service | None:
        """The service that serves the hyper-node alone."""
        return self.services[0] if len(self.services) == 1 and self.services[0].alone else None

    def same_as(self, other: Allotment) -> bool:
        """Whether the same modules serve the same rules."""
        return _keys(self.services) == _keys(other.services)

    @property
    def served(self) -> tuple[Rule, ...]:
        """The rules that modules serve."""
        return tuple(rule for service in self.services for rule in service.rules)


def allot(node: HyperNode, relations: Mapping[str, Relation], modules: Sequence[Module]) -> Allotment:
    """Assigns each rule to the first module, in order, that offers to serve it."""
    services, declined, taken = list[Service](), list[tuple[str, Declined]](), set[int]()
    for module in modules if node.is_recursive and not node.limits else ():
        for offer in module.offers(node, relations):
            reason = offer if isinstance(offer, Declined) else _objection(offer, services, taken)
            if reason is not None:
                declined.append((module.name, reason))
            else:
                assert isinstance(offer, Service)
                services.append(offer)
                taken.update(map(id, offer.rules))
    generic = tuple(rule for rule in node.recursive if id(rule) not in taken)
    return Allotment(tuple(services), generic, tuple(declined))


def _objection(offer: Service, services: Iterable[Service], taken: set[int]) -> Declined | None:
    """Two modules must not derive the same fact: the counters could not show that it is external."""
    for other in services:
        if not other.slice.is_apart_from(offer.slice):
            what = "serves them" if taken.issuperset(map(id, offer.rules)) else "derives such facts"
            return Declined(offer.rules, f"{other.module.name} {what} already")
    return None


def _keys(services: Iterable[Service]) -> list[object]:
    keys = [(s.module.name, s.slice, sorted(map(repr, map(rule_key, s.rules)))) for s in services]
    return sorted(keys, key=repr)
