//! The history that a conversion has written so far: which items are live, how they follow each other, and which calls are answered.

use hashbrown::HashMap;

/// An item that was placed. The first one stands for the beginning of the history and is always live.
pub(super) type Node = u32;

/// The beginning of the history.
pub(super) const ROOT: Node = 0;

/// Who speaks in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum Speaker {
    Human,
    Ai,
    Tool,
}

impl Speaker {
    /// The speaker as it stands in an item.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Speaker::Human => "human",
            Speaker::Ai => "ai",
            Speaker::Tool => "tool",
        }
    }
}

/// What is known of an item.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// The item before it.
    before: Node,
    /// The last copy of it that stands for it; [`ROOT`] if there is none.
    copy: Node,
    /// The item that it is a copy of, or itself.
    original: Node,
    /// Its index in the live history, if it is there.
    position: u32,
    /// Where its text is in the output.
    offset: u64,
    length: u32,
    /// Its calls and results, as a range of [`History::ties`].
    ties: (u32, u32),
    speaker: Speaker,
    /// Whether it holds the history when a record continues before it.
    is_firm: bool,
}

/// The calls with an id.
#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    live_calls: u32,
    live_results: u32,
    /// The name of the tool, as an index of [`History::names`].
    name: u32,
}

/// A call or a result of an item: the key of its id, with a lowest bit that is set for results.
type Tie = u64;

fn tie_of_call(key: u64) -> Tie {
    key & !1
}

fn tie_of_result(key: u64) -> Tie {
    key | 1
}

/// Why a result has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unplaced {
    /// The file has no such call before it.
    Orphan,
    /// The call was rewound or compacted away.
    CallNotLive,
    /// All calls with its id have a result.
    Duplicate,
}

impl Unplaced {
    /// The reason as it stands in a message.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Unplaced::Orphan => "orphan-result",
            Unplaced::CallNotLive => "call-not-live",
            Unplaced::Duplicate => "duplicate-result",
        }
    }
}

/// The live history, and everything that was ever placed.
pub(super) struct History {
    placed: Vec<Placed>,
    live: Vec<Node>,
    /// The positions of live human items, ascending.
    humans: Vec<u32>,
    /// The positions of live items that are firm, ascending.
    firm: Vec<u32>,
    ties: Vec<Tie>,
    calls: HashMap<u64, Calls>,
    names: Vec<Vec<u8>>,
}

/// Where an item's text is in the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub offset: u64,
    pub length: usize,
}

impl Default for History {
    fn default() -> Self {
        let root = Placed {
            before: ROOT,
            copy: ROOT,
            original: ROOT,
            position: 0,
            offset: 0,
            length: 0,
            ties: (0, 0),
            speaker: Speaker::Human,
            is_firm: false,
        };
        History {
            placed: vec![root],
            live: Vec::new(),
            humans: Vec::new(),
            firm: Vec::new(),
            ties: Vec::new(),
            calls: HashMap::new(),
            names: Vec::new(),
        }
    }
}

impl History {
    fn at(&self, node: Node) -> &Placed {
        &self.placed[node as usize]
    }

    fn at_mut(&mut self, node: Node) -> &mut Placed {
        &mut self.placed[node as usize]
    }

    /// Number of live items.
    pub(super) fn len(&self) -> usize {
        self.live.len()
    }

    /// The last live item.
    pub(super) fn end(&self) -> Node {
        self.live.last().copied().unwrap_or(ROOT)
    }

    /// The number that the next item gets.
    pub(super) fn next_node(&self) -> Node {
        self.placed.len() as Node
    }

    /// The item that this one is a copy of, or itself.
    pub(super) fn original(&self, node: Node) -> Node {
        self.at(node).original
    }

    /// Creates an item that is not in the history yet. A firm one holds the history when a record continues before it.
    pub(super) fn create(&mut self, speaker: Speaker, is_firm: bool) -> Node {
        let node = self.next_node();
        let ties = (self.ties.len() as u32, self.ties.len() as u32);
        let mut created = *self.at(ROOT);
        created = Placed { original: node, ties, speaker, is_firm, ..created };
        self.placed.push(created);
        node
    }

    /// Creates a copy of an item. If it stands for the item, a record that continues there continues at the copy.
    pub(super) fn copy(&mut self, node: Node, stands: bool) -> Node {
        let copy = self.next_node();
        let placed = *self.at(node);
        self.placed.push(Placed { copy: ROOT, ..placed });
        if stands {
            self.at_mut(placed.original).copy = copy;
        }
        copy
    }

    /// Puts an item at the end, behind the one that is there.
    pub(super) fn place(&mut self, node: Node) {
        self.at_mut(node).before = self.end();
        self.put_back(node);
    }

    /// Puts an item at the end that was in the history before, and keeps what it knows of the one before it.
    pub(super) fn put_back(&mut self, node: Node) {
        let position = self.live.len() as u32;
        self.at_mut(node).position = position;
        let placed = *self.at(node);
        self.live.push(node);
        if placed.speaker == Speaker::Human {
            self.humans.push(position);
        }
        if placed.is_firm {
            self.firm.push(position);
        }
        self.count(placed.ties, 1);
    }

    fn count(&mut self, ties: (u32, u32), by: i32) {
        for index in ties.0..ties.1 {
            let tie = self.ties[index as usize];
            let calls = self.calls.entry(tie & !1).or_default();
            let count = if tie & 1 == 0 { &mut calls.live_calls } else { &mut calls.live_results };
            *count = count.saturating_add_signed(by);
        }
    }

