//! JSON as bytes: scanning and validating it, decoding its strings, reading the fields of objects, and printing its canonical form.

mod block;
mod canonical;
mod decode;
pub mod fields;
mod payload;
mod scan;
mod simple_escape;
mod text;
mod validator;
mod wtf8;

pub use canonical::{Array, MAX_DIGITS, Object, digits, write_integer, write_string, write_text, write_texts};
pub use decode::{
    ROOM, decode, decode_narrow_onto, decode_up_to, decode_wide_onto, is_blank, is_blank_string, spells, spells_any,
};
pub(crate) use fields::names;
pub use fields::{Field, FieldError, Name, read};
pub use payload::{Payload, escape_line_separators, may_have_line_separators};
pub use scan::{Cursor, Nesting, NotJson, Span, plain_prefix};
pub use simple_escape::is_simple_escape;
pub use text::Text;
pub use validator::{Step, Validator};
pub use wtf8::{Surrogates, decode_private, decode_wtf8};
