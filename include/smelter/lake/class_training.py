"""What a session usually does, once and on a few rows, so that Java has read the classes for it.

`python -m smelter.lake.class_training SCRATCH JARS`; nobody imports this: `class_archive` runs it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.lake.home import Lake
from smelter.lake.session import start_spark
from smelter.settings import Settings

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

_WORK = """
create namespace if not exists lake.training;
create temporary view things as select id, concat('name ', id % 3) as name, timestamp_seconds(id * 7000) as moment,
    cast(id as decimal(10,2)) as amount, map('key', cast(id as string)) as properties from range(50);
create table lake.training.events
    (id bigint, name string, moment timestamp, amount decimal(10,2), properties map<string,string>)
    using iceberg partitioned by (days(moment)) tblproperties ('write.merge.mode'='copy-on-write');
insert into lake.training.events select * from things where id < 20;
insert into lake.training.events select * from things where id between 20 and 39;
merge into lake.training.events t using (
    select id, name, moment, amount, properties from (
        select *, row_number() over (partition by name order by moment, id) as number from things where id > 30
    ) where number < 5
  ) s on t.id = s.id and t.moment between timestamp'1970-01-01' and timestamp'2100-01-01'
    when not matched then insert *;
merge into lake.training.events t using (select * from things where id < 5) s on t.id = s.id
    when matched and t.id = 1 then delete when matched then update set * when not matched then insert *;
delete from lake.training.events where id = 7;
alter table lake.training.events add columns (more bigint);
call lake.system.rewrite_data_files(table => 'training.events', options => map('rewrite-all', 'true'));
call lake.system.rewrite_manifests(table => 'training.events', use_caching => false);
call lake.system.expire_snapshots(table => 'training.events', retain_last => 1);
select window(moment, '1 day') as day, name, count(*), sum(amount), max(properties['key'])
    from lake.training.events where moment >= timestamp'1970-01-01' group by 1, 2 order by all;
select a.id from lake.training.events a join lake.training.events b on a.id = b.id
    left anti join (select 3 as id) c on a.id = c.id;
select count(*), count(distinct name), avg(id), count_if(name rlike 'x') from lake.training.events;
select * from lake.training.events.files
"""


def main(scratch: Path, jars: Path) -> int:
    """Do a little of everything, then wait until Java has ended, which writes its archive then; its exit code."""
    lake = Lake.at(Settings(lake=scratch / "lake", jars=jars))
    spark = start_spark(lake, "smelter training", scratch / "run", builds=True)
    java = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    for statement in _WORK.split(";"):
        spark.sql(statement).collect()
    _stream(spark, scratch)
    spark.stop()
    java.stdin.close()
    return int(java.wait())


def _stream(spark: SparkSession, scratch: Path) -> None:
    """Files are found batch by batch, and tasks in Python give their rows."""
    landing = scratch / "landing"
    landing.mkdir()
    (landing / "a.json").write_text("{}\n")
    schema = "path string, modificationTime timestamp, length long, content binary"
    files = spark.readStream.format("binaryFile").schema(schema).option("recursiveFileLookup", "true")
    found = files.load(str(landing)).select("path").writeStream.foreachBatch(_batch)
    query = found.option("checkpointLocation", str(scratch / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()


def _batch(frame: DataFrame, _number: int) -> None:
    frame.mapInArrow(_as_they_come, "path string").collect()


def _as_they_come(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
