"""Facts of the university workload, in the manner of LUBM, from a fixed seed; people and things are numbers."""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from random import Random

from bench.graphs import Facts, Row

# rank, how many in a department from and to, publications of each from and to
RANKS = (
    ("fullProfessor", 7, 10, 15, 20),
    ("associateProfessor", 10, 14, 10, 18),
    ("assistantProfessor", 8, 11, 5, 10),
    ("lecturer", 5, 7, 0, 5),
)
DEGREES = ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom")
PUBLICATIONS = ("journalArticle", "conferencePaper", "technicalReport", "book", "software")


def universities(number: int, departments: tuple[int, int] = (15, 25)) -> Facts:
    """So many universities, each with a number of departments between the two."""
    campus = Campus()
    campus.universities = [campus.new("university") for _ in range(number)]
    for university in campus.universities:
        campus.colleges(university)
        for _ in range(campus.random.randint(*departments)):
            Department(campus, university).fill()
    return {relation: sorted(rows) for relation, rows in campus.facts.items()}


class Campus:
    """The facts so far, the next free number, and the one source of chance."""

    def __init__(self) -> None:
        self.random = Random(7)
        self.facts: defaultdict[str, set[Row]] = defaultdict(set)
        self.universities: list[int] = []
        self._numbers = count()

    def add(self, relation: str, *row: int) -> None:
        """One more fact."""
        self.facts[relation].add(row)

    def new(self, kind: str) -> int:
        """Someone or something new of a class."""
        number = next(self._numbers)
        self.add(kind, number)
        return number

    def colleges(self, university: int) -> None:
        """Two colleges, each with a dean."""
        for _ in range(2):
            college = self.new("college")
            self.add("subOrganizationOf", college, university)
            self.add("headOf", self.new("fullProfessor"), college)


class Department:
    """One department while it is filled: first its groups, then its staff, then its students."""

    def __init__(self, campus: Campus, university: int) -> None:
        self.campus, self.random = campus, campus.random
        self.number = campus.new("department")
        campus.add("subOrganizationOf", self.number, university)
        self.groups: list[int] = []
        self.faculty: list[int] = []
        self.professors: list[int] = []
        self.courses: list[int] = []
        self.graduate_courses: list[int] = []
        self.publications: list[int] = []

    def fill(self) -> None:
        """Make everything of the department; each draw comes after the one before it, or the facts change."""
        self._groups()
        for rank, low, high, *publications in RANKS:
            for _ in range(self.random.randint(low, high)):
                self._teacher(rank, *publications)
        self.campus.add("headOf", self.professors[0], self.number)
        students = [self._undergraduate() for _ in range(len(self.faculty) * self.random.randint(8, 14))]
        students += [self._graduate() for _ in range(len(self.faculty) * self.random.randint(3, 4))]
        for student in students:
            self._acquaintances(student, students)

    def _groups(self) -> None:
        new, add = self.campus.new, self.campus.add
        self.groups = [new("researchGroup") for _ in range(self.random.randint(10, 20))]
        for group in self.groups:
            add("subOrganizationOf", group, self.number)
        for _ in range(self.random.randint(1, 3)):
            add("subOrganizationOf", new("institute"), self.random.choice(self.groups))

    def _teacher(self, rank: str, fewest: int, most: int) -> None:
        new, add, random = self.campus.new, self.campus.add, self.random
        teacher = new(rank)
        self.faculty.append(teacher)
        if rank != "lecturer":
            self.professors.append(teacher)
        add("worksFor", teacher, self.number)
        for degree in DEGREES:
            add(degree, teacher, random.choice(self.campus.universities))
        self._lessons(teacher)
        for _ in range(random.randint(fewest, most)):
            publication = new(random.choice(PUBLICATIONS))
            self.publications.append(publication)
            add("publicationAuthor", publication, teacher)
        add("researchInterest", teacher, random.choice(self.groups))

    def _lessons(self, teacher: int) -> None:
        for kind, taught in (("course", self.courses), ("graduateCourse", self.graduate_courses)):
            for _ in range(self.random.randint(1, 2)):
                taught.append(self.campus.new(kind))
                self.campus.add("teacherOf", teacher, taught[-1])

    def _undergraduate(self) -> int:
        student = self._student("undergraduateStudent")
        self._takes(student, self.courses, 2, 4)
        if self.random.random() < 0.2:
            self.campus.add("advisor", student, self.random.choice(self.professors))
        return student

    def _graduate(self) -> int:
        student, add, random = self._student("graduateStudent"), self.campus.add, self.random
        add("undergraduateDegreeFrom", student, random.choice(self.campus.universities))
        add("advisor", student, random.choice(self.professors))
        self._takes(student, self.graduate_courses, 1, 3)
        for _ in range(random.randint(0, 3)):
            add("publicationAuthor", random.choice(self.publications), student)
        if random.random() < 0.2:
            add("teachingAssistantOf", student, random.choice(self.courses))
        elif random.random() < 0.25:
            add("researchAssistantOf", student, random.choice(self.groups))
        return student

    def _student(self, kind: str) -> int:
        student = self.campus.new(kind)
        self.campus.add("memberOf", student, self.number)
        return student

    def _takes(self, student: int, courses: list[int], fewest: int, most: int) -> None:
        for course in self.random.sample(courses, self.random.randint(fewest, most)):
            self.campus.add("takesCourse", student, course)

    def _acquaintances(self, student: int, students: list[int]) -> None:
        if self.random.random() < 0.05:
            self.campus.add("hasSameHomeTownWith", student, self.random.choice(students))
        if self.random.random() < 0.3:
            self.campus.add("isFriendOf", student, self.random.choice(students))
