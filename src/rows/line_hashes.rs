//! The hashes of lines, several computed at a time.

use crate::hash::{Hash, sha256};
use crate::hash_batch::HashBatch;
use crate::hash_batch::stream::HashStream;
use crate::jsonl::lines::Lines;
use crate::session::records::content_of;

/// Number of lines that are hashed together.
const TOGETHER: usize = 16;

/// A line of more bytes is hashed on its own and in place; other lines are copied.
const LONG_BYTES: usize = 16 << 10;

/// A line and its hash.
#[derive(Clone, Copy)]
pub struct HashedLine<'l> {
    /// Its offset in the text.
    pub at: usize,
    /// Its bytes without `\n`.
    pub line: &'l [u8],
    /// Its bytes without the whole ending, `\n` or `\r\n`: these are hashed.
    pub content: &'l [u8],
    /// The hash of `content`.
    pub sha256: Hash,
}

/// Hashes lines. Reuses its buffers.
#[derive(Default)]
pub struct LineHashes {
    batch: HashBatch,
    hashes: Vec<Hash>,
}

impl LineHashes {
    /// Calls `take` with each line of a text, and appends the text to `whole`: hashing both at once takes little longer than hashing one
    /// of them.
    pub fn each<'l>(
        &mut self,
        text: &'l [u8],
        mut whole: Option<&mut HashStream>,
        take: &mut dyn FnMut(HashedLine<'l>),
    ) {
        let mut group = Vec::with_capacity(TOGETHER);
        let mut lines = Lines::new(text);
        loop {
            group.clear();
            group.extend(lines.by_ref().take(TOGETHER).map(|(at, line)| {
                let content = content_of(line, at + line.len() < text.len());
                HashedLine { at, line, content, sha256: Hash::default() }
            }));
            let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
            let end = text.len().min(last.at + last.line.len() + 1);
            let beside = whole.as_deref_mut().map(|stream| (stream, &text[first.at..end]));
            self.hash(&mut group, beside);
            group.iter().copied().for_each(&mut *take);
        }
    }

    fn hash(&mut self, group: &mut [HashedLine<'_>], beside: Option<(&mut HashStream, &[u8])>) {
        self.batch.clear();
        let is_long = |line: &HashedLine<'_>| line.content.len() > LONG_BYTES;
        for line in group.iter().filter(|line| !is_long(line)) {
            self.batch.push([line.content]);
        }
        match beside {
            Some((stream, bytes)) => stream.append_beside(&self.batch, &mut self.hashes, bytes),
            None => self.batch.hash_into(&mut self.hashes),
        }
        let mut hashes = self.hashes.iter();
        for line in group {
            line.sha256 =
                if is_long(line) { sha256([line.content]) } else { hashes.next().copied().unwrap_or_default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_line_comes_once_with_the_hash_of_its_content(
            lines in prop::collection::vec((prop_oneof![0usize..200, LONG_BYTES - 1..LONG_BYTES + 2], any::<bool>()), 0..40),
            last in "[a-z]{0,3}\r?",
        ) {
            let mut text = String::new();
            let mut expected = Vec::new();
            for (place, (length, has_return)) in lines.into_iter().enumerate() {
                let content = char::from(b'a' + place as u8 % 26).to_string().repeat(length);
                expected.push((text.len(), sha256([content.as_bytes()])));
                text += &content;
                text += if has_return { "\r\n" } else { "\n" };
            }
            // Without a `\n`, a final `\r` is part of the content.
            if !last.is_empty() {
                expected.push((text.len(), sha256([last.as_bytes()])));
                text += &last;
            }
            let (mut found, mut whole) = (Vec::new(), HashStream::default());
            LineHashes::default().each(text.as_bytes(), Some(&mut whole), &mut |line| found.push((line.at, line.sha256)));
            prop_assert_eq!(found, expected);
            prop_assert_eq!(whole.finish(), sha256([text.as_bytes()]));
        }
    }
}
