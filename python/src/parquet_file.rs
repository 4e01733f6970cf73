//! Parquet files: their layout, and writing one row group by row group.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array as _, RecordBatch};
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

/// Maximum number of rows in a row group.
pub const ROW_GROUP_ROWS: usize = 16_384;

/// Maximum size of a row group in bytes, as columns in memory. Readers would cope with eight times as much; writers keep some row groups in memory.
pub const ROW_GROUP_BYTES: usize = 8 << 20;

/// Columns in which nearly every value is distinct: a dictionary would only add cost.
const DISTINCT: [&str; 11] = [
    "line_sha256",
    "text",
    "payload",
    "step_key",
    "prefix_hash",
    "arguments_hash",
    "file_sha256",
    "line_hash",
    "event_id",
    "result_text",
    "arguments",
];

/// Columns of numbers that differ little from one row to the next: the differences need fewer bits than a dictionary's keys, and no lookup.
const STEADY: [&str; 12] = [
    "line",
    "byte_offset",
    "byte_length",
    "seq",
    "ts",
    "history_index",
    "text_bytes",
    "result_bytes",
    "step",
    "time",
    "called_line",
    "answered_line",
];

/// Columns in which engines look up single values, with the number of distinct values in a row group.
const SOUGHT: [(&str, u64); 2] = [("session_id", 4096), ("tool_call_id", ROW_GROUP_ROWS as u64)];

fn properties(schema: &SchemaRef) -> WriterProperties {
    let zstd = ZstdLevel::try_new(3).unwrap_or_default();
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(zstd))
        .set_created_by(concat!("session-tape ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Page);
    let has = |name: &str| schema.column_with_name(name).is_some();
    for name in DISTINCT.into_iter().chain(STEADY).filter(|name| has(name)) {
        builder = builder.set_column_dictionary_enabled(ColumnPath::from(name), false);
    }
    for name in STEADY.into_iter().filter(|name| has(name)) {
        builder = builder.set_column_encoding(ColumnPath::from(name), Encoding::DELTA_BINARY_PACKED);
    }
    for (name, values) in SOUGHT.into_iter().filter(|(name, _)| has(name)) {
        let path = ColumnPath::from(name);
        builder =
            builder.set_column_bloom_filter_enabled(path.clone(), true).set_column_bloom_filter_max_ndv(path, values);
    }
    let metadata = schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    builder.set_key_value_metadata(Some(metadata)).build()
}

/// Encodes row groups of one schema, on any thread.
#[derive(Clone)]
pub struct Encoder {
    schema: SchemaRef,
    factory: Arc<ArrowRowGroupWriterFactory>,
}

/// The rows of a row group that is not encoded yet.
pub struct FullRows {
    encoder: Encoder,
    batches: Vec<RecordBatch>,
    bytes: usize,
}

impl FullRows {
    /// Encodes the rows. Each batch is freed as soon as it is encoded.
    pub fn encode(self) -> Result<EncodedRows> {
        let mut group = self.encoder.begin()?;
        self.batches.into_iter().try_for_each(|batch| group.write(&batch))?;
        group.finish()
    }

    /// The size of the rows in bytes, as columns in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// An encoded row group.
pub struct EncodedRows {
    chunks: Vec<ArrowColumnChunk>,
    rows: usize,
}

impl EncodedRows {
    /// The size of the encoded rows in bytes.
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.close().bytes_written as usize).sum()
    }
}

impl Encoder {
    fn begin(&self) -> Result<OpenRowGroup> {
        Ok(OpenRowGroup { schema: self.schema.clone(), writers: self.factory.create_column_writers(0)?, rows: 0 })
    }
}

/// A row group that is not complete. Rows are encoded as soon as they are added, while they are in the processor's cache.
struct OpenRowGroup {
    schema: SchemaRef,
    writers: Vec<ArrowColumnWriter>,
    rows: usize,
}

impl OpenRowGroup {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut next = self.writers.iter_mut();
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            for leaf in compute_leaves(field, column)? {
                if let Some(writer) = next.next() {
                    writer.write(&leaf)?;
                }
            }
        }
        self.rows += batch.num_rows();
        Ok(())
    }

    fn finish(self) -> Result<EncodedRows> {
        let chunks = self.writers.into_iter().map(ArrowColumnWriter::close).collect::<Result<_>>()?;
        Ok(EncodedRows { chunks, rows: self.rows })
    }
}

