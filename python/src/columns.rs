//! Column builders, and the record batch that is built from them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, BooleanBuilder, DictionaryArray, DurationMicrosecondBuilder, FixedSizeBinaryBuilder,
    Int32Builder, Int64Builder, RecordBatch, StringArray, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

/// Number of rows from which a batch is handed out. A larger one would no longer be in the processor's cache when it is encoded.
pub const BATCH_ROWS: usize = 4096;

/// Number of bytes of lines or texts from which a batch is handed out.
pub const BATCH_BYTES: usize = 1 << 20;

/// Builder of a column of texts.
pub type Texts = StringBuilder;
/// Builder of a column of integers.
pub type Integers = Int64Builder;
/// Builder of a column of booleans, which may be null.
pub type Flags = BooleanBuilder;

/// Builder of a dictionary column, for values of which there are few distinct ones.
#[derive(Default)]
pub struct Enums {
    keys: Int32Builder,
    /// The distinct values; the index of a value is its key.
    values: Vec<String>,
    /// Indices of the values after the first `COMPARED`, which are found by comparison instead.
    places: HashMap<String, i32>,
    last: usize,
}

/// Number of values that are compared one by one, which is cheaper than hashing.
const COMPARED: usize = 8;

impl Enums {
    /// Appends a value, or null.
    pub fn append_option(&mut self, value: Option<impl AsRef<str>>) {
        match value {
            Some(value) => {
                let key = self.key(value.as_ref());
                self.keys.append_value(key);
            }
            None => self.keys.append_null(),
        }
    }

    fn key(&mut self, value: &str) -> i32 {
        if self.values.get(self.last).is_none_or(|last| last != value) {
            self.last = self.place(value);
        }
        self.last as i32
    }

    fn place(&mut self, value: &str) -> usize {
        if let Some(place) = self.values.iter().take(COMPARED).position(|known| known == value) {
            return place;
        }
        if let Some(&place) = self.places.get(value) {
            return place as usize;
        }
        let place = self.values.len();
        self.values.push(value.to_owned());
        if place >= COMPARED {
            self.places.insert(value.to_owned(), place as i32);
        }
        place
    }
}

/// Builder of a column of timestamps in UTC, in microseconds.
pub struct Times(TimestampMicrosecondBuilder);

impl Default for Times {
    fn default() -> Self {
        Times(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
    }
}

impl Times {
    /// Appends a time in microseconds since the Unix epoch, or null.
    pub fn append_option(&mut self, time: Option<i64>) {
        self.0.append_option(time);
    }
}

/// Builder of a column of durations in microseconds.
pub type Durations = DurationMicrosecondBuilder;

/// Builder of a column of hashes of `BYTES` bytes.
pub struct Hashes<const BYTES: i32>(FixedSizeBinaryBuilder);

impl<const BYTES: i32> Default for Hashes<BYTES> {
    fn default() -> Self {
        Hashes(FixedSizeBinaryBuilder::new(BYTES))
    }
}

impl<const BYTES: i32> Hashes<BYTES> {
    /// Appends a hash of `BYTES` bytes, or null.
    pub fn append_option(&mut self, hash: Option<&[u8]>) {
        match hash {
            // A hash of another length would be a bug of ours; null keeps the column as long as the others.
            Some(hash) if self.0.append_value(hash).is_ok() => {}
            _ => self.0.append_null(),
        }
    }
}

/// A column builder of any type.
pub trait Column {
    /// Returns the column built so far and empties the builder, which reserves as much room again: most batches have a similar size, and growing
    /// copies.
    fn take(&mut self) -> ArrayRef;
}

macro_rules! column_of_fixed_length {
    ($($builder:ty),*) => {$(
        impl Column for $builder {
            fn take(&mut self) -> ArrayRef {
                let next = Self::with_capacity(self.len());
                Arc::new(std::mem::replace(self, next).finish())
            }
        }
    )*};
}

column_of_fixed_length!(Integers, Flags, Durations);

impl Column for Texts {
    fn take(&mut self) -> ArrayRef {
        let next = Self::with_capacity(self.len(), self.values_slice().len());
        Arc::new(std::mem::replace(self, next).finish())
    }
}

impl Column for Enums {
    fn take(&mut self) -> ArrayRef {
        let next = Enums { keys: Int32Builder::with_capacity(self.keys.len()), ..Enums::default() };
        let mut full = std::mem::replace(self, next);
        let values = StringArray::from_iter_values(&full.values);
        Arc::new(DictionaryArray::new(full.keys.finish(), Arc::new(values)))
    }
}

impl Column for Times {
    fn take(&mut self) -> ArrayRef {
        let next = TimestampMicrosecondBuilder::with_capacity(self.0.len()).with_timezone("UTC");
        Arc::new(std::mem::replace(&mut self.0, next).finish())
    }
}

impl<const BYTES: i32> Column for Hashes<BYTES> {
    fn take(&mut self) -> ArrayRef {
        let next = FixedSizeBinaryBuilder::with_capacity(self.0.len(), BYTES);
        Arc::new(std::mem::replace(&mut self.0, next).finish())
    }
}

/// Builds a record batch of these columns, which are in the order of the schema, and empties the builders.
pub fn batch(schema: &SchemaRef, columns: &mut [&mut dyn Column]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(schema.clone(), columns.iter_mut().map(|column| column.take()).collect())
}
