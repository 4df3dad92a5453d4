#!/usr/bin/env bash
# ClickHouse: the mean of eleven times of November 2023, integers in nanoseconds, is in September 1970.
# Relied on by: docs/compatibility.md
#
# Guess: avg of integers is a Float64, and its sum is wide enough, as in DuckDB, Polars, DataFusion and pyarrow.
# Seen:  avg of Int64 and UInt64 divides a sum of 64 bits, which wraps around without a word: of times of today from the
#   sixth row on. avgWeighted does the same, and stddevPop of times that lie within 10 us is 20.7 s. avg of a DateTime64(9)
#   or of toFloat64 is right. 9.5 % 2 of a Decimal is 0, and 1.5 if the 2 is a Decimal or the 9.5 a Float64; date_trunc of
#   half a second before 1970 is 1970, toStartOfSecond the second before.
# Runs:  chdb 4.4.0, which is ClickHouse 26.9.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check chdb==4.4.0
cat > "$folder/program.py" <<'PROGRAM'
import chdb


def row(query):
    return str(chdb.query(query, "TSV")).strip().replace("\t", ", ")


print("chdb 4.4.0, ClickHouse", row("SELECT version()"))
times = "(SELECT toInt64(1700000000000000000) + number * 1000 AS x FROM numbers(11))"
print("11 times, least and greatest:", row(f"SELECT min(x), max(x) FROM {times}"))
print("avg, avgWeighted:", row(f"SELECT avg(x), avgWeighted(x, 1) FROM {times}"))
print("stddevPop:", row(f"SELECT round(stddevPop(x)) FROM {times}"))
print("avg of toFloat64:", row(f"SELECT avg(toFloat64(x)) FROM {times}"))
print("avg of DateTime64(9):", row(f"SELECT avg(fromUnixTimestamp64Nano(x, 'UTC')) FROM {times}"))
print("avg of two UInt64 2^63:", row("SELECT avg(x) FROM (SELECT toUInt64(9223372036854775808) AS x FROM numbers(2))"))
ten = "9.5::Decimal(10, 2)"
print("9.5 % 2 of Decimal, of two Decimals, of Float64:", row(f"SELECT {ten} % 2, {ten} % 2::Decimal(10, 2), 9.5 % 2"))
second = "toDateTime64('1969-12-31 23:59:59.5', 9, 'UTC')"
print("second of half a second before 1970, by date_trunc:", row(f"SELECT date_trunc('second', {second})"))
print("by toStartOfSecond:", row(f"SELECT toStartOfSecond({second})"))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='chdb 4.4.0, ClickHouse 26.9.2.1
11 times, least and greatest: 1700000000000000000, 1700000000000010000
avg, avgWeighted: 23023266026409400, 23023266026409400
stddevPop: 20719701829
avg of toFloat64: 1700000000000004900
avg of DateTime64(9): 2023-11-14 22:13:20.000005000
avg of two UInt64 2^63: 0
9.5 % 2 of Decimal, of two Decimals, of Float64: 0, 1.5, 1.5
second of half a second before 1970, by date_trunc: 1970-01-01 00:00:00
by toStartOfSecond: 1969-12-31 23:59:59.000000000'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
