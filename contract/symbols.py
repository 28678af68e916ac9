"""The border between the standard names x, y, z and the file's symbols: jobs in, results out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, TypeVar

from contract.base import Document
from contract.datasets import Dataset
from contract.generator import AnalysisParameters, CommittorRequest, PassageRequest, Place
from contract.identification import Constraints, IdentificationParameters, KnownNoise
from contract.jobs import DataJob, Job, overlaid
from contract.results import Model, Notice
from grammar.names import as_written
from grammar.spelling import harmonics_in_values, in_phases, renamed
from grammar.terms import NotATerm, parse, variables_of, velocity_name

KINDS_OF_CONSTRAINTS = ("known", "required", "excluded", "bounds")
"""Fields of constraints that name components and terms."""

J = TypeVar("J", bound=Job)
D = TypeVar("D")

SENTENCES = frozenset(
    ("message", "reason", "comparison_reason", "approximation", "expression", "detail", "hints")
)
"""Fields of results that hold words for people. All others are for programs."""


CLOCK = "t"
"""Name of the time in terms."""


class UnknownWord(ValueError):
    """Error for a word that is no variable's, or may be two variables'."""


@dataclass(frozen=True)
class Symbols:
    """The symbol of each variable, by standard name."""

    symbols: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _standard(self) -> dict[str, str]:
        """Standard name by every word that means one variable alone."""
        ambiguous = {symbol.rstrip("_") for symbol in self.symbols.values() if symbol[-1] == "_"}
        known = {name: name for name in self.symbols if name not in ambiguous}
        return known | {symbol: name for name, symbol in self.symbols.items()}

    @property
    def recorded(self) -> "Symbols":
        """Symbols without those of velocities."""
        return Symbols({n: s for n, s in self.symbols.items() if not n.startswith("v")})

    @property
    def with_clock(self) -> "Symbols":
        """Symbols with the time t, of which forcing is a function."""
        return Symbols({**self.symbols, CLOCK: CLOCK})

    def standard(self, word: str) -> str:
        """Return the standard name that a word means. Raises UnknownWord."""
        word = as_written(word)
        if word in self._standard:
            return self._standard[word]
        if word in self.symbols:
            other = self.symbols[word]
            raise UnknownWord(f"{word!r} may be a column or the standard name of {other}")
        raise UnknownWord(f"{word!r} is not a variable here")

    def may_be(self, word: str) -> bool:
        """Return whether a word is a variable's, or may be."""
        return word in self._standard or word in self.symbols

    def standard_pair(self, pair: str) -> str:
        """Return the key of a pair such as `x,y`. Raises UnknownWord."""
        return ",".join(self.standard(word.strip()) for word in pair.split(","))

    def component(self, what: str, key: str) -> str:
        """Return the key of a component of `drift` or `diffusion`. Raises UnknownWord."""
        if what == "drift":
            return self.standard(key)
        words = key.split(",")
        if len(words) != 2:
            raise UnknownWord(f"{key!r} is no pair of variables such as x,x or x,y")
        order = list(self.symbols)
        return ",".join(sorted((self.standard(w.strip()) for w in words), key=order.index))

    def standard_term(self, term: str, periods: Mapping[str, float]) -> str:
        """Return a term in standard names and phases of angles.

        periods   period of each angle, by standard name

        Raises UnknownWord; ValueError for a term that is no function on an angle's circle.
        """
        term = as_written(term)
        try:
            words = variables_of(parse(term))
        except NotATerm:
            return term
        return in_phases(renamed(term, {word: self.standard(word) for word in words}), periods)

    def sentence(self, text: str, periods: Mapping[str, float]) -> str:
        """Return a sentence of the core in the file's symbols, with harmonics in angles' values."""
        return renamed(harmonics_in_values(text, periods), self.symbols)


def symbols_of_dataset(dataset: Dataset) -> Symbols:
    """Return the symbols of a dataset's variables, and of their velocities.

    The velocity of a single variable is v, unless that is the variable itself; other velocities
    have the symbol of their variable in theirs: v_Position.
    """
    symbols = {variable.name: variable.symbol for variable in dataset.report.variables}
    names = list(symbols)
    for i, name in enumerate(names):
        symbol = f"v_{symbols[name]}" if len(names) > 1 or symbols[name] == "v" else "v"
        while symbol in symbols.values():
            symbol += "_"
        symbols[velocity_name(i, len(names))] = symbol
    return Symbols(symbols | {variable.name: variable.symbol for variable in dataset.report.inputs})


