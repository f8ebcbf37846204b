"""Which functions may an expression of a contract call? Scalar ones of Spark that give the same answer every time.

Not here, and so refused: what asks the clock, the machine, a file or a generator of chance; what looks at more than one
row; and what stops the whole of silver because of one row, where there is a `try_` that gives null instead.
"""

from __future__ import annotations

_CHOICES = """
    coalesce equal_null greatest if ifnull isnan isnotnull isnull least nanvl nullif nullifzero nvl nvl2 zeroifnull
"""
_NUMBERS = """
    abs acos acosh asin asinh atan atan2 atanh bit_count bround cbrt ceil ceiling cos cosh degrees e exp expm1 floor
    hypot ln log log10 log1p log2 negative pi positive pow power radians rint round shiftleft shiftright sign signum sin
    sinh sqrt tan tanh try_add try_divide try_mod try_multiply try_subtract
"""
_TEXTS = """
    ascii base64 bit_length btrim char char_length character_length chr concat concat_ws contains endswith
    find_in_set format_number hex initcap instr lcase left len length levenshtein locate lower lpad ltrim luhn_check
    mask octet_length overlay position regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like
    regexp_replace regexp_substr replace reverse right rlike rpad rtrim soundex split split_part startswith substr
    substring substring_index translate trim try_to_binary try_to_number try_url_decode ucase unhex upper url_encode
"""
_TIMES = """
    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc
    datediff datepart day dayname dayofmonth dayofweek dayofyear from_unixtime from_utc_timestamp hour last_day minute
    month monthname months_between quarter second timestamp_micros timestamp_millis timestamp_seconds
    timestampadd timestampdiff to_utc_timestamp trunc try_make_interval try_make_timestamp try_to_date try_to_timestamp
    unix_date unix_micros unix_millis unix_seconds weekday weekofyear year
"""
_COLLECTIONS = """
    aggregate array array_append array_compact array_contains array_distinct array_except array_intersect array_join
    array_max array_min array_position array_prepend array_remove array_size array_sort array_union arrays_overlap
    arrays_zip cardinality exists filter flatten forall from_json get get_json_object json_array_length
    json_object_keys map_contains_key map_entries map_filter map_keys map_values map_zip_with named_struct reduce size
    sort_array struct to_json transform transform_values try_element_at try_parse_url zip_with
"""
_DIGESTS = "crc32 hash md5 sha sha1 sha2 xxhash64"
_CASTS = "cast try_cast"

FUNCTIONS = frozenset(
    " ".join((_CHOICES, _NUMBERS, _TEXTS, _TIMES, _COLLECTIONS, _DIGESTS, _CASTS)).split(),
)

_TYPES = "bigint binary boolean date decimal double float int smallint timestamp tinyint"
_OTHERWISE = {
    "to_date": "try_to_date",
    "to_timestamp": "try_to_timestamp",
    "to_number": "try_to_number",
    "to_binary": "try_to_binary",
    "unbase64": "try_to_binary(…, 'base64')",
    "element_at": "try_element_at",
    "elt": "try_element_at",
    "parse_url": "try_parse_url",
    "url_decode": "try_url_decode",
    "make_timestamp": "try_make_timestamp",
    "make_interval": "try_make_interval",
    "make_date": "try_to_date",
    "mod": "try_mod",
    "pmod": "try_mod",
    "unix_timestamp": "unix_seconds(try_to_timestamp(…))",
    "to_unix_timestamp": "unix_seconds(try_to_timestamp(…))",
    "extract": "date_part('year', …)",
    "string": "cast(… as string)",
    **{name: f"try_cast(… as {name})" for name in _TYPES.split()},
}


def instead_of(function: str) -> str:
    """What to write for a function that could stop silver because of one row; an empty text if there is nothing."""
    return _OTHERWISE.get(function, "")
