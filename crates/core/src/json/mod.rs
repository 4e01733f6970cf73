//! JSON as bytes: scanning and validating it, decoding its strings, reading the fields of objects, walking and writing values.

mod block;
mod canonical;
mod decode;
mod fields;
mod members;
mod payload;
mod scan;
mod simple_escape;
mod text;
mod tree;
mod writer;

pub(crate) use canonical::{Array, Object, Writer};
pub use decode::{decode, is_blank, spells};
pub(crate) use decode::{decode_up_to, escaped_unit, is_blank_string, spells_any};
pub use fields::{Field, FieldError, Name};
pub(crate) use fields::{names, quoted};
pub use payload::Payload;
pub(crate) use payload::{escape_line_separators, may_have_line_separators};
pub use scan::{Cursor, Nesting, NotJson, Span, plain_prefix};
pub(crate) use scan::{KeyPlace, Visitor};
pub(crate) use simple_escape::is_simple_escape;
pub use text::Text;
pub(crate) use text::push_name;
pub use tree::{Index, Mark, Shape, SpareTree, Tree};
pub(crate) use tree::{ROOT, inside, text_of};
pub use writer::JsonText;
