"""Facts for the rules of Claros-LE: no data of Claros itself can be had that is more than a list of images.

Collections of documents, images, objects and places.  Documents of a collection refer to its places, which makes them
related, symmetrically and transitively: the large cliques that the papers call its difficulty.  Places fall within
places, objects are composed of objects.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random

from bench.graphs import Facts, Row

PLACES = 80  # of a collection


def facts(collections: int, places: int = PLACES) -> Facts:
    """So many collections, with so many places each and twice as many documents, images and objects."""
    random, found = Random(11), defaultdict[str, set[Row]](set)
    for number in range(collections):
        _collection(random, found, number * 10 * places, places)
    return {relation: sorted(rows) for relation, rows in found.items()}


def _collection(random: Random, found: dict[str, set[Row]], first: int, places: int) -> None:
    documents, images, objects = first + 2 * places, first + 4 * places, first + 6 * places
    for place in range(places):
        found["a1:E53_Place"].add((first + place,))
        if place:  # a tree that is some six places deep
            found["a1:P89_falls_within"].add((first + place, first + random.randrange(max(0, place - 40), place)))
    for number in range(2 * places):
        found["a1:E31_Document"].add((documents + number,))
        found["a1:E38_Image"].add((images + number,))
        found["a1:E22_Man-Made_Object"].add((objects + number,))
        found["a1:P138_represents"].add((images + number, objects + random.randrange(2 * places)))
        found["a1:P55_has_current_location"].add((objects + number, first + random.randrange(places)))
        if number % 4:  # three parts of the first of four
            found["a1:P46_is_composed_of"].add((objects + number - number % 4, objects + number))
    for document in range(places // 2):
        for _ in range(3):
            found["a1:P67_refers_to"].add((documents + document, first + random.randrange(places)))
        found["a1:P70_documents"].add((documents + document, objects + random.randrange(2 * places)))