def job_in_standard_names(job: J, symbols: Symbols) -> J:
    """Return a job whose parameters name variables by x, y, z. Raises UnknownWord, ValueError."""
    changes: dict[str, Any] = {}
    # Words that a job's forcing does not know were refused before.
    if CLOCK not in symbols.symbols.values():
        symbols = symbols.with_clock
    analysis = getattr(job, "analysis", None)
    if isinstance(analysis, AnalysisParameters):
        changes["analysis"] = _analysis(analysis, symbols)
    if isinstance(job, DataJob):
        changes["parameters"] = IdentificationParameters.model_validate(
            _parameters(job.parameters.model_dump(), symbols, {})
        )
        variants = getattr(job, "variants", ())
        if variants:
            base = changes["parameters"].model_dump()
            changes["variants"] = tuple(_parameters(v, symbols, base) for v in variants)
    return job.model_copy(update=changes)


def faults_of_words(
    parameters: IdentificationParameters, symbols: Symbols
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the place and the fault of every word that names no variable.

    Velocities are variables where the job says so.
    """
    symbols = symbols if parameters.with_velocities else symbols.recorded
    if parameters.forcing.any:
        if symbols.may_be(CLOCK):
            yield (
                ("forcing",),
                f"a variable is called {CLOCK}, the name of the time: give it another one in "
                "layout.state_names",
            )
            return
        symbols = symbols.with_clock
    periods: dict[str, float] = {}
    for name in ("periodic", "domain"):
        for word, value in getattr(parameters, name).items():
            try:
                standard = symbols.standard(word)
            except UnknownWord as error:
                yield (name, word), str(error)
            else:
                if standard[0] in ("u", CLOCK):
                    yield (name, word), f"{word!r} is an input, which has no equation"
                elif name == "periodic" and standard not in symbols.recorded.symbols:
                    yield (name, word), f"{word!r} is a velocity, which is no angle"
                periods |= {standard: value} if name == "periodic" else {}
    yield from _faults_of_constraints(parameters.constraints, symbols, periods)
    if isinstance(parameters.measurement_noise, KnownNoise):
        errors = parameters.measurement_noise.std_error
        for word in errors if isinstance(errors, Mapping) else ():
            try:
                symbols.standard(word)
            except UnknownWord as error:
                yield ("measurement_noise", "std_error", word), str(error)
    for number, term in enumerate(parameters.library.extra_terms):
        try:
            symbols.standard_term(term, periods)
        except ValueError as error:
            yield ("library", "extra_terms", str(number)), str(error)


def _faults_of_constraints(
    constraints: Constraints, symbols: Symbols, periods: Mapping[str, float]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the place and the fault of every word in constraints that names no variable."""
    parts: list[tuple[tuple[str, ...], Any]] = [
        *(((kind,), getattr(constraints, kind)) for kind in KINDS_OF_CONSTRAINTS),
        *((("equalities", str(i)), equality) for i, equality in enumerate(constraints.equalities)),
    ]
    for (kind, part), what in product(parts, ("drift", "diffusion")):
        for component, terms in getattr(part, what).items():
            place = ("constraints", *kind, what, component)
            try:
                symbols.component(what, component)
            except UnknownWord as error:
                yield place, str(error)
                continue
            for number, term in enumerate(terms):
                try:
                    symbols.standard_term(term, periods)
                except ValueError as error:
                    named = isinstance(terms, Mapping)
                    yield (*place, term if named else str(number)), str(error)


def _constraints(given: Mapping[str, Any], symbols: Symbols, periods: Mapping[str, float]) -> Any:
    """Rename the variables in constraints."""

    def renamed_components(what: str, components: Mapping[str, Any]) -> dict[str, Any]:
        return {
            symbols.component(what, component): {
                symbols.standard_term(term, periods): value for term, value in terms.items()
            }
            if isinstance(terms, Mapping)
            else tuple(symbols.standard_term(term, periods) for term in terms)
            for component, terms in components.items()
        }

    def part(given: Mapping[str, Any]) -> dict[str, Any]:
        return {
            what: renamed_components(what, value) if what in ("drift", "diffusion") else value
            for what, value in given.items()
        }

    made = dict(given)
    for kind in KINDS_OF_CONSTRAINTS:
        if kind in given:
            made[kind] = part(given[kind])
    if "equalities" in given:
        made["equalities"] = tuple(part(equality) for equality in given["equalities"])
    return made


def _parameters(given: Mapping[str, Any], symbols: Symbols, base: dict[str, Any]) -> dict[str, Any]:
    """Rename the variables in parameters, or in a variant that is merged into `base`."""
    made = dict(given)
    for name in ("periodic", "domain"):
        if name in made:
            made[name] = {symbols.standard(word): value for word, value in made[name].items()}
    periods = overlaid(base, made).get("periodic") or {}
    library = made.get("library")
    if isinstance(library, Mapping) and library.get("extra_terms"):
        terms = tuple(symbols.standard_term(term, periods) for term in library["extra_terms"])
        made["library"] = {**library, "extra_terms": terms}
    noise = made.get("measurement_noise")
    if isinstance(noise, Mapping) and isinstance(noise.get("std_error"), Mapping):
        errors = {symbols.standard(word): value for word, value in noise["std_error"].items()}
        made["measurement_noise"] = {**noise, "std_error": errors}
    if isinstance(made.get("constraints"), Mapping):
        made["constraints"] = _constraints(made["constraints"], symbols, periods)
    return made


def _analysis(asked: AnalysisParameters, symbols: Symbols) -> AnalysisParameters:
    return asked.model_copy(
        update={
            "passages": tuple(_between(pair, symbols) for pair in asked.passages),
            "committors": tuple(_between(pair, symbols) for pair in asked.committors),
            "inputs": {
                symbols.standard(word) if symbols.may_be(word) else word: value
                for word, value in asked.inputs.items()
            },
        }
    )


R = TypeVar("R", PassageRequest, CommittorRequest)


def _between(pair: R, symbols: Symbols) -> R:
    return pair.model_copy(
        update={"from_": _place(pair.from_, symbols), "to": _place(pair.to, symbols)}
    )


def _place(place: Place, symbols: Symbols) -> Place:
    if not isinstance(place, dict):
        return place
    # The analysis answers a region of unknown variables with a reason.
    return {
        symbols.standard(word) if symbols.may_be(word) else word: ends
        for word, ends in place.items()
    }


def in_words(
    value: D, symbols: Symbols, periods: Mapping[str, float], given: tuple[Notice, ...] = ()
) -> D:
    """Return a document whose sentences and formulas call the variables by their symbols.

    periods   period of each angle, by standard name
    given     warnings of the reader, which speaks of columns from the beginning
    """
    if isinstance(value, Document):
        if isinstance(value, Notice) and value in given:
            return value
        model = value if isinstance(value, Model) else getattr(value, "model", None)
        periods = model.periodic if isinstance(model, Model) else periods
        changes: dict[str, Any] = {}
        for name in type(value).model_fields:
            before = getattr(value, name)
            after = (
                _spoken(before, symbols, periods)
                if name in SENTENCES
                else in_words(before, symbols, periods, given)
            )
            if after is not before:
                changes[name] = after
        if isinstance(value, Model):
            said = {*symbols.recorded.symbols, *value.drift}
            changes["symbols"] = {n: s for n, s in symbols.symbols.items() if n in said}
        return value.model_copy(update=changes) if changes else value
    if isinstance(value, dict) and any(isinstance(inside, Document) for inside in value.values()):
        return {k: in_words(v, symbols, periods, given) for k, v in value.items()}  # type: ignore[return-value]
    if isinstance(value, tuple) and value and isinstance(value[0], Document):
        return tuple(in_words(item, symbols, periods, given) for item in value)  # type: ignore[return-value]
    return value


def _spoken(value: Any, symbols: Symbols, periods: Mapping[str, float]) -> Any:
    if isinstance(value, str):
        return symbols.sentence(value, periods)
    if isinstance(value, tuple):
        return tuple(symbols.sentence(text, periods) for text in value)
    return value
