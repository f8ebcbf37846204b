"""The realistic shape of `events`: a few hundred people, some far busier than others, who look and sometimes buy."""

from __future__ import annotations

from typing import NamedTuple

from smelter.contracts import Contract, FieldRules
from smelter.contracts.types import Map, Scalar, Type
from smelter.producer.moments import HOUR_US, At
from smelter.producer.texts import unique_id
from smelter.producer.values import Draw, Maker

_PEOPLE = 400
_PRODUCTS = 1200
_PURCHASES = 0.12
_PAGES_WITHOUT_PRODUCT = 0.15
_BROWSERS = ("Firefox 143", "Chrome 141", "Safari 26", "Edge 141", "Opera 122")
_COUNTRIES = ("DE", "FR", "US", "GB", "NL", "PL", "ES", "SE", "IN", "JP")
_REFERRERS = ("https://www.example.com/search?q=lamp", "https://news.example.org/gifts", "newsletter-46", "direct")
_PLAIN: dict[str, Type] = {
    "user_id": Scalar("string"),
    "event_id": Scalar("string"),
    "event_type": Scalar("string"),
    "product_id": Scalar("string"),
    "properties": Map(Scalar("string")),
}


class _Visit(NamedTuple):
    person: int
    product: int  # 0: a page that shows no product
    is_purchase: bool


class Shopping:
    """Draws one visit per record, so that its fields tell one story."""

    def __init__(self, draw: Draw, run: str) -> None:
        self._random = draw.rng.random
        self._run = run
        self._number = -1
        self._visit = _Visit(0, 0, False)

    def makers(self, contract: Contract) -> dict[str, Maker]:
        """The makers of the fields that are as the shipped contract has them; the others stay generic."""
        known: dict[str, Maker] = {
            "user_id": self._user_id,
            "event_id": lambda at: f'"{unique_id(self._run, at.number)}"',
            "event_type": lambda at: '"purchase"' if self._at(at).is_purchase else '"page_view"',
            "product_id": self._product_id,
            "properties": self._properties,
        }
        if contract.dataset != "events":
            return {}
        return {name: known[name] for name, kind in _PLAIN.items() if _is_as_shipped(contract, name, kind)}

    def _at(self, at: At) -> _Visit:
        if at.number != self._number:
            self._number = at.number
            is_purchase = self._random() < _PURCHASES
            has_product = is_purchase or self._random() >= _PAGES_WITHOUT_PRODUCT
            product = 1 + int(_PRODUCTS * self._random() ** 2) if has_product else 0
            self._visit = _Visit(1 + int(_PEOPLE * self._random() ** 3), product, is_purchase)
        return self._visit

    def _user_id(self, at: At) -> str:
        return f'"user-{self._at(at).person:05d}"'

    def _product_id(self, at: At) -> str:
        visit = self._at(at)
        if visit.product:
            return f'"sku-{10000 + visit.product}"'
        return "null" if visit.person % 2 else ""

    def _properties(self, at: At) -> str:
        visit = self._at(at)
        person = visit.person
        page = f"/products/{10000 + visit.product}" if visit.product else "/"
        session = f"{person * 2654435761 % 2**32:08x}{at.clock_us // (HOUR_US // 2):08x}"
        common = (
            f'{{"session_id":"{session}","browser":"{_BROWSERS[person % 5]}","country":"{_COUNTRIES[person % 10]}",'
            f'"page":"{page}","logged_in":{"true" if person % 3 else "false"}'
        )
        if visit.is_purchase:
            cents = 199 + int(20000 * self._random() ** 3)
            return f'{common},"amount":{cents // 100}.{cents % 100:02d},"currency":"EUR","quantity":{1 + person % 3}}}'
        return (
            f'{common},"referrer":"{_REFERRERS[int(4 * self._random())]}","load_ms":{40 + int(900 * self._random())}}}'
        )


def _is_as_shipped(contract: Contract, name: str, kind: Type) -> bool:
    rules = contract.fields.get(name)
    if rules is None or rules.kind != kind or _has_length_or_pattern(rules):
        return False
    if name == "event_type":
        return rules.one_of is None or {"page_view", "purchase"} <= set(rules.one_of)
    return rules.one_of is None and not (name == "product_id" and rules.required)


def _has_length_or_pattern(rules: FieldRules) -> bool:
    return any(rule is not None for rule in (rules.pattern, rules.min_length, rules.max_length))
