-- about: The ledger: what each batch read, source by source, and where its records went.
-- over: receipts
-- once: dataset, place, token, source
-- column: dataset varchar: Which dataset.
-- column: place varchar: stream, or dead_letters for a run over these.
-- column: sequence bigint: The number of the batch, from 1.
-- column: token varchar: The batch's name, as in the column _batch.
-- column: contract varchar: The contract that was active.
-- column: ingested_at timestamptz: When the batch was written.
-- column: source varchar: What was read.
-- column: bytes bigint: How long it was.
-- column: modified_at timestamptz: When it was last modified then.
-- column: records bigint: What it held: accepted + dead.
-- column: accepted bigint: Records that went to bronze.
-- column: dead bigint: Records that became dead letters.
-- column: is_whole boolean: Was it read to its end, as it was planned?
with batches as (
    from read_json({files}, columns = {
        token: 'varchar',
        sequence: 'bigint',
        contract: 'varchar',
        ingested_at: 'timestamptz',
        receipts: 'struct(unit struct(source varchar, length bigint, modified_ns bigint), records bigint, accepted bigint, dead bigint, is_whole boolean)[]'
    })
    where ingested_at <= {as_of}
)
select
    {dataset} as dataset,
    {place} as place,
    sequence,
    token,
    contract,
    ingested_at,
    receipt.unit.source as source,
    receipt.unit.length as bytes,
    make_timestamp_ns(receipt.unit.modified_ns)::timestamptz as modified_at,
    receipt.records as records,
    receipt.accepted as accepted,
    receipt.dead as dead,
    receipt.is_whole as is_whole
from batches, unnest(receipts) as each(receipt)
-- over: ops.ledger
select
    dataset,
    place,
    sequence,
    token,
    contract,
    ingested_at,
    source,
    length as bytes,
    make_timestamp_ns(modified_ns)::timestamptz as modified_at,
    records,
    accepted,
    dead,
    is_whole
from {rows}
where source is not null
