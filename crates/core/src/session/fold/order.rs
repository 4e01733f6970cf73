//! A sequence of nodes in which a node is found by its index, and an index by its node.

/// Maximum number of nodes in a chunk.
const CHUNK_NODES: usize = if cfg!(test) { 4 } else { 512 };

/// A sequence of nodes, which are small numbers. Nodes are appended and removed at the end, inserted behind others and removed anywhere, each in
/// logarithmic time: the nodes are in chunks of limited size, and a Fenwick tree counts the nodes of chunks.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    chunks: Vec<Vec<usize>>,
    /// The numbers of chunks that are not in use.
    spare: Vec<usize>,
    /// The numbers of the chunks in use, in order. Some may be empty.
    sequence: Vec<usize>,
    /// The place of each chunk in that sequence.
    places: Vec<usize>,
    counts: Fenwick,
    /// The number of the chunk of each node.
    chunk_of: Vec<usize>,
    length: usize,
}

impl Order {
    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Appends a node.
    pub(super) fn push(&mut self, node: usize) {
        let last = self.sequence.last().copied().filter(|chunk| self.chunks[*chunk].len() < CHUNK_NODES);
        let chunk = last.unwrap_or_else(|| {
            let chunk = self.new_chunk(Vec::new());
            self.places[chunk] = self.sequence.len();
            self.sequence.push(chunk);
            self.counts.push(0);
            chunk
        });
        self.chunks[chunk].push(node);
        self.set_chunk(node, chunk);
        self.counts.add(self.places[chunk], 1);
        self.length += 1;
    }

    /// Removes the last node.
    pub(super) fn pop(&mut self) -> Option<usize> {
        while let Some(chunk) = self.sequence.last().copied() {
            if let Some(node) = self.chunks[chunk].pop() {
                self.counts.take(self.places[chunk]);
                self.length -= 1;
                return Some(node);
            }
            self.sequence.pop();
            self.counts.pop();
            self.spare.push(chunk);
        }
        None
    }

    /// Removes a node.
    pub(super) fn remove(&mut self, node: usize) {
        let chunk = self.chunk_of[node];
        let at = self.within(node);
        self.chunks[chunk].remove(at);
        self.counts.take(self.places[chunk]);
        self.length -= 1;
    }

    /// Inserts a node directly behind another one.
    pub(super) fn insert_behind(&mut self, other: usize, node: usize) {
        let mut chunk = self.chunk_of[other];
        if self.chunks[chunk].len() >= CHUNK_NODES {
            self.split(chunk);
            chunk = self.chunk_of[other];
        }
        let at = self.within(other) + 1;
        self.chunks[chunk].insert(at, node);
        self.set_chunk(node, chunk);
        self.counts.add(self.places[chunk], 1);
        self.length += 1;
    }

    /// The index of a node.
    pub(super) fn index_of(&self, node: usize) -> usize {
        self.counts.before(self.places[self.chunk_of[node]]) + self.within(node)
    }

    /// The node with an index.
    pub(super) fn at(&self, index: usize) -> Option<usize> {
        if index >= self.length {
            return None;
        }
        let (place, before) = self.counts.find(index);
        self.chunks[self.sequence[place]].get(index - before).copied()
    }

    /// All nodes in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.sequence.iter().flat_map(|chunk| self.chunks[*chunk].iter().copied())
    }

    fn within(&self, node: usize) -> usize {
        let chunk = &self.chunks[self.chunk_of[node]];
        chunk.iter().position(|other| *other == node).unwrap_or(chunk.len())
    }

    fn set_chunk(&mut self, node: usize, chunk: usize) {
        if node >= self.chunk_of.len() {
            self.chunk_of.resize(node + 1, 0);
        }
        self.chunk_of[node] = chunk;
    }

    fn new_chunk(&mut self, nodes: Vec<usize>) -> usize {
        if let Some(chunk) = self.spare.pop() {
            self.chunks[chunk] = nodes;
            return chunk;
        }
        self.chunks.push(nodes);
        self.places.push(0);
        self.chunks.len() - 1
    }

    /// Moves the second half of a chunk to a new one behind it. Takes time in proportion to the number of chunks, once for as many insertions as
    /// fill half a chunk.
    fn split(&mut self, chunk: usize) {
        let half = self.chunks[chunk].len() / 2;
        let moved = self.chunks[chunk].split_off(half);
        let new = self.new_chunk(moved);
        for at in 0..self.chunks[new].len() {
            let node = self.chunks[new][at];
            self.chunk_of[node] = new;
        }
        self.sequence.insert(self.places[chunk] + 1, new);
        self.counts = Fenwick::default();
        for (place, chunk) in self.sequence.iter().enumerate() {
            self.places[*chunk] = place;
            self.counts.push(self.chunks[*chunk].len());
        }
    }
}

/// A Fenwick tree: counts, with the sum of the first of them in logarithmic time.
#[derive(Clone, Debug, Default)]
struct Fenwick {
    /// At `i`, the sum of the counts from `i & (i + 1)` up to `i`.
    sums: Vec<usize>,
}

impl Fenwick {
    fn push(&mut self, count: usize) {
        let at = self.sums.len();
        let (first, mut sum, mut last) = (at & (at + 1), count, at);
        while last > first {
            sum += self.sums[last - 1];
            last = (last - 1) & last;
        }
        self.sums.push(sum);
    }

    fn pop(&mut self) {
        self.sums.pop();
    }

    fn add(&mut self, mut at: usize, count: usize) {
        while let Some(sum) = self.sums.get_mut(at) {
            *sum += count;
            at |= at + 1;
        }
    }

    fn take(&mut self, mut at: usize) {
        while let Some(sum) = self.sums.get_mut(at) {
            *sum -= 1;
            at |= at + 1;
        }
    }

    /// The sum of the first `end` counts.
    fn before(&self, mut end: usize) -> usize {
        let mut sum = 0;
        while end > 0 {
            sum += self.sums[end - 1];
            end &= end - 1;
        }
        sum
    }

    /// The place of the count in which the sum exceeds `index`, and the sum of the counts before it.
    fn find(&self, index: usize) -> (usize, usize) {
        let (mut place, mut before) = (0, 0);
        let mut step = self.sums.len().checked_ilog2().map_or(0, |log| 1 << log);
        while step > 0 {
            if let Some(sum) = self.sums.get(place + step - 1).filter(|sum| before + **sum <= index) {
                before += sum;
                place += step;
            }
            step >>= 1;
        }
        (place, before)
    }
}
