//! A list that keeps its last elements in memory and the others in a temporary file, so that its memory does not grow with the
//! recording.

use std::io::{self, Read, SeekFrom, Write};
use std::ops::Range;

use crate::disk::{File, temporary};

/// Minimum number of the last elements in memory, if the list has that many. At most twice as many are in memory.
const IN_MEMORY: usize = 32 << 10;

/// Number of elements that are read back from the file together.
const READ_TOGETHER: usize = 1024;

/// An element, which has the same size in the file as any other of its type.
pub(crate) trait Element: Copy {
    /// Its bytes in the file.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Default;
    /// Serialises the element.
    fn to_bytes(self) -> Self::Bytes;
    /// Deserialises an element that [`to_bytes`](Self::to_bytes) wrote.
    fn from_bytes(bytes: &Self::Bytes) -> Self;
}

impl Element for u32 {
    type Bytes = [u8; 4];

    fn to_bytes(self) -> [u8; 4] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: &[u8; 4]) -> Self {
        u32::from_le_bytes(*bytes)
    }
}

/// The list.
pub(crate) struct Spill<T> {
    /// The elements from `start` on. Empty only if the whole list is.
    recent: Vec<T>,
    start: usize,
    /// Elements that were read back, with the index of the first of them.
    again: (usize, Vec<T>),
    file: Option<File>,
    in_memory: usize,
}

impl<T: Element> Default for Spill<T> {
    fn default() -> Self {
        Spill::keeping(IN_MEMORY)
    }
}

impl<T: Element> Spill<T> {
    /// An empty list that keeps at least `in_memory` elements in memory, which must not be 0.
    pub(crate) fn keeping(in_memory: usize) -> Self {
        Spill { recent: Vec::new(), start: 0, again: (0, Vec::new()), file: None, in_memory }
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.start + self.recent.len()
    }

    /// Number of elements that are allocated in memory.
    #[cfg(test)]
    pub fn retained(&self) -> usize {
        self.recent.capacity() + self.again.1.capacity()
    }

    /// Appends an element. If no temporary file can be written, all elements stay in memory.
    pub(crate) fn push(&mut self, element: T) {
        if self.recent.len() == self.in_memory.saturating_mul(2) {
            match self.write_out() {
                Ok(()) => {
                    self.recent.drain(..self.in_memory);
                    self.start += self.in_memory;
                }
                Err(_) => self.in_memory = usize::MAX,
            }
        }
        self.recent.push(element);
    }

    /// Appends elements. Returns their range.
    pub(crate) fn extend(&mut self, elements: impl IntoIterator<Item = T>) -> Range<usize> {
        let start = self.len();
        elements.into_iter().for_each(|element| self.push(element));
        start..self.len()
    }

    /// The last element.
    pub(crate) fn last(&self) -> Option<T> {
        self.recent.last().copied()
    }

    /// Returns the element at `index`, which must be less than the length.
    pub(crate) fn get(&mut self, index: usize) -> io::Result<T> {
        if let Some(element) = index.checked_sub(self.start).and_then(|at| self.recent.get(at)) {
            return Ok(*element);
        }
        let is_there = (self.again.0..self.again.0 + self.again.1.len()).contains(&index);
        if !is_there {
            let start = index - index % READ_TOGETHER;
            self.again = (start, self.read_back(start..self.start.min(start + READ_TOGETHER))?);
        }
        self.again.1.get(index - self.again.0).copied().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Removes all elements from `length` on.
    pub(crate) fn truncate(&mut self, length: usize) -> io::Result<()> {
        if length >= self.len() {
            return Ok(());
        }
        // What the file contains from `length` on is overwritten before it is read again.
        self.again = (0, Vec::new());
        if length > self.start || length == 0 {
            self.recent.truncate(length.saturating_sub(self.start));
            self.start = self.start.min(length);
            return Ok(());
        }
        let start = length.saturating_sub(self.in_memory);
        self.recent = self.read_back(start..length)?;
        self.start = start;
        Ok(())
    }

    /// Writes the first half of the elements in memory to the file.
    fn write_out(&mut self) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(self.in_memory * size_of::<T::Bytes>());
        for element in &self.recent[..self.in_memory] {
            bytes.extend_from_slice(element.to_bytes().as_ref());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(temporary::unnamed()?),
        };
        file.seek(SeekFrom::Start((self.start * size_of::<T::Bytes>()) as u64))?;
        file.write_all(&bytes)
    }

    fn read_back(&mut self, range: Range<usize>) -> io::Result<Vec<T>> {
        let Some(file) = &mut self.file else { return Ok(Vec::new()) };
        file.seek(SeekFrom::Start((range.start * size_of::<T::Bytes>()) as u64))?;
        let mut bytes = vec![0; range.len() * size_of::<T::Bytes>()];
        file.read_exact(&mut bytes)?;
        let element = |bytes: &[u8]| {
            let mut own = T::Bytes::default();
            own.as_mut().copy_from_slice(bytes);
            T::from_bytes(&own)
        };
        Ok(bytes.chunks_exact(size_of::<T::Bytes>()).map(element).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_list_is_a_list_wherever_its_elements_are(
            in_memory in 1usize..6,
            steps in proptest::collection::vec((0u8..10, any::<prop::sample::Index>()), 0..400),
        ) {
            let (mut list, mut model) = (Spill::keeping(in_memory), Vec::new());
            for (number, (step, at)) in (0u32..).zip(&steps) {
                if *step == 0 {
                    let length = at.index(model.len() + 2);
                    list.truncate(length).unwrap();
                    model.truncate(length);
                } else {
                    list.push(number);
                    model.push(number);
                }
                prop_assert_eq!((list.len(), list.last()), (model.len(), model.last().copied()));
                if !model.is_empty() {
                    let index = at.index(model.len());
                    prop_assert_eq!(list.get(index).unwrap(), model[index]);
                }
            }
            let all: Vec<u32> = (0..model.len()).rev().map(|index| list.get(index).unwrap()).collect();
            model.reverse();
            prop_assert_eq!(all, model);
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_length() {
        let retained = |length: u32| {
            let mut list = Spill::keeping(100);
            list.extend(0..length);
            assert_eq!((list.get(0).unwrap(), list.len()), (0, length as usize));
            list.retained()
        };
        assert_eq!(retained(5_000), retained(500_000));
        assert!(retained(500_000) <= 512 + READ_TOGETHER);
    }
}
