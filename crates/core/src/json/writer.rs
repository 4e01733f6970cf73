//! Writing JSON.

use serde::Serialize;

/// A JSON text under construction. A value that follows another one is the next element or member: commas are put between them.
#[derive(Default)]
pub struct JsonText(Vec<u8>);

impl JsonText {
    /// An empty text with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        JsonText(Vec::with_capacity(bytes))
    }

    /// The text of a value.
    pub fn of_value(value: &impl Serialize) -> Self {
        let mut json = JsonText::default();
        json.value(value);
        json
    }

    /// The text of an object with the members that `members` appends.
    pub fn of_object(members: impl FnOnce(&mut Self)) -> Self {
        let mut json = JsonText::default();
        json.object(members);
        json
    }

    /// Makes room for `bytes` more.
    pub fn reserve(&mut self, bytes: usize) {
        self.0.reserve(bytes);
    }

    /// Size of the text in bytes.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The text as it was written: UTF-8, apart from what a file has of other bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The buffer for the next value, which the caller writes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        // No value ends with one of these.
        if !matches!(self.0.last(), None | Some(b'{' | b'[' | b':')) {
            self.0.push(b',');
        }
        &mut self.0
    }

    /// Begins an object. Its members follow, then [`close`](Self::close).
    pub fn open(&mut self) {
        self.buffer().push(b'{');
    }

    /// Ends an object.
    pub fn close(&mut self) {
        self.0.push(b'}');
    }

    /// Appends an object with the members that `members` appends.
    pub fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.open();
        members(self);
        self.close();
    }

    /// Appends an array with the elements that `elements` appends.
    pub fn array<T>(&mut self, elements: impl FnOnce(&mut Self) -> T) -> T {
        self.buffer().push(b'[');
        let result = elements(self);
        self.0.push(b']');
        result
    }

    /// Appends the key of the next member of an object; its value follows.
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.text(key.as_bytes());
        self.0.push(b':');
        self
    }

    /// Appends a value.
    pub fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        // Serialisation fails only for maps whose keys are not strings.
        let _ = serde_json::to_writer(self.buffer(), value);
    }

    /// Appends the next member of an object.
    pub fn member(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        self.key(key).value(value);
    }

    /// Appends values that are JSON already.
    pub fn raw(&mut self, json: &[u8]) {
        self.buffer().extend_from_slice(json);
    }

    /// Appends a string, given the inside of its JSON text.
    pub fn text(&mut self, inside: &[u8]) {
        self.buffer().push(b'"');
        self.0.extend_from_slice(inside);
        self.0.push(b'"');
    }

    /// Appends a number. Infinity is written as a number that parses to it.
    pub fn number(&mut self, value: f64) {
        self.raw(number_json(value).as_bytes());
    }
}

impl From<JsonText> for Vec<u8> {
    fn from(json: JsonText) -> Self {
        json.0
    }
}

/// A number as JSON. Infinity is written as a number that parses to it.
fn number_json(value: f64) -> String {
    if value == f64::INFINITY {
        "1e999".to_owned()
    } else if value == f64::NEG_INFINITY {
        "-1e999".to_owned()
    } else if value == 0.0 && value.is_sign_negative() {
        "-0".to_owned()
    } else {
        ryu_js::Buffer::new().format(value).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_have_commas_between_them() {
        let json = JsonText::of_object(|json| {
            json.member("a", "{");
            json.key("b").object(|_| ());
            json.key("c").array(|json| {
                json.raw(b"[]");
                json.text(b"\\n");
                json.array(|json| json.value(&[Some(1.5), None]));
            });
            json.key("d").array(|_| ());
        });
        assert_eq!(json.into_bytes(), br#"{"a":"{","b":{},"c":[[],"\n",[[1.5,null]]],"d":[]}"#);
    }

    #[test]
    fn numbers_survive_as_json() {
        let mut json = JsonText::default();
        [f64::INFINITY, f64::NEG_INFINITY, -0.0, 1.5].into_iter().for_each(|number| json.number(number));
        assert_eq!(json.into_bytes(), b"1e999,-1e999,-0,1.5");
    }
}
