"""What threads share without a lock of the knowledge base: the dictionary, and the numbers of a closure's values."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from random import Random

import numpy as np
import pytest

from holdfast.modules.edges import Numbering
from holdfast.values import Iri, Record, Type
from holdfast.values.dictionary import Dictionary
from holdfast.values.structures import RecordForm

THREADS = 4


@pytest.fixture(autouse=True)
def _many_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], None]) -> None:
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures and not any(thread.is_alive() for thread in threads)


def test_each_value_has_one_id() -> None:
    dictionary, form = Dictionary(), RecordForm("", 2)

    def work(number: int) -> None:
        dice = Random(number)
        for turn in range(150):
            words = [f"word {dice.randrange(turn + 5)}" for _ in range(6)]
            assert dictionary.decode_values(dictionary.encode_values([*words], Type.SYMBOL), Type.SYMBOL) == words
            iri = Iri(f"http://example.org/{dice.randrange(turn + 5)}")
            assert dictionary.value_of(dictionary.id_of(iri)) == iri
            numbers = [dice.randrange(-turn - 5, turn + 5) for _ in range(4)]
            assert dictionary.decode_values(dictionary.encode_values([*numbers], Type.ANY), Type.ANY) == numbers
            record = Record((dice.randrange(turn + 5), words[0]))
            assert dictionary.value_of(dictionary.id_of(record)) == record
            column = np.array([dictionary.id_of(word) for word in words[:3]], np.int64)
            ids = dictionary.make_records(form, [column, column], [Type.SYMBOL, Type.SYMBOL], 3)
            assert [dictionary.value_of(int(id)) for id in ids] == [Record((word, word)) for word in words[:3]]

    together(work)
    values = [dictionary.value_of(id) for id in range(len(dictionary))]
    assert len({(type(value), value) for value in values}) == len(values), "a value has two ids"
    assert all(dictionary.find(value) == id for id, value in enumerate(values))


def test_numbers_of_values_are_read_while_others_come() -> None:
    numbering, done = Numbering(), threading.Event()
    numbering.enter(np.arange(0, 2000, 2))

    def work(number: int) -> None:
        dice = np.random.default_rng(number)
        if not number:
            for begin in range(1, 2000, 8):
                numbering.enter(np.arange(begin, begin + 8, 2))
            done.set()
        while not done.is_set():
            values = dice.integers(0, 2000, 50)
            found = numbering.numbers(values)
            known = found >= 0
            assert (numbering.values[found[known]] == values[known]).all()
            assert known[values % 2 == 0].all()

    together(work)
