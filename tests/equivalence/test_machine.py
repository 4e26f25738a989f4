"""The same property as a Hypothesis state machine, which looks for short failures and cuts them down itself."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from ..amounts import amount, some
from ..clocks import by_chance
from ..judges.programs import RuleSketch
from .checking import Course
from .lanes import FIXED, POLICIES, STRATEGIES, Lane
from .scripts import Fact, Script, Step, Writer, graph_writer, layered_writer

seeds = st.integers(0, 2**32 - 1)
places = st.lists(st.integers(0, 63), max_size=4)  # in some list, modulo its length


class Maintenance(RuleBasedStateMachine):
    """A random program without rules and facts at first; both come and go."""

    @initialize(
        random=st.randoms(use_true_random=False),
        dense=st.booleans(),
        policy=st.sampled_from(POLICIES),
        other=st.sampled_from(FIXED),
        strategy=st.sampled_from(STRATEGIES),
        clock=st.none() | seeds,
    )
    def begin(self, random: Random, dense: bool, policy: str, other: str, strategy: str, clock: int | None) -> None:
        self.patched = ExitStack()
        self.patched.enter_context(nullcontext() if clock is None else by_chance(clock))
        self.writer: Writer = graph_writer(random) if dense else layered_writer(random)
        self.candidates: list[Fact] = [self.writer.fact() for _ in range(20)]
        script = Script(tuple(dict.fromkeys(self.writer.predicates)), (), (), ())
        lanes = [Lane(script, 0, policy, strategy), Lane(script, 1, other, "counters")]
        self.course = Course(script, lanes, oracle=0.2)

    def teardown(self) -> None:
        self.patched.close()

    def some_facts(self, chosen: list[int]) -> tuple[Fact, ...]:
        return tuple(self.candidates[i % len(self.candidates)] for i in chosen)

    def some_rules(self, chosen: list[int], rules: list[RuleSketch]) -> tuple[RuleSketch, ...]:
        return tuple(dict.fromkeys(rules[i % len(rules)] for i in chosen)) if rules else ()

    @rule(delete=places, insert=places, dice=seeds)
    def facts_change(self, delete: list[int], insert: list[int], dice: int) -> None:
        self.course.advance(Step(self.some_facts(delete), self.some_facts(insert), dice=dice))

    @rule(insert=st.lists(st.integers(0, 63), min_size=3, max_size=10), dice=seeds)
    def many_facts_come(self, insert: list[int], dice: int) -> None:
        self.course.advance(Step(insert=self.some_facts(insert), dice=dice))

    @rule(add=places, remove=places, dice=seeds)
    def rules_change(self, add: list[int], remove: list[int], dice: int) -> None:
        self.course.advance(
            Step(
                add=self.some_rules(add, self.writer.pool), remove=self.some_rules(remove, self.course.rules), dice=dice
            )
        )

    @rule(delete=places, insert=places, add=places, remove=places, dice=seeds)
    def both_change(self, delete: list[int], insert: list[int], add: list[int], remove: list[int], dice: int) -> None:
        self.course.advance(
            Step(
                self.some_facts(delete),
                self.some_facts(insert),
                self.some_rules(add, self.writer.pool),
                self.some_rules(remove, self.course.rules),
                dice,
            )
        )


TestMaintenance = Maintenance.TestCase
TestMaintenance.settings = settings(
    max_examples=amount(some(40), 2),
    stateful_step_count=amount(12, 3),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
