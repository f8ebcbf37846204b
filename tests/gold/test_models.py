"""What a model may say: a header, and one SELECT whose rows for a window come from that window alone. No JVM."""

from __future__ import annotations

from pathlib import Path

import pytest
from silvers import MODELS

from smelter.errors import Unreachable
from smelter.gold.models import Model, ModelsInvalid, load_models, parse_model
from smelter.gold.shapes import Fixed, Sessions

TUMBLING = "-- about: a test\n-- source: silver.events\n-- window: tumbling 1m\n-- grain: window_start\n"
SESSION = (
    "-- about: a test\n-- source: silver.events\n-- window: session gap 10m by user_id\n"
    "-- grain: user_id, window_start\n"
)
PLAIN = TUMBLING.replace("tumbling 1m", "none").replace("grain: window_start", "grain: n")
COUNT = "select window_start, count(*) as n from source group by all"
SESSIONS = "select user_id, window_start, window_end, count(*) as n from source group by all"


def model_of(text: str) -> Model:
    model, flaws = parse_model(text, "a_model", "a_model.sql")
    assert model is not None, flaws
    return model


def flaws_of(text: str, name: str = "a_model") -> list[str]:
    model, flaws = parse_model(text, name, f"{name}.sql")
    assert model is None
    return [f"{flaw.line}: {flaw.message}" for flaw in flaws]


def test_the_shipped_models_are_good_and_each_has_its_window() -> None:
    windows = {model.name: (model.dataset, model.window) for model in load_models(MODELS)}
    assert windows == {
        "active_users_10m": ("events", Fixed(600, 300)),
        "activity_per_minute": ("events", Fixed(60, 60)),
        "revenue_per_product_day": ("events", Fixed(86_400, 86_400)),
        "sessions": ("events", Sessions(600, ("user_id",))),
        "trips_per_zone_hour": ("taxi_trips", Fixed(3600, 3600)),
    }