/// A Parquet file that is being written.
pub struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    encoder: Encoder,
    open: Option<(OpenRowGroup, Filled)>,
    /// The number of rows appended so far.
    rows: usize,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Begins a file with this schema.
    pub fn create(file: W, schema: &SchemaRef) -> Result<Self> {
        let mut properties = properties(schema);
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        let parquet_schema = ArrowSchemaConverter::new().convert(schema)?;
        let writer = SerializedFileWriter::new(file, parquet_schema.root_schema_ptr(), Arc::new(properties))?;
        let factory = Arc::new(ArrowRowGroupWriterFactory::new(&writer, schema.clone()));
        Ok(ParquetFile { writer, encoder: Encoder { schema: schema.clone(), factory }, open: None, rows: 0 })
    }

    /// An encoder of row groups for this file.
    pub fn encoder(&self) -> Encoder {
        self.encoder.clone()
    }

    /// Appends an encoded row group.
    pub fn append(&mut self, encoded: EncodedRows) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for chunk in encoded.chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        self.rows += encoded.rows;
        Ok(())
    }

    /// Encodes rows, and appends each row group that is complete.
    pub fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let row_bytes = bytes_of_row(&batch)?;
        let mut batch = Some(batch);
        while let Some(rest) = batch.take().filter(|batch| batch.num_rows() > 0) {
            let (mut group, mut filled) = match self.open.take() {
                Some(open) => open,
                None => (self.encoder.begin()?, Filled::default()),
            };
            let (taken, left) = filled.take(rest, row_bytes);
            batch = Some(left);
            group.write(&taken)?;
            if filled.is_full(row_bytes) {
                self.append(group.finish()?)?;
            } else {
                self.open = Some((group, filled));
            }
        }
        Ok(())
    }

    /// Ends the file. Returns it with the number of its rows.
    pub fn finish(mut self) -> Result<(W, usize)> {
        if let Some((group, _)) = self.open.take() {
            self.append(group.finish()?)?;
        }
        Ok((self.writer.into_inner()?, self.rows))
    }
}

/// The rows and bytes of a row group that is not complete.
#[derive(Default)]
struct Filled {
    rows: usize,
    bytes: usize,
}

impl Filled {
    /// Splits a batch into the rows that the row group has room for, at least one, and the rest.
    fn take(&mut self, batch: RecordBatch, row_bytes: usize) -> (RecordBatch, RecordBatch) {
        let room = (ROW_GROUP_ROWS - self.rows).min((ROW_GROUP_BYTES.saturating_sub(self.bytes) / row_bytes).max(1));
        let taken = room.min(batch.num_rows());
        self.rows += taken;
        self.bytes += taken * row_bytes;
        (batch.slice(0, taken), batch.slice(taken, batch.num_rows() - taken))
    }

    fn is_full(&self, row_bytes: usize) -> bool {
        self.rows >= ROW_GROUP_ROWS || self.bytes + row_bytes > ROW_GROUP_BYTES
    }
}

/// The average size of a row of a batch in bytes. Counts values, not the capacity of buffers: the same rows must give the same row groups.
fn bytes_of_row(batch: &RecordBatch) -> Result<usize> {
    let mut bytes = 0;
    for column in batch.columns() {
        bytes += column.to_data().get_slice_memory_size()?;
    }
    Ok((bytes / batch.num_rows().max(1)).max(1))
}

/// Collects batches into row groups that are encoded elsewhere.
#[derive(Default)]
pub struct RowGroups {
    batches: Vec<RecordBatch>,
    filled: Filled,
}

impl RowGroups {
    /// Adds a batch. Returns the rows of each row group that is complete.
    pub fn add(&mut self, batch: RecordBatch, encoder: &Encoder) -> Result<Vec<FullRows>> {
        let row_bytes = bytes_of_row(&batch)?;
        let mut full = Vec::new();
        let mut rest = batch;
        while rest.num_rows() > 0 {
            let (taken, left) = self.filled.take(rest, row_bytes);
            self.batches.push(taken);
            rest = left;
            if self.filled.is_full(row_bytes) {
                let bytes = self.filled.bytes;
                full.push(FullRows { encoder: encoder.clone(), batches: self.take(), bytes });
            }
        }
        Ok(full)
    }

    /// Takes the batches of the row group that is not complete.
    pub fn take(&mut self) -> Vec<RecordBatch> {
        self.filled = Filled::default();
        std::mem::take(&mut self.batches)
    }
}

/// The version of converter and columns, which the names of parts depend on.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| format!("{}/{}", env!("CARGO_PKG_VERSION"), crate::schema::SCHEMA_VERSION))
}
