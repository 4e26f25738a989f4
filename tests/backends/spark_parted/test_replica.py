"""A replica gives every value the code that the driver's dictionary gives it, and asks only when it has to."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import Pipe
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.backends.spark_parted.replica import ReplicaDictionary, codes_by, serve_values
from holdfast.values import BlankNode, Iri, Literal, Type
from holdfast.values.dictionary import Dictionary, EncodingError
from holdfast.values.model import Record
from holdfast.values.structures import RecordForm

terms = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=3),
    st.integers(-3, 3),
    st.floats(-2, 2),
    st.builds(Iri, st.sampled_from(["http://a", "http://b"])),
    st.builds(BlankNode, st.sampled_from("xy")),
    st.builds(Literal, st.sampled_from(["a", "b"]), st.none(), st.sampled_from(["en", "de"])),
)


class Replicas:
    """Replicas of one dictionary."""

    def __init__(self) -> None:
        self.driver, self.made = Dictionary(), list[ReplicaDictionary]()

    def new(self) -> ReplicaDictionary:
        replica = ReplicaDictionary()
        mine, theirs = Pipe()
        replica.connection = mine
        Thread(target=serve_values, args=(theirs, self.driver), daemon=True).start()
        self.made.append(replica)
        return replica

    def close(self) -> None:
        for replica in self.made:
            assert replica.connection is not None
            replica.connection.close()


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    made = Replicas()
    yield made
    made.close()


@given(st.lists(st.tuples(st.integers(0, 2), terms), max_size=30))
def test_one_code_for_a_value_wherever_it_comes_first(given: list[tuple[int, Any]]) -> None:
    made = Replicas()
    places = [made.driver, made.new(), made.new()]
    codes = [places[where].encode_value(value, Type.ANY) for where, value in given]
    for where, place in enumerate(places):
        if isinstance(place, ReplicaDictionary):
            place.newest = len(made.driver)
        assert [place.encode_value(value, Type.ANY) for _, value in given] == codes, where
        decoded = place.decode_values(np.array(codes, np.int64), Type.ANY)
        assert list(map(repr, decoded)) == list(map(repr, made.driver.decode_values(np.array(codes), Type.ANY)))
    made.close()


def test_strings_that_are_asked_for_together_take_one_question(replicas: Replicas, monkeypatch: Any) -> None:
    replicas.driver.encode_strings(["a", "b", "c"])
    replica, questions = replicas.new(), list[object]()
    ask = replica._ask
    monkeypatch.setattr(replica._ids, "_ask", lambda *asked: (questions.append(asked), ask(*asked)))
    assert replica.encode_strings(["c", "x", "a", "y", "x"]).tolist() == [2, 3, 0, 4, 3]
    assert replica.encode_distinct_strings(["y", "b", "z"]).tolist() == [4, 1, 5]
    assert len(questions) == 2
    assert replica.encode_strings(["z", "a"]).tolist() == [5, 0]
    assert len(questions) == 2


def test_numbers_need_no_driver() -> None:
    replica = ReplicaDictionary()  # which has no connection
    replica.newest = 10
    assert replica.encode_value(-5, Type.NUMBER) == -5
    assert replica.decode_values(np.array([7]), Type.NUMBER) == [7]
    assert replica.order_keys(np.array([7, -1]), Type.NUMBER).tolist() == [7, -1]
    assert replica.encode_rows([(1, 2.5)], [Type.NUMBER, Type.FLOAT]).shape == (1, 2)


def test_what_others_made_is_fetched_when_it_is_decoded(replicas: Replicas) -> None:
    one, two = replicas.new(), replicas.new()
    code = one.encode_value("made here", Type.SYMBOL)
    two.newest = code + 1
    assert two.decode_values(np.array([code]), Type.SYMBOL) == ["made here"]
    two.newest = replicas.driver.id_of("later") + 1
    assert two.order_keys(np.array([code, code + 1])).tolist() == [1, 0]  # "later" comes before "made here"


def test_records_are_made_by_the_driver(replicas: Replicas) -> None:
    form, (one, two) = RecordForm(None, 2), (replicas.new(), replicas.new())
    replicas.driver.encode_strings(["filler"])
    names = one.encode_strings(["x", "y"])
    made = one.make_records(form, [names, np.array([1, 2])], [Type.SYMBOL, Type.NUMBER], 2)
    two.newest = len(replicas.driver)
    assert two.have_form(form, made).all()
    assert two.take_field(form, made, 1, Type.NUMBER).tolist() == [1, 2]
    assert two.decode_values(made, Type.RECORD) == [Record(("x", 1), None), Record(("y", 2), None)]
    assert two.make_records(form, [names, np.array([1, 2])], [Type.SYMBOL, Type.NUMBER], 2).tolist() == made.tolist()
    nested = Record((Record(("z", 9), None), 1), None)
    assert two.id_of(nested) == replicas.driver.id_of(nested) == one.id_of(nested)


def test_a_value_that_does_not_fit_is_refused_here_too(replicas: Replicas) -> None:
    with pytest.raises(EncodingError):
        replicas.new().encode_value("half a character \ud800", Type.SYMBOL)
    assert len(replicas.driver) == 0


def test_codes_alone(replicas: Replicas) -> None:
    replica = replicas.new()
    assert replica.connection is not None
    assert codes_by(replica.connection, ["b", "a", "b"]).tolist() == [0, 1, 0]
    assert codes_by(replica.connection, [1, "a", Iri("http://a")]).tolist() == [2, 1, 3]
    assert len(replica) == 0