@pytest.mark.parametrize(
    "text",
    [
        TUMBLING + "select window_start, count(*) filter (where n > 1) as n from source group by window_start",
        TUMBLING + "select window_start, user_id, rank() over (partition by window_start order by n desc) as place\n"
        "from (select window_start, user_id, count(*) as n from source group by 1, 2)",
        TUMBLING + "with large as (select *, amount * 2 as twice from source where amount > 3)\n"
        "select window_start, sum(twice) as n from large group by (window_start) having sum(twice) > 9;",
        TUMBLING + "select distinct s.window_start, s.user_id from source as s where at > date '2020-01-31'",
        TUMBLING + "select source.window_start, properties.window_start as n from source -- the window \\\n",
        TUMBLING + "select s.window_start, 'a -- b' as n /* 'c */ from (select s.* from source as s) as s",
        TUMBLING
        + "select window_start, sum(n) over (partition by window_start order by n range current row) as n from source",
        SESSION + SESSIONS,
        PLAIN + "select n from (select count(*) as n from source union all select 0 as n from source)",
        PLAIN + "select a.n from (select 1 as n from source) as a join (select 2 as n from source) as b on a.n < b.n",
    ],
)
def test_what_looks_at_one_window_is_taken(text: str) -> None:
    model_of(text)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select window_start, count(*) as n from source", "it counts over all windows at once"),
        ("select window_start, n from source having sum(n) > 1", "it counts over all windows at once"),
        ("select date_trunc('hour', window_start) as window_start, count(*) as n from source group by 1", "hand on"),
        ("select window_end as window_start, count(*) as n from source group by 1", "must hand on `window_start`"),
        ("select window_start, count(*) as n from source group by user_id", "`group by` must name `window_start`"),
        ("select window_start, max(n) as n from (select sum(n) as n from source group by n) group by 1", "must hand"),
        ("select window_start, rank() over (order by n) as n from source", "`over (…)` must be `partition by"),
        ("select window_start, (select max(n) from source) as n from source", "a query inside an expression"),
        ("select window_start, n from source where n in (select n from source)", "a query inside an expression"),
        ("select window_start, 1 as n from source union all select window_start, 2 as n from source", "union, except"),
        ("select a.window_start, 1 as n from source as a join source as b on a.n = b.n", "joins need `window: none`"),
        ("select a.window_start, 1 as n from source as a, source as b", "joins need `window: none`"),
        ("select window_start, 1 as n from (select * except (window_start) from source)", "must hand on"),
        ("select window_start, count(*) as n from source group by cube (window_start)", "cube"),
        ("select properties.window_start as window_start, count(*) as n from source group by all", "must hand on"),
        ("select window_start, sum(n) over (partition by properties.window_start) as n from source", "`over (…)` must"),
        ("select window_start, count(*) as n from source group by properties.window_start", "`group by` must name"),
        ("select window_start, n from (select properties.* from source)", "must hand on"),
        (
            "with e(x, window_start) as (select n, window_end from source) select window_start, 1 as n from e",
            "columns are named where they are computed",
        ),
    ],
)
def test_what_looks_beyond_its_window_is_refused(sql: str, said: str) -> None:
    flaws = flaws_of(TUMBLING + sql)
    assert any(said in flaw for flaw in flaws), flaws
    assert all(flaw.startswith("5: ") for flaw in flaws)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select window_start, now() as n from source", "cannot call `now`: it is another one at each run"),
        ("select window_start, current_date as n from source", "`current_date` is another one at each run"),
        ("select window_start, rand() as n from source", "cannot call `rand`"),
        ("select window_start, timestamp 'now' as n from source", "timestamp 'now' may be another one at each run"),
        ("select window_start, date 'today' as n from source", "write a full date, such as date '2020-01-31'"),
        ("select window_start, `reflect`('java.lang.System', 'exit') as n from source", "take the backticks away"),
        ("select window_start, first(user_id) as n from source group by 1", "cannot call `first`: say which row"),
        ("select window_start, collect_list(n) as n from source group by 1", "it depends on row order"),
        ("select window_start, row_number() over (partition by window_start order by n) as n from source", "use rank"),
        ("select window_start, lake.system.f(n) as n from source", "a function of some catalog"),
        ("select window_start, cuont(*) as n from source group by 1", "did you mean `count`?"),
        ("select window_start, '${env:HOME}' as n from source", "would be replaced by Spark"),
        ("select window_start, n from sorce", "`sorce` is another; did you mean `source`?"),
        ("select window_start, n from lake.silver.source", "`lake.silver.source` is another"),
        ("select window_start, n from parquet.`a/b`", "take the backticks away"),
        ("with source as (select * from source) select window_start, n from source", "call the step something else"),
        ("select window_start, 1 as n", "a model reads `source`, and this one does not"),
        ("select window_start, n from source order by n", "a table has no order"),
        ("select window_start, n from source limit 5", "a table has no order"),
        ("select * from source", "name the columns of the table"),
        ("select window_start, count(*) from source group by 1", "`COUNT(*)` needs a name"),
        ("select window_start, n, user_id as n from source", "there are two columns `n`"),
        ("select window_start, 1 as `From` from source", "take the backticks away"),
        ("select window_start, 1 as Many from source", "`Many` is not a name"),
        ("select window_start from source; select 2", "there is one only"),
        ("drop table source", "a model is one SELECT statement"),
        ("select window_start, (n from source", "this is not SQL, at `from`"),
        ("select window_start, " + "(" * 60 + "1" + ")" * 60 + " as n from source", "nested more than 40 deep"),
        ("select window_start, transform(n) using 'id' as (n string) from source", "would run a program"),
        ("select window_start, map(n, n) using 'id' as n from source", "this is not SQL, at `using`"),
        ("select window_start, hash(*) as n from source", "one by one: with `*` it would change with silver"),
        ("select window_start, n from (select window_start, struct(s.*) as n from source as s)", "with `*` it would"),
        ("select window_start, count(*) /* /*+ */ + rand() -- */\n as n from source group by 1", "cannot call `rand`"),
        ("select window_start, 'it' 's' as n from source", "two texts stand side by side"),
        ("select window_start, n from (values (1, 2)) as e(window_start, n)", "not from a list"),
        (
            "select window_start, sum(n) over (partition by window_start order by n rows current row) as n from source",
            "rows",
        ),
    ],
)
def test_what_reaches_outside_or_has_no_meaning_is_refused(sql: str, said: str) -> None:
    flaws = flaws_of(TUMBLING + sql)
    assert any(said in flaw for flaw in flaws), flaws


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (SESSIONS.replace("from source", "from source where n > 1"), "keeps every session"),
        (SESSIONS + " having count(*) > 1", "keeps every session"),
        (SESSIONS.replace(" window_end,", ""), "the window asks for a column `window_end`"),
        (SESSIONS.replace("user_id,", "'x' as user_id,"), "must hand on `user_id`"),
        (SESSIONS.replace("window_end,", "max(event_timestamp) as window_end,"), "must hand on `window_end`"),
    ],
)
def test_a_model_of_sessions_shows_every_session(sql: str, said: str) -> None:
    flaws = flaws_of(SESSION + sql)
    assert any(said in flaw for flaw in flaws), flaws


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("-- about: a test", "-- abuot: a test", "1: there is no key `abuot`; did you mean `about`?"),
        ("-- about: a test", "-- about:", "1: about: it is empty"),
        ("-- about: a test", "-- about a test", "1: this is not `-- key: value`"),
        ("-- about: a test", "-- about: a\n-- about: b", "2: `about` appears twice"),
        ("silver.events", "bronze.events", "2: source: `bronze.events` is not a silver table"),
        ("tumbling 1m", "tumblin 1m", "3: window: `tumblin` is no kind of window; did you mean `tumbling`?"),
        ("tumbling 1m", "tumbling 1 m", "3: window: `tumbling 1 m` is not a window; write tumbling 1m"),
        ("tumbling 1m", "tumbling 1x", "3: window: `1x` is not a duration"),
        ("tumbling 1m", "sliding 5m every 10m", "would leave rows out"),
        ("tumbling 1m", "sliding 1d every 1s", "puts a row into 86,400 windows"),
        ("tumbling 1m", "session gap 10m", "write session gap 10m by user_id"),
        ("tumbling 1m", "session gap 10m by user_id, user_id", "`user_id` is in `by` twice"),
        ("grain: window_start", "grain: windowstart", "4: grain: there is no column `windowstart`; did you mean"),
        ("grain: window_start", "grain: n", "4: grain: it must hold `window_start`"),
        ("grain: window_start", "grain: window_start\n-- partition: weeks(n)", "5: partition: `weeks(n)` is not"),
        ("grain: window_start", "grain: window_start\n-- partition: days(m)", "5: partition: there is no column `m`"),
        (
            "grain: window_start\n" + COUNT,
            "grain: window_start\n-- partition: n, days(window_start)\n" + COUNT.replace("as n", "as window_start_day"),
            "5: partition: `window_start_day` is what tables call days(window_start)",
        ),
        ("grain: window_start", "grain: window_start\n-- keep_rows: 9y", "5: keep_rows: `9y` is not a duration"),
        (COUNT, "", "there is no SQL below the header"),
    ],
)
def test_a_header_is_checked_with_its_line(old: str, new: str, said: str) -> None:
    text = TUMBLING + COUNT
    assert old in text
    flaws = flaws_of(text.replace(old, new))
    assert any(said in flaw for flaw in flaws), flaws


