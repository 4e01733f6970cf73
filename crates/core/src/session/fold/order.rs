//! A sequence of nodes in which a node is found by its index, and an index by its node.

/// Maximum number of nodes in a block.
const BLOCK_NODES: usize = if cfg!(test) { 4 } else { 512 };

/// A sequence of nodes, which are small numbers, in blocks. An operation reads and moves the nodes of one block, and passes over the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    blocks: Vec<Vec<usize>>,
    /// The numbers of the blocks, in order. Some may be empty.
    sequence: Vec<usize>,
    /// The number of the block of each node.
    block_of: Vec<usize>,
    length: usize,
}

impl Order {
    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Appends a node.
    pub(super) fn push(&mut self, node: usize) {
        let last = self.sequence.last().copied().filter(|block| self.blocks[*block].len() < BLOCK_NODES);
        let block = last.unwrap_or_else(|| self.new_block(self.sequence.len(), Vec::new()));
        self.insert(block, self.blocks[block].len(), node);
    }

    /// Removes the last node.
    pub(super) fn pop(&mut self) -> Option<usize> {
        while let Some(block) = self.sequence.last().copied() {
            if let Some(node) = self.blocks[block].pop() {
                self.length -= 1;
                return Some(node);
            }
            self.sequence.pop();
            self.blocks[block] = Vec::new();
        }
        None
    }

    /// Removes a node.
    pub(super) fn remove(&mut self, node: usize) {
        let at = self.within(node);
        self.blocks[self.block_of[node]].remove(at);
        self.length -= 1;
    }

    /// Inserts a node directly behind another one.
    pub(super) fn insert_behind(&mut self, other: usize, node: usize) {
        let block = self.block_of[other];
        if self.blocks[block].len() >= BLOCK_NODES {
            let moved = self.blocks[block].split_off(BLOCK_NODES / 2);
            let place = self.sequence.iter().position(|number| *number == block);
            self.new_block(place.map_or(0, |place| place + 1), moved);
        }
        self.insert(self.block_of[other], self.within(other) + 1, node);
    }

    /// The index of a node.
    pub(super) fn index_of(&self, node: usize) -> usize {
        let before = self.sequence.iter().take_while(|block| **block != self.block_of[node]);
        before.map(|block| self.blocks[*block].len()).sum::<usize>() + self.within(node)
    }

    /// The node with an index.
    pub(super) fn at(&self, mut index: usize) -> Option<usize> {
        for block in &self.sequence {
            let nodes = &self.blocks[*block];
            match nodes.get(index) {
                Some(node) => return Some(*node),
                None => index -= nodes.len(),
            }
        }
        None
    }

    /// All nodes in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.sequence.iter().flat_map(|block| self.blocks[*block].iter().copied())
    }

    fn within(&self, node: usize) -> usize {
        let block = &self.blocks[self.block_of[node]];
        block.iter().position(|other| *other == node).unwrap_or(block.len())
    }

    fn insert(&mut self, block: usize, at: usize, node: usize) {
        self.blocks[block].insert(at, node);
        if node >= self.block_of.len() {
            self.block_of.resize(node + 1, 0);
        }
        self.block_of[node] = block;
        self.length += 1;
    }

    /// Adds a block of these nodes at a place of the sequence.
    fn new_block(&mut self, place: usize, nodes: Vec<usize>) -> usize {
        let number = self.blocks.len();
        nodes.iter().for_each(|node| self.block_of[*node] = number);
        self.blocks.push(nodes);
        self.sequence.insert(place, number);
        number
    }
}
