"""Universities in the manner of UOBM: LUBM's with more links between people, and rules that derive a fact many times.

What makes UOBM harder than LUBM for maintenance: a property that is symmetric and transitive over many people (the
same home town), inverse and symmetric properties whose facts derive each other, and classes and properties that hold
for many reasons at once (knowing somebody from the course, the town, the hobby).
"""

from __future__ import annotations

from random import Random

from bench import ontology
from bench.graphs import Facts, Row
from bench.universities import universities

RULES = """
knows(x, y) :- hasSameHomeTownWith(x, y).
knows(x, y) :- isClassmateOf(x, y).
knows(x, y) :- sharesHobbyWith(x, y).
knows(y, x) :- knows(x, y).
isClassmateOf(x, y) :- takesCourse(x, c), takesCourse(y, c), graduateCourse(c).
sharesHobbyWith(x, y) :- likes(x, h), likes(y, h), memberOf(x, g), memberOf(y, g), researchGroup(g).
likes(x, h) :- isCrazyAbout(x, h).
loves(x, h) :- isCrazyAbout(x, h).
isLikedBy(h, x) :- likes(x, h).
likes(x, h) :- isLikedBy(h, x).
personWithHobby(x) :- likes(x, h).
sportsLover(x) :- likes(x, h), sport(h).
sportsFan(x) :- isCrazyAbout(x, h), sport(h).
sportsLover(x) :- sportsFan(x).
person(x) :- personWithHobby(x).
person(x) :- sportsLover(x).
peopleWithManyAcquaintances(x) :- knows(x, y), knows(x, z), y != z.
womanCollegeStudent(x) :- student(x), memberOf(x, g), college(g).
enrolledIn(x, u) :- student(x), memberOf(x, g), subOrganizationOf(g, u), university(u).
hasStudent(u, x) :- enrolledIn(x, u).
enrolledIn(x, u) :- hasStudent(u, x).
memberOf(x, g) :- researchAssistantOf(x, g).
memberOf(x, g) :- researchInterest(x, g).
"""
HOBBIES = 12
_NEIGHBOURS = 0.6  # of the students have one from the same town


def program() -> str:
    """LUBM's rules and these."""
    return ontology.program() + RULES.lstrip()


def facts(number: int, departments: tuple[int, int] = (15, 25)) -> Facts:
    """So many universities."""
    found = {name: list(rows) for name, rows in universities(number, departments).items()}
    random, hobbies = Random(12), [10**8 + hobby for hobby in range(HOBBIES)]
    found["sport"] = [(hobby,) for hobby in hobbies[::2]]
    members = dict[int, list[int]]()
    for person, department in found["memberOf"]:
        members.setdefault(department, []).append(person)
    towns, likes, crazy = set[Row](found.get("hasSameHomeTownWith", ())), set[Row](), set[Row]()
    for people in members.values():
        for person in people:
            if random.random() < _NEIGHBOURS:
                towns.add((person, random.choice(people)))
            if random.random() < 0.5:
                (crazy if random.random() < 0.2 else likes).add((person, random.choice(hobbies)))
    return {**found, "hasSameHomeTownWith": sorted(towns), "likes": sorted(likes), "isCrazyAbout": sorted(crazy)}
