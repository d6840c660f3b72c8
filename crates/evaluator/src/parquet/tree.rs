//! Checks the tree of a schema, which the footer lists element by element, each before its children.
//!
//! The library reads the tree recursively, so a deep one overflows its stack. It also stores the whole path of every
//! element, so long names or branches take much memory.

use std::io::{self, ErrorKind};

/// The most levels, as many as for JSON.
const MAX_LEVELS: usize = 128;
/// The most bytes of all paths.
const MAX_PATH_BYTES: u64 = 16 << 20;

/// The elements so far.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// For each ancestor of the next element, the number of children still to come and the length of its path in
    /// bytes.
    above: Vec<(u64, u64)>,
    path_bytes: u64,
    /// The number of elements.
    pub(super) elements: u64,
    /// The length of the name of the current element, in bytes.
    pub(super) name_bytes: u64,
    pub(super) children: u64,
}

impl Tree {
    /// Ends the current element.
    ///
    /// # Errors
    /// If the tree is too deep, or its paths are too long.
    pub(super) fn end_element(&mut self) -> io::Result<()> {
        let (name_bytes, children) =
            (std::mem::take(&mut self.name_bytes), std::mem::take(&mut self.children));
        let before = self.above.last().map_or(0, |(_, path)| *path);
        let path = before.saturating_add(name_bytes).saturating_add(1);
        self.elements += 1;
        self.path_bytes = self.path_bytes.saturating_add(path);
        if self.path_bytes > MAX_PATH_BYTES {
            return Err(refused("a schema has paths of more than 16 MiB"));
        }
        if let Some((left, _)) = self.above.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            self.above.push((children, path));
        }
        if self.above.len() > MAX_LEVELS {
            return Err(refused("a schema has more than 128 levels"));
        }
        while self.above.pop_if(|(left, _)| *left == 0).is_some() {}
        Ok(())
    }
}

fn refused(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(elements: impl IntoIterator<Item = (u64, u64)>) -> io::Result<()> {
        let mut tree = Tree::default();
        elements.into_iter().try_for_each(|(name_bytes, children)| {
            (tree.name_bytes, tree.children) = (name_bytes, children);
            tree.end_element()
        })
    }

    #[test]
    fn deep_schemas_are_refused() {
        let levels = |levels| (0..levels).map(|_| (1, 1)).chain([(1, 0)]);
        read(levels(MAX_LEVELS)).unwrap();
        read(levels(MAX_LEVELS + 1)).unwrap_err();
        // There may be many branches side by side.
        let wide = (0..1000).flat_map(|_| levels(100));
        read([(1, 1000)].into_iter().chain(wide)).unwrap();
    }

    #[test]
    fn long_paths_are_refused() {
        read([(1, 2), (1 << 20, 10)].into_iter().chain([(1, 0); 10])).unwrap();
        read([(1, 2), (1 << 20, 20)].into_iter().chain([(1, 0); 20])).unwrap_err();
        // The library rejects a list that is not a tree.
        read([(1, 0), (1, 0)]).unwrap();
    }
}
