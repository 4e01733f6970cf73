//! Builders of columns, and the batch that they make.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, BooleanBuilder, DictionaryArray, DurationMicrosecondBuilder, FixedSizeBinaryBuilder,
    Int32Builder, Int64Builder, RecordBatch, StringArray, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

/// Text.
pub type Texts = StringBuilder;
/// Numbers.
pub type Integers = Int64Builder;
/// Yes, no, or neither.
pub type Flags = BooleanBuilder;

/// Values of which there are few.
#[derive(Default)]
pub struct Enums {
    keys: Int32Builder,
    /// The values that have keys, in their order.
    values: Vec<String>,
    /// Where each of them is, once there are too many to compare with.
    places: HashMap<String, i32>,
    last: usize,
}

/// With so many values a comparison costs less than a hash.
const COMPARED: usize = 8;

impl Enums {
    /// Appends a value.
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

/// Times.
pub struct Times(TimestampMicrosecondBuilder);

impl Default for Times {
    fn default() -> Self {
        Times(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
    }
}

impl Times {
    /// Appends a time in microseconds.
    pub fn append_option(&mut self, time: Option<i64>) {
        self.0.append_option(time);
    }
}

/// Durations in microseconds.
pub type Durations = DurationMicrosecondBuilder;

/// Hashes of `BYTES` bytes.
pub struct Hashes<const BYTES: i32>(FixedSizeBinaryBuilder);

impl<const BYTES: i32> Default for Hashes<BYTES> {
    fn default() -> Self {
        Hashes(FixedSizeBinaryBuilder::new(BYTES))
    }
}

impl<const BYTES: i32> Hashes<BYTES> {
    /// Appends a hash, which has the column's length.
    pub fn append_option(&mut self, hash: Option<&[u8]>) {
        match hash {
            // A hash of another length is a mistake of ours; the column stays as long as the others.
            Some(hash) if self.0.append_value(hash).is_ok() => {}
            _ => self.0.append_null(),
        }
    }
}

/// A builder of a column, whatever is in it.
pub trait Column {
    /// The column so far. The builder is empty then, and has room for as much again: most batches are alike, and growing is copying.
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

/// The columns of a batch, in the order of the schema.
pub fn batch(schema: &SchemaRef, columns: &mut [&mut dyn Column]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(schema.clone(), columns.iter_mut().map(|column| column.take()).collect())
}