    /// Removes all items but the first `keep`.
    pub(super) fn truncate(&mut self, keep: usize) {
        while self.live.len() > keep {
            if let Some(node) = self.live.pop() {
                self.count(self.at(node).ties, -1);
            }
        }
        for positions in [&mut self.humans, &mut self.firm] {
            while positions.last().is_some_and(|position| *position as usize >= keep) {
                positions.pop();
            }
        }
    }

    /// The number of items up to and including this one, if it is live.
    pub(super) fn live_up_to(&self, node: Node) -> Option<usize> {
        if node == ROOT {
            return Some(0);
        }
        let position = self.at(node).position as usize;
        (self.live.get(position) == Some(&node)).then_some(position + 1)
    }

    /// The item, or if it is not live the last copy that stands for it, if that is live.
    pub(super) fn standing(&self, node: Node) -> Node {
        let copy = self.at(self.at(node).original).copy;
        if self.live_up_to(node).is_none() && copy != ROOT && self.live_up_to(copy).is_some() { copy } else { node }
    }

    /// Whether a human item is behind the first `length` items.
    pub(super) fn has_human_behind(&self, length: usize) -> bool {
        self.humans.last().is_some_and(|position| *position as usize >= length)
    }

    /// Whether a firm item is behind the first `length` items.
    pub(super) fn has_firm_behind(&self, length: usize) -> bool {
        self.firm.last().is_some_and(|position| *position as usize >= length)
    }

    /// The number of items before the n-th last human item; before the first one if there are fewer, and all if there is none.
    pub(super) fn before_human(&self, n: usize) -> usize {
        let index = self.humans.len().saturating_sub(n);
        match self.humans.get(index) {
            Some(position) if n > 0 => *position as usize,
            _ => self.live.len(),
        }
    }

    /// The items from a live one, exclusive, to `node`, in reverse, and the number of items up to the live one. `None` if there are more than `most`.
    pub(super) fn path_to(&self, node: Node, most: usize) -> Option<(Vec<Node>, usize)> {
        let (mut path, mut at) = (Vec::new(), node);
        loop {
            if let Some(length) = self.live_up_to(at) {
                return Some((path, length));
            }
            if path.len() >= most {
                return None;
            }
            path.push(at);
            at = self.at(at).before;
        }
    }

    /// The items from `first` to `last`, in order, if `last` follows `first` by at most `most` items.
    pub(super) fn segment(&self, first: Node, last: Node, most: usize) -> Option<Vec<Node>> {
        let (mut path, mut at) = (vec![last], last);
        while at != first {
            if at == ROOT || path.len() > most {
                return None;
            }
            at = self.at(at).before;
            path.push(at);
        }
        path.reverse();
        Some(path)
    }

    /// The live items from the `from`-th on.
    pub(super) fn live_from(&self, from: usize) -> &[Node] {
        self.live.get(from..).unwrap_or_default()
    }

    /// States where the text of an item is in the output.
    pub(super) fn written(&mut self, node: Node, text: Text) {
        let placed = self.at_mut(node);
        (placed.offset, placed.length) = (text.offset, u32::try_from(text.length).unwrap_or(u32::MAX));
    }

    /// Where the text of an item is in the output.
    pub(super) fn text(&self, node: Node) -> Text {
        let placed = self.at(node);
        Text { offset: placed.offset, length: placed.length as usize }
    }

    /// Counts a call of a live item whose calls are not [complete](Self::complete) yet.
    pub(super) fn call(&mut self, key: u64, name: &[u8]) {
        let index = match self.names.iter().rposition(|known| known == name) {
            Some(index) => index,
            // Few tools have most calls; a file with countless names must not make this search long.
            None if self.names.len() > 1000 => 0,
            None => {
                self.names.push(name.to_vec());
                self.names.len() - 1
            }
        };
        let calls = self.calls.entry(key & !1).or_default();
        calls.name = index as u32;
        calls.live_calls += 1;
    }

    /// States all calls of a live item, which were counted already.
    pub(super) fn complete(&mut self, node: Node, keys: impl Iterator<Item = u64>) {
        let start = self.ties.len() as u32;
        self.ties.extend(keys.map(tie_of_call));
        self.at_mut(node).ties = (start, self.ties.len() as u32);
    }

    /// The name of the tool that the calls with this id call, if one of them has no result yet. `taken` results are about to be placed.
    pub(super) fn unanswered(&self, key: u64, taken: u32) -> Result<&[u8], Unplaced> {
        let Some(calls) = self.calls.get(&(key & !1)) else { return Err(Unplaced::Orphan) };
        if calls.live_calls == 0 {
            return Err(Unplaced::CallNotLive);
        }
        if calls.live_results.saturating_add(taken) >= calls.live_calls {
            return Err(Unplaced::Duplicate);
        }
        Ok(self.names.get(calls.name as usize).map_or(b"\"\"", Vec::as_slice))
    }

    /// Counts a result of an item that is about to be placed, and of which nothing else was counted since it was created.
    pub(super) fn result(&mut self, node: Node, key: u64) {
        self.ties.push(tie_of_result(key));
        let end = self.ties.len() as u32;
        self.at_mut(node).ties.1 = end;
    }
}
