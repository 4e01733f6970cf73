-- Three questions to Parquet files: `duckdb -c ".read examples/duckdb.sql"` in the folder that `st.to_parquet` has written, or `duckdb.sql(...)`
-- in Python, where a reader of `st.events` is a table as well. Of Delta Lake tables it reads `delta_scan('lake/events')`, with DuckDB's extension
-- `delta`, in place of `'events/*/*.parquet'`.

-- Which tool fails most, by day?
select date, tool_name, count(*) as calls, avg(is_error::int) as error_rate
from read_parquet('tool_calls/*/*.parquet', hive_partitioning = true)
where answers > 0
group by all
order by error_rate desc, calls desc;

-- Where do the executions of one task first part, and into how many ways?
select step, count(distinct prefix_hash) as ways, count(*) as executions
from 'events/*/*.parquet'
where step is not null
group by step
having ways > 1
order by step
limit 1;

-- Where do two sessions part?
select min(a.step) as first_divergence
from 'events/*/*.parquet' a
join 'events/*/*.parquet' b using (step)
where a.session_id = (select min(session_id) from 'sessions/*/*.parquet')
  and b.session_id = (select max(session_id) from 'sessions/*/*.parquet')
  and a.prefix_hash <> b.prefix_hash;
