"""Open a knowledge base with a store: create it, resume it, or migrate it to another program."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from holdfast.errors import Diagnostic, UsageError
from holdfast.knowledge.derived_cache import Derived, StaleCacheError
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.loading import Loaded, load
from holdfast.knowledge.recipes import Evaluate
from holdfast.knowledge.relations import missing
from holdfast.knowledge.stored_facts import ReadFrame, load_stored, refuse_other_types
from holdfast.knowledge.updating import MOST_TOGETHER, changes_rules
from holdfast.language import parse, tree
from holdfast.language.printer import show, show_rule
from holdfast.program import check
from holdfast.program.impact import impact
from holdfast.program.maintainable import maintainable, with_relations
from holdfast.store.contents import LoggedCommit, unpack
from holdfast.store.derived import read_cache
from holdfast.store.manifests import damaged
from holdfast.store.opening import create_store, exists, open_store
from holdfast.store.reading import StoreContents, read_store
from holdfast.store.records import LogRecord
from holdfast.store.writing import Store
from holdfast.updates import Update
from holdfast.values.dictionary import Dictionary

_SHOWN = 8  # rules quoted in a message


def with_store(
    program: tree.Program, folder: Path, evaluate: Evaluate, resume: Evaluate, *, migrate: bool
) -> KnowledgeBase:
    """A knowledge base kept in a store: a new one, or the existing one.

    `resume` evaluates without the given facts, so that they need not be kept.
    """
    source = source_hash(program)
    if not exists(folder):
        kb = evaluate(program)
        store = create_store(folder, kb.stored_as(source))
        kb.keep_derived(store)
        kb.attach(store, earlier(folder, resume))
        return kb
    store, stored = open_store(folder)
    try:
        kb = resumed(stored, evaluate, store)
        if stored.manifest.source != source:
            if not migrate:
                raise _other_program(folder, kb, program)
            version, facts = kb.version, _facts_of(kb)
            kb = evaluate(program, lambda tree, dictionary: load(tree, facts, dictionary))
            kb.start_at(version + 1)
            store.rotate(kb.stored_as(source))
            kb.keep_derived(store)
        kb.attach(store, earlier(folder, resume))
        return kb
    except BaseException:
        store.release()
        raise


def from_store(folder: Path, evaluate: Evaluate) -> KnowledgeBase:
    """The knowledge base in a store, with its own program."""
    store, stored = open_store(folder)
    try:
        kb = resumed(stored, evaluate, store)
        kb.attach(store, earlier(folder, evaluate))
    except BaseException:
        store.release()
        raise
    return kb


def earlier(folder: Path, resume: Evaluate) -> Callable[[int], KnowledgeBase]:
    """A function that returns the state at an earlier version of a store."""
    return lambda version: resumed(read_store(folder).at(version), resume)


def resumed(
    stored: StoreContents, evaluate: Evaluate, store: Store | None = None, frame: ReadFrame | None = None
) -> KnowledgeBase:
    """The last state of a store: its snapshot, then the updates since.  `store` caches derived facts.

    `frame` opens what Spark wrote, for the spark engine.
    """
    kb = _snapshot(stored, evaluate, store, frame)
    replay(kb, stored.log.applied(), stored.folder)
    kb.start_at(stored.version)
    return kb


def _snapshot(stored: StoreContents, evaluate: Evaluate, store: Store | None, frame: ReadFrame | None) -> KnowledgeBase:
    """The state of the snapshot, from the cache of derived facts if it is usable, else evaluated."""
    manifest = stored.manifest
    facts: dict[str, list[Path]] = {}
    for file in manifest.facts:
        facts.setdefault(file.relation, []).append(stored.folder / file.path)
    program = parse(manifest.program, "<store>")

    def from_cache(given: tree.Program, dictionary: Dictionary) -> Loaded:
        limit = partial(dictionary.memory.check, "facts that are loaded")
        state = read_cache(stored.folder / manifest.derived, manifest.to_bytes(), limit)
        if state is None:
            raise StaleCacheError
        return load_stored(given, manifest.relations, facts, dictionary, Derived(state))

    with suppress(StaleCacheError):
        return evaluate(program, from_cache)
    loader = partial(load_stored, relations=manifest.relations, facts=facts, frame=frame)
    kb = evaluate(program, lambda given, dictionary: loader(given, dictionary=dictionary))
    if store is not None:
        kb.keep_derived(store)
    return kb


def replay(kb: KnowledgeBase, records: Sequence[LogRecord], folder: Path) -> None:
    """Apply logged updates; updates of facts are merged, skipping the states between them."""
    waiting: list[Update] = []
    for record in records:
        for logged in _logged(record, folder).updates:
            if changes_rules(logged.update) or len(waiting) == MOST_TOGETHER:
                _apply(kb, waiting)
                waiting = []
            if changes_rules(logged.update):
                kb.apply(logged.update)
                refuse_other_types(kb.program, logged.types)
            else:
                waiting.append(logged.update)
    _apply(kb, waiting)


def _apply(kb: KnowledgeBase, updates: Sequence[Update]) -> None:
    if updates:
        kb.apply_net(updates)


def _logged(record: LogRecord, folder: Path) -> LoggedCommit:
    try:
        return unpack(record.content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(folder, f"the record of version {record.version} cannot be read: {error}") from error


def source_hash(program: tree.Program) -> str:
    """A hash of a program's text without comments and layout."""
    return hashlib.sha256(show(program).encode()).hexdigest()


def _facts_of(kb: KnowledgeBase) -> Mapping[str, object]:
    return {name: view.to_arrow() for name in kb if len(view := kb.explicit(name))}


def _other_program(folder: Path, kb: KnowledgeBase, program: tree.Program) -> UsageError:
    """The error for a changed program, with what migrating to it would do."""
    old, new = _rules(parse(kb.rules_text(), "<store>")), _rules(program)
    notes = [f"it no longer has: {rule}" for rule in old if rule not in new]
    notes += [f"it also has: {rule}" for rule in new if rule not in old]
    more = [f"and {len(notes) - _SHOWN} more rules"] if len(notes) > _SHOWN else []
    types = {(name, i): type for name, r in kb.program.relations.items() for i, type in enumerate(r.types)}
    checked = maintainable(check(program, types))
    nodes = impact(kb.program, with_relations(checked, missing(kb.program, checked)))
    touched = [name for node in nodes for name in node.relations]
    brought = [f"migrating brings up to date: {', '.join(touched[:_SHOWN])}"] if touched else []
    message = f"the program is not the one that the store {folder.as_posix()} was made with"
    help = "open it with migrate=True to go on with the new program, or by its folder alone to keep the old one"
    return UsageError(Diagnostic("E1307", message, notes=(*notes[:_SHOWN], *more, *brought), help=help))


def _rules(program: tree.Program) -> list[str]:
    """The rules of a program as text, without their names."""
    rules = [item for item in program.items if isinstance(item, tree.Rule) and item.body is not None]
    return [" ".join(show_rule(rule).split("\n")[len(rule.attributes) :]) for rule in rules]