def test_a_model_with_a_window_may_say_how_long_its_rows_are_kept() -> None:
    assert model_of(TUMBLING + "-- keep_rows: 400d\n" + COUNT).keep_rows == "400d"
    assert model_of(TUMBLING + COUNT).keep_rows is None
    (flaw,) = flaws_of(PLAIN + "-- keep_rows: 400d\nselect count(*) as n from source")
    assert flaw == "5: keep_rows: a model without a window has no time by which rows could go"


def test_everything_that_is_wrong_in_all_files_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "one.sql").write_text(TUMBLING + "select window_start, now() as a,\n  rand() as b from other")
    (tmp_path / "Two.sql").write_text(TUMBLING + COUNT)
    (tmp_path / "three.sql").write_bytes(TUMBLING.encode() + b"select '\xff'")
    (tmp_path / "good.sql").write_text(TUMBLING + COUNT)
    with pytest.raises(ModelsInvalid) as refused:
        load_models(tmp_path)
    told = [(Path(fault.file).name, fault.line) for fault in refused.value.faults]
    assert told == [("Two.sql", 1), ("one.sql", 5), ("one.sql", 5), ("one.sql", 6), ("one.sql", 6), ("three.sql", 5)]
    assert "docs/gold.md" in str(refused.value)


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="there is no folder of models"):
        load_models(tmp_path / "nowhere")


def test_a_fingerprint_is_of_what_the_rows_depend_on() -> None:
    before = model_of(TUMBLING + COUNT)
    same = [
        TUMBLING.replace("a test", "other words") + COUNT,
        TUMBLING + "\n-- a comment\nSELECT  window_start,\n\tCOUNT( * ) AS n /* why */ FROM source GROUP BY ALL",
        TUMBLING.replace("tumbling 1m", "tumbling 60s") + COUNT,
        TUMBLING + "-- keep_rows: 400d\n" + COUNT,
    ]
    other = [
        TUMBLING + COUNT.replace("count(*)", "count(user_id)"),
        TUMBLING.replace("tumbling 1m", "tumbling 2m") + COUNT,
        TUMBLING.replace("tumbling 1m", "sliding 1m every 30s") + COUNT,
        TUMBLING.replace("silver.events", "silver.others") + COUNT,
        TUMBLING + "-- partition: days(window_start)\n" + COUNT,
        TUMBLING + COUNT.replace("count(*)", "percentile_cont(0.9) within group (order by n)"),
        TUMBLING + COUNT.replace("count(*)", "percentile_cont(0.9) within group (order by n desc)"),
        TUMBLING + COUNT.replace("count(*)", "max('a  b')"),
        TUMBLING + COUNT.replace("count(*)", "max('a b')"),
        TUMBLING + COUNT.replace("count(*)", "max('A b')"),
    ]
    assert {model_of(text).fingerprint("at") for text in same} == {before.fingerprint("at")}
    assert len({model_of(text).fingerprint("at") for text in other} | {before.fingerprint("at")}) == len(other) + 1
    assert before.fingerprint("at") != before.fingerprint("another_time")
