"""A mapping that cannot be changed, but can be pickled, hashed and compared like a dict."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")


class FrozenDict(dict[Key, Item]):
    """A dict as it was made; Spark's tasks receive contracts, so it must survive pickling (a mappingproxy does not)."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a contract is frozen")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (dict(self),))
