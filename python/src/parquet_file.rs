//! Parquet files: how they are laid out, and writing one row group by row group.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

/// The most rows of a row group.
pub const ROW_GROUP_ROWS: usize = 16_384;

/// The most bytes of a row group, as columns in memory. Four times as many would do for readers; writers keep some of them in memory.
pub const ROW_GROUP_BYTES: usize = 16 << 20;

/// Columns of which nearly every value is another one: a dictionary of them would only cost.
const DISTINCT: [&str; 12] = [
    "line_sha256",
    "byte_offset",
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

/// Columns that engines look single values up in, and how many values a row group has of them.
const SOUGHT: [(&str, u64); 2] = [("session_id", 4096), ("tool_call_id", ROW_GROUP_ROWS as u64)];

fn properties(schema: &SchemaRef) -> WriterProperties {
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by(concat!("session-tape ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Page);
    let has = |name: &str| schema.column_with_name(name).is_some();
    for name in DISTINCT.into_iter().filter(|name| has(name)) {
        builder = builder.set_column_dictionary_enabled(ColumnPath::from(name), false);
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

/// A row group, encoded.
pub struct EncodedRows {
    chunks: Vec<ArrowColumnChunk>,
    /// How many rows it has.
    pub rows: usize,
}

impl Encoder {
    /// Encodes batches as one row group.
    pub fn encode(&self, batches: &[RecordBatch]) -> Result<EncodedRows> {
        let mut writers = self.factory.create_column_writers(0)?;
        for batch in batches {
            let mut next = writers.iter_mut();
            for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
                for leaf in compute_leaves(field, column)? {
                    if let Some(writer) = next.next() {
                        writer.write(&leaf)?;
                    }
                }
            }
        }
        let chunks = writers.into_iter().map(|writer| writer.close()).collect::<Result<_>>()?;
        Ok(EncodedRows { chunks, rows: batches.iter().map(RecordBatch::num_rows).sum() })
    }
}

/// A file that is written.
pub struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    encoder: Encoder,
    /// How many rows it has.
    pub rows: usize,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Begins a file of this schema.
    pub fn create(file: W, schema: &SchemaRef) -> Result<Self> {
        let mut properties = properties(schema);
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        let parquet_schema = ArrowSchemaConverter::new().convert(schema)?;
        let writer = SerializedFileWriter::new(file, parquet_schema.root_schema_ptr(), Arc::new(properties))?;
        let factory = Arc::new(ArrowRowGroupWriterFactory::new(&writer, schema.clone()));
        Ok(ParquetFile { writer, encoder: Encoder { schema: schema.clone(), factory }, rows: 0 })
    }

    /// Encodes row groups of this file.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Appends a row group.
    pub fn append(&mut self, encoded: EncodedRows) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for chunk in encoded.chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        self.rows += encoded.rows;
        Ok(())
    }

    /// Encodes and appends batches.
    pub fn write(&mut self, batches: &[RecordBatch]) -> Result<()> {
        let encoded = self.encoder.encode(batches)?;
        self.append(encoded)
    }

    /// Ends the file.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner()
    }
}

/// Collects batches to row groups.
#[derive(Default)]
pub struct RowGroups {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl RowGroups {
    /// Adds a batch. `full` is called with the batches of each row group that is complete.
    pub fn add<E>(
        &mut self,
        mut batch: RecordBatch,
        mut full: impl FnMut(Vec<RecordBatch>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let row_bytes = (batch.get_array_memory_size() / batch.num_rows().max(1)).max(1);
        while batch.num_rows() > 0 {
            let room =
                (ROW_GROUP_ROWS - self.rows).min((ROW_GROUP_BYTES.saturating_sub(self.bytes) / row_bytes).max(1));
            let taken = room.min(batch.num_rows());
            self.batches.push(batch.slice(0, taken));
            batch = batch.slice(taken, batch.num_rows() - taken);
            self.rows += taken;
            self.bytes += taken * row_bytes;
            if self.rows >= ROW_GROUP_ROWS || self.bytes + row_bytes > ROW_GROUP_BYTES {
                full(self.take())?;
            }
        }
        Ok(())
    }

    /// The batches that are no full row group.
    pub fn take(&mut self) -> Vec<RecordBatch> {
        (self.rows, self.bytes) = (0, 0);
        std::mem::take(&mut self.batches)
    }
}

/// Whether a text is one that a part may be named by.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| format!("{}/{}", env!("CARGO_PKG_VERSION"), crate::schema::SCHEMA_VERSION))
}
