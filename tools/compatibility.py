"""Incompatible changes between two OpenAPI documents. /v1 changes only by addition.

What a caller sent must still be accepted, and every status, field and type that it read must still
be declared. Further operations, optional fields, values and statuses may be added.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Schema = Mapping[str, Any]
Direction = Literal["sent", "received"]

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def breaks(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """List what callers of `old` can no longer do or rely on, each with its place."""
    comparison = _Comparison(old, new)
    return list(dict.fromkeys(comparison.paths()))


@dataclass(frozen=True, slots=True)
class _Comparison:
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    _seen: set[tuple[str, str, Direction]] = field(default_factory=set)
    """References already met, so that the comparison of recursive documents ends."""

    def paths(self) -> Iterator[str]:
        for path, item in self.old["paths"].items():
            for method in _METHODS:
                if method not in item:
                    continue
                place = f"{method.upper()} {path}"
                now = self.new["paths"].get(path, {}).get(method)
                if now is None:
                    yield f"{place} is gone"
                else:
                    yield from self._operation(item[method], now, place)

    def _operation(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        if old.get("operationId") != new.get("operationId"):
            before, now = old.get("operationId"), new.get("operationId")
            yield f"{place}: clients that were generated call it {before}, which is now {now}"
        if {} in old.get("security", [{}]) and {} not in new.get("security", [{}]):
            yield f"{place}: a key is always needed now"
        yield from self._parameters(old, new, place)
        yield from self._request(old.get("requestBody"), new.get("requestBody"), f"{place}: body")
        for status, answer in old["responses"].items():
            now = new["responses"].get(status)
            if now is None:
                yield f"{place}: {status} is no longer declared"
                continue
            for name in answer.get("headers", {}):
                if name not in now.get("headers", {}):
                    yield f"{place}: {status} has lost the header {name}"
            yield from self._contents(answer, now, "received", f"{place}: {status}")

    def _parameters(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        before = {(given["in"], given["name"]): given for given in old.get("parameters", [])}
        now = {(given["in"], given["name"]): given for given in new.get("parameters", [])}
        for (where, name), given in before.items():
            at = f"{place}: {where} parameter {name}"
            if (where, name) not in now:
                yield f"{at} is gone"
            else:
                yield from self._schema(
                    given.get("schema", {}), now[where, name].get("schema", {}), "sent", at
                )
        for (where, name), given in now.items():
            if given.get("required") and not before.get((where, name), {}).get("required"):
                yield f"{place}: {where} parameter {name} is required now"

    def _request(self, old: Schema | None, new: Schema | None, place: str) -> Iterator[str]:
        if old is not None and new is None:
            yield f"{place} is no longer taken"
        if new is not None and new.get("required") and not (old or {}).get("required"):
            yield f"{place} is required now"
        if old is not None and new is not None:
            yield from self._contents(old, new, "sent", place)

    def _contents(
        self, old: Schema, new: Schema, direction: Direction, place: str
    ) -> Iterator[str]:
        for media_type, content in old.get("content", {}).items():
            now = new.get("content", {}).get(media_type)
            if now is None:
                yield f"{place}: {media_type} is gone"
            else:
                yield from self._schema(
                    content.get("schema", {}),
                    now.get("schema", {}),
                    direction,
                    f"{place}: {media_type}",
                )

    def _schema(self, old: Schema, new: Schema, direction: Direction, place: str) -> Iterator[str]:
        references = old.get("$ref", ""), new.get("$ref", ""), direction
        if all(references):
            if references in self._seen:
                return
            self._seen.add(references)
        before, now = _alternatives(self.old, old), _alternatives(self.new, new)
        if len(before) == len(now) == 1:
            yield from self._alike(before[0], now[0], direction, place)
            return
        for one in before:
            namesakes = [other for other in now if _word(other) == _word(one)]
            if len(namesakes) == 1:
                yield from self._alike(one, namesakes[0], direction, place)
            elif direction == "received" and "properties" not in one:
                continue  # nobody misses a null or a text that is no longer sent
            elif not any(self._fits(one, other, direction) for other in now):
                yield f"{place}: what was {_word(one)} is no longer there, or is another"
        if direction == "received":
            known = {_word(one) for one in before}
            for other in now:
                # Only those who ask for what is new receive a further document; all receive a
                # null or a text.
                if _word(other) not in known and "properties" not in other:
                    yield f"{place}: may now be {_word(other)}"

    def _fits(self, old: Schema, new: Schema, direction: Direction) -> bool:
        trial = _Comparison(self.old, self.new, set(self._seen))
        return not any(trial._alike(old, new, direction, ""))

    def _alike(self, old: Schema, new: Schema, direction: Direction, place: str) -> Iterator[str]:
        """Compare two schemas without alternatives."""
        before, now = _types(old), _types(new)
        wide, narrow = (now, before) if direction == "sent" else (before, now)
        if wide and not (narrow and all(_within(kind, wide) for kind in narrow)):
            yield f"{place} was {_word(old)} and is {_word(new)}"
            return
        yield from _values(old, new, direction, place)
        if direction == "sent":
            yield from _bounds(old, new, place)
        yield from self._members(old, new, direction, place)
        for part in ("items", "additionalProperties", "propertyNames"):
            below, now_below = old.get(part, True), new.get(part, True)
            if isinstance(below, dict) and isinstance(now_below, dict):
                yield from self._schema(below, now_below, direction, f"{place}/*")
            elif (
                direction == "sent"
                and below is not False
                and now_below is not True
                and below != now_below
            ):
                yield f"{place}/* is restricted now"
        for number, (one, other) in enumerate(
            zip(old.get("prefixItems", ()), new.get("prefixItems", ()), strict=False)
        ):
            yield from self._schema(one, other, direction, f"{place}/{number}")

    def _members(self, old: Schema, new: Schema, direction: Direction, place: str) -> Iterator[str]:
        before, now = old.get("properties", {}), new.get("properties", {})
        required, required_now = set(old.get("required", ())), set(new.get("required", ()))
        for name, member in before.items():
            if name in now:
                yield from self._schema(member, now[name], direction, f"{place}/{name}")
            elif direction == "received" or new.get("additionalProperties") is False:
                yield f"{place}/{name} is gone"
        if direction == "sent":
            yield from (
                f"{place}/{name} is required now" for name in sorted(required_now - required)
            )
        else:
            yield from (
                f"{place}/{name} may be missing now"
                for name in sorted((required - required_now) & now.keys())
            )


def _alternatives(document: Mapping[str, Any], schema: Schema) -> list[Schema]:
    """Return the schemas of which one must hold, with references resolved."""
    while "$ref" in schema:
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = {**found, **{name: value for name, value in schema.items() if name != "$ref"}}
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return [one for branch in schema[word] for one in _alternatives(document, branch)]
    return [schema]


def _types(schema: Schema) -> list[str]:
    given = schema.get("type", [])
    return [given] if isinstance(given, str) else list(given)


def _within(kind: str, kinds: list[str]) -> bool:
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _word(schema: Schema) -> str:
    """Return a schema's name for use in a sentence."""
    kind = " or ".join(_types(schema)) or "anything"
    return f"{kind} ({schema['title']})" if kind == "object" and "title" in schema else kind


def _listed(schema: Schema) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _values(old: Schema, new: Schema, direction: Direction, place: str) -> Iterator[str]:
    before, now = _listed(old), _listed(new)
    if before is not None and now is not None:
        yield from (f"{place} can no longer be {value!r}" for value in before if value not in now)
    elif before is None and now is not None and direction == "sent":
        yield f"{place} must be one of {now!r} now"
    elif before is not None and now is None and direction == "received":
        yield f"{place} was one of {before!r} and may be anything now"
    default, default_now = old.get("default"), new.get("default")
    if (
        direction == "sent"
        and not isinstance(default, (dict, list))
        and "default" in old
        and default != default_now
    ):
        yield f"{place} left out was {default!r} and is {default_now!r}"


def _bounds(old: Schema, new: Schema, place: str) -> Iterator[str]:
    for word in (*_LOWER, *_UPPER):
        if word in new and (
            word not in old or (new[word] > old[word] if word in _LOWER else new[word] < old[word])
        ):
            yield f"{place}: {word} is {new[word]} now and was {old.get(word, 'open')}"
    for word in ("pattern", "multipleOf", "format"):
        if word in new and new[word] != old.get(word):
            yield f"{place}: {word} is {new[word]} now and was {old.get(word, 'open')}"
