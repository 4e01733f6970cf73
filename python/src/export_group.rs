//! Recordings that are exported together, to one file for each table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{AsArray as _, RecordBatch, new_null_array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::convert::{CANCELLED, Converted, Converter};
use crate::failure::Failure;
use crate::input::Input;
use crate::interrupt::Progress;
use crate::options::Options;
use crate::parquet_file::{EncodedRows, FullRows, ParquetFile, RowGroups};
use crate::schema::Table;

/// Recordings of one day that are written together.
pub struct Group {
    pub inputs: Vec<Input>,
    pub carried: Vec<Carried>,
    pub files: TableFiles,
    pub options: Options,
}

/// Rows that are kept of a part that is replaced, because their sources are gone.
pub struct Carried {
    pub table: Table,
    pub part: PathBuf,
    pub sources: Arc<BTreeSet<String>>,
}

impl Carried {
    /// Passes the rows to `take`, batch by batch.
    fn read(
        &self,
        schema: &SchemaRef,
        take: &mut dyn FnMut(Table, RecordBatch) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.part.display());
        let file = File::open(&self.part).map_err(|error| Failure::at(&self.part, &error))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| builder.build());
        for batch in reader.map_err(|error| failed(&error))? {
            let batch = batch.map_err(|error| failed(&error))?;
            let sources = batch.column_by_name("source").and_then(|column| column.as_string_opt::<i32>());
            let sources = sources.ok_or_else(|| failed(&"it has no sources"))?;
            let kept = sources.iter().map(|source| Some(self.sources.contains(source?))).collect();
            let kept = filter_record_batch(&batch, &kept).and_then(|kept| with_schema(&kept, schema));
            take(self.table, kept.map_err(|error| failed(&error))?)?;
        }
        Ok(())
    }
}

/// The rows with the columns of `schema`. A part written with other options may lack columns, which are then null, or have additional ones.
fn with_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let column = |field: &FieldRef| match batch.column_by_name(field.name()) {
        Some(column) => column.clone(),
        None => new_null_array(field.data_type(), batch.num_rows()),
    };
    RecordBatch::try_new(schema.clone(), schema.fields().iter().map(column).collect())
}

/// A group that was written to temporary files.
pub struct Written {
    pub sources: Vec<Converted>,
    pub files: Vec<TableFile>,
}

/// A temporary file with the rows of a table.
pub struct TableFile {
    pub table: Table,
    pub rows: usize,
    pub file: tempfile::NamedTempFile,
}

/// The files of a group, which stay in a temporary folder until they are complete.
pub struct TableFiles {
    folder: PathBuf,
    include_payload: bool,
    tables: Vec<Table>,
    open: BTreeMap<Table, (ParquetFile<File>, RowGroups, tempfile::NamedTempFile)>,
}

impl TableFiles {
    /// The files of the tables that `options` selects, in `folder`.
    pub fn new(folder: &Path, options: &Options) -> Self {
        let (tables, include_payload) = (options.tables().collect(), options.include_payload);
        TableFiles { folder: folder.to_owned(), include_payload, tables, open: BTreeMap::new() }
    }

    /// Adds rows. Returns the row groups that are complete, but not encoded yet.
    pub fn add(&mut self, table: Table, batch: RecordBatch) -> Result<Vec<FullRows>, Failure> {
        let (file, groups, _) = self.file(table)?;
        groups.add(batch, &file.encoder()).map_err(Failure::from)
    }

    /// Encodes and writes rows. All rows of a file must be passed either to this function or to `add`.
    pub fn write(&mut self, table: Table, batch: RecordBatch) -> Result<(), Failure> {
        let (file, ..) = self.file(table)?;
        file.write(batch).map_err(Failure::from)
    }

    /// Appends an encoded row group.
    pub fn append(&mut self, table: Table, encoded: EncodedRows) -> Result<(), Failure> {
        let (file, ..) = self.file(table)?;
        file.append(encoded).map_err(Failure::from)
    }

    /// Ends all files. A table without rows gets a file too.
    pub fn finish(mut self) -> Result<Vec<TableFile>, Failure> {
        for table in self.tables.clone() {
            self.file(table)?;
        }
        let mut files = Vec::new();
        for (table, (mut file, mut groups, temporary)) in self.open {
            for rest in groups.take() {
                file.write(rest)?;
            }
            let (_, rows) = file.finish()?;
            files.push(TableFile { table, rows, file: temporary });
        }
        Ok(files)
    }

    fn file(&mut self, table: Table) -> Result<&mut (ParquetFile<File>, RowGroups, tempfile::NamedTempFile), Failure> {
        if !self.open.contains_key(&table) {
            let created = create(&self.folder, table, self.include_payload)?;
            self.open.insert(table, created);
        }
        self.open.get_mut(&table).ok_or_else(|| "there is no file".into())
    }
}

/// The folder of a lake for files that are not complete.
pub const TEMPORARY_FOLDER: &str = "_temporary";

/// How the names of files that are not complete begin and end. Query engines ignore names that begin with a dot.
pub const TEMPORARY: &str = ".part-";
pub const TEMPORARY_ENDING: &str = ".tmp";

fn create(
    folder: &Path,
    table: Table,
    include_payload: bool,
) -> Result<(ParquetFile<File>, RowGroups, tempfile::NamedTempFile), Failure> {
    let failed = |error: std::io::Error| Failure::at(folder, &error);
    fs::create_dir_all(folder).map_err(failed)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY).suffix(TEMPORARY_ENDING);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(folder).map_err(failed)?;
    let file = temporary.reopen().map_err(failed)?;
    let file = ParquetFile::create(file, &table.schema(include_payload))?;
    Ok((file, RowGroups::default(), temporary))
}

/// Converts and writes a group on the calling thread.
pub fn write_group(group: Group, cancelled: &Arc<AtomicBool>, progress: &Arc<Progress>) -> Result<Written, Failure> {
    let Group { inputs, carried, mut files, options } = group;
    let mut converter = Converter::new(options.clone(), cancelled.clone(), progress.clone());
    let mut take = |table: Table, batch: RecordBatch| files.write(table, batch);
    for carried in carried {
        carried.read(&carried.table.schema(options.include_payload), &mut take)?;
    }
    let mut sources = Vec::with_capacity(inputs.len());
    for input in &inputs {
        if cancelled.load(Ordering::Relaxed) {
            return Err(CANCELLED.into());
        }
        sources.push(converter.convert(input, &mut take)?);
    }
    converter.finish(&mut take)?;
    Ok(Written { sources, files: files.finish()? })
}
