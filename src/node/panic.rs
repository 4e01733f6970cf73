//! A panic of work on another thread, as JavaScript gets to know of it.

use std::any::Any;

use super::json::JsonText;
use super::text::Text;

/// The JSON text `{"panicked"}` with what the panic said: the last that JavaScript gets of the work.
pub fn panicked(panic: &(dyn Any + Send)) -> Text {
    let mut json = JsonText::default();
    json.syntax("{\"panicked\":");
    json.string(message(panic));
    json.syntax("}");
    json.finish()
}

fn message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (_, Some(message)) => message,
        _ => "a panic without a message",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_panic_said_is_passed_on() {
        let text = |panic: Box<dyn Any + Send>| match panicked(&*panic) {
            Text::Latin1(bytes) => String::from_utf8(bytes).unwrap(),
            Text::Utf16(units) => String::from_utf16(&units).unwrap(),
        };
        let of = |work: fn()| text(std::panic::catch_unwind(work).unwrap_err());
        assert_eq!(of(|| panic!("at once")), r#"{"panicked":"at once"}"#);
        assert_eq!(of(|| panic!("index {} of {}", 3, 2)), r#"{"panicked":"index 3 of 2"}"#);
        assert_eq!(of(|| std::panic::panic_any(7)), r#"{"panicked":"a panic without a message"}"#);
    }
}
