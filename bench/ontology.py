"""The rules of the university workload: an ontology in the manner of LUBM, as OWL 2 RL would have it in Datalog.

A class is a relation of one column, a property one of two.
"""

from __future__ import annotations

from collections.abc import Iterator

SUBCLASSES = {
    "person": "employee student director teachingAssistant researchAssistant",
    "employee": "faculty administrativeStaff",
    "administrativeStaff": "clericalStaff systemsStaff",
    "faculty": "professor postDoc lecturer",
    "professor": "fullProfessor associateProfessor assistantProfessor visitingProfessor chair dean",
    "student": "undergraduateStudent graduateStudent",
    "organization": "university department college institute researchGroup program",
    "work": "course research",
    "course": "graduateCourse",
    "publication": "article book manual software specification",
    "article": "journalArticle conferencePaper technicalReport",
}
SUBPROPERTIES = {
    "memberOf": "worksFor",
    "worksFor": "headOf",
    "degreeFrom": "undergraduateDegreeFrom mastersDegreeFrom doctoralDegreeFrom",
    "knows": "isFriendOf advisor coAuthor",
}
DOMAINS = {
    "person": "advisor takesCourse memberOf degreeFrom knows headOf",
    "faculty": "teacherOf",
    "employee": "worksFor",
    "publication": "publicationAuthor",
    "organization": "subOrganizationOf",
    "teachingAssistant": "teachingAssistantOf",
    "researchAssistant": "researchAssistantOf",
}
RANGES = {
    "professor": "advisor",
    "course": "teacherOf takesCourse teachingAssistantOf",
    "organization": "memberOf subOrganizationOf",
    "university": "degreeFrom",
    "person": "publicationAuthor knows",
    "researchGroup": "researchAssistantOf researchInterest",
}
INVERSES = {
    "degreeFrom": "hasAlumnus",
    "memberOf": "member",
    "publicationAuthor": "authorOf",
    "advisor": "advises",
    "teacherOf": "taughtBy",
    "worksFor": "employs",
}
TRANSITIVE = "subOrganizationOf hasSameHomeTownWith"
SYMMETRIC = "hasSameHomeTownWith isFriendOf colleagueOf"
CHAINS = {  # the first, then the second, make the property
    "coAuthor": "authorOf publicationAuthor",
    "memberOf": "memberOf subOrganizationOf",
    "colleagueOf": "worksFor employs",
    "hasTeacher": "takesCourse taughtBy",
}
DEFINED = {  # a person with this property to something of that class
    "chair": "headOf department",
    "dean": "headOf college",
    "director": "headOf program",
    "student": "takesCourse course",
    "employee": "worksFor organization",
    "teachingAssistant": "teachingAssistantOf course",
}


def program() -> str:
    """All rules, as text."""
    return "\n".join([*_hierarchies(), *_properties(), *_definitions()]) + "\n"


def _hierarchies() -> Iterator[str]:
    for above, names in SUBCLASSES.items():
        yield from (f"{above}(x) :- {name}(x)." for name in names.split())
    for above, names in SUBPROPERTIES.items():
        yield from (f"{above}(x, y) :- {name}(x, y)." for name in names.split())
    for domain, names in DOMAINS.items():
        yield from (f"{domain}(x) :- {name}(x, y)." for name in names.split())
    for range, names in RANGES.items():
        yield from (f"{range}(y) :- {name}(x, y)." for name in names.split())


def _properties() -> Iterator[str]:
    for one, other in INVERSES.items():
        yield f"{other}(y, x) :- {one}(x, y)."
        yield f"{one}(y, x) :- {other}(x, y)."
    yield from (f"{name}(x, z) :- {name}(x, y), {name}(y, z)." for name in TRANSITIVE.split())
    yield from (f"{name}(y, x) :- {name}(x, y)." for name in SYMMETRIC.split())


def _definitions() -> Iterator[str]:
    for name, (first, second) in ((name, parts.split()) for name, parts in CHAINS.items()):
        yield f"{name}(x, z) :- {first}(x, y), {second}(y, z)."
    for name, (link, target) in ((name, parts.split()) for name, parts in DEFINED.items()):
        yield f"{name}(x) :- {link}(x, y), {target}(y), person(x)."
