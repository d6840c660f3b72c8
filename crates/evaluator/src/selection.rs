//! The rows of a batch that an expression is evaluated for.

/// A set of rows of one batch, in order. It is linked to the selection it was taken from, so that values computed for
/// that one are reused.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    rows: Owned,
    pub(super) id: SelectionId,
}

/// Identifies a selection of the current batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelectionId(u32);

#[derive(Debug, Clone)]
enum Owned {
    All(usize),
    List(Vec<u32>),
}

/// A borrowed [`Selection`]; row numbers count from 0 in the batch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// The rows `0..n`.
    All(usize),
    /// The listed rows, ascending.
    List(&'a [u32]),
}

/// The input of an operator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    /// The rows to compute.
    pub(super) rows: Rows<'a>,
    /// The number of rows in the batch.
    pub(super) batch_rows: usize,
    /// The block of the batch.
    pub(super) block: &'a [u8],
}

impl Selection {
    /// Returns the selected rows.
    pub(crate) fn rows(&self) -> Rows<'_> {
        match &self.rows {
            Owned::All(n) => Rows::All(*n),
            Owned::List(rows) => Rows::List(rows),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows().len() == 0
    }
}

impl Rows<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::All(n) => n,
            Self::List(rows) => rows.len(),
        }
    }

    /// Calls `f` with every row.
    #[inline(always)]
    pub(crate) fn for_each(self, mut f: impl FnMut(usize)) {
        match self {
            Self::All(n) => (0..n).for_each(f),
            Self::List(rows) => rows.iter().for_each(|&row| f(row as usize)),
        }
    }

    /// Calls `f` with every row until it fails.
    #[inline(always)]
    pub(crate) fn try_for_each<E>(
        self,
        mut f: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::All(n) => (0..n).try_for_each(f),
            Self::List(rows) => rows.iter().try_for_each(|&row| f(row as usize)),
        }
    }
}

/// The tree of the selections of one batch.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    /// The parent of each selection; the first is its own parent.
    parents: Vec<u32>,
}

impl Lineage {
    /// Removes all selections and returns one of all rows of a new batch.
    pub(super) fn start(&mut self, rows: usize) -> Selection {
        self.parents.clear();
        self.parents.push(0);
        Selection { rows: Owned::All(rows), id: SelectionId(0) }
    }

    /// Returns the rows of `from` for which `keep` holds.
    pub(super) fn narrow(
        &mut self,
        from: &Selection,
        mut keep: impl FnMut(usize) -> bool,
    ) -> Selection {
        // Avoid a branch on `keep`, which is unpredictable where speed matters.
        let mut rows = vec![0_u32; from.rows().len()];
        let mut kept = 0;
        from.rows().for_each(|row| {
            rows[kept] = row as u32;
            kept += usize::from(keep(row));
        });
        rows.truncate(kept);
        self.list(from, rows)
    }

    /// Returns the given rows of `from` as a selection.
    pub(super) fn list(&mut self, from: &Selection, rows: Vec<u32>) -> Selection {
        if rows.len() == from.rows().len() {
            return from.clone();
        }
        let id = self.parents.len() as u32;
        self.parents.push(from.id.0);
        Selection { rows: Owned::List(rows), id: SelectionId(id) }
    }

    /// Returns whether `narrow` equals `wide` or was taken from it, directly or not.
    pub(super) fn covers(&self, wide: SelectionId, narrow: SelectionId) -> bool {
        let mut id = narrow.0;
        loop {
            if id == wide.0 {
                return true;
            }
            // A parent always has a smaller id.
            if id < wide.0 || id == 0 {
                return false;
            }
            id = self.parents[id as usize];
        }
    }
}
