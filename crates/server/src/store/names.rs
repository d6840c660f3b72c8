//! The names in a directory, with all text in one string to save memory.

/// A list of names, in insertion order until it is sorted.
#[derive(Debug, Default)]
pub(super) struct Names {
    text: String,
    places: Vec<NameSpan>,
}

/// The position of a name in the text: its segment, followed by its file name if that differs.
#[derive(Debug, Clone, Copy)]
struct NameSpan {
    start: u32,
    segment: u16,
    spelled: u16,
    beside: bool,
}

/// A name in a directory. Names are ordered like the keys that begin with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name<'a> {
    /// The part of a key that the name stands for. A directory's segment ends with a slash.
    pub(super) segment: &'a str,
    /// True if the file shares its name with a directory, and is spelled differently for that reason.
    pub(super) beside: bool,
    /// The file name, if it differs from the segment.
    pub(super) spelled: Option<&'a str>,
}

impl<'a> Name<'a> {
    pub(super) fn is_directory(self) -> bool {
        self.segment.ends_with('/')
    }

    pub(super) fn file_name(self) -> &'a str {
        self.spelled.unwrap_or_else(|| self.segment.trim_end_matches('/'))
    }
}

impl NameSpan {
    fn slice(self, text: &str) -> Name<'_> {
        let start = self.start as usize;
        let behind = start + usize::from(self.segment);
        let spelled = &text[behind..behind + usize::from(self.spelled)];
        Name {
            segment: &text[start..behind],
            beside: self.beside,
            spelled: (!spelled.is_empty()).then_some(spelled),
        }
    }
}

impl Names {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<Name<'_>> {
        self.places.get(at).map(|place| place.slice(&self.text))
    }

    pub(super) fn last(&self) -> Option<Name<'_>> {
        self.places.last().map(|place| place.slice(&self.text))
    }

    /// Adds a name, unless it is too long to be one.
    pub(super) fn push(&mut self, name: Name<'_>) {
        let spelled = name.spelled.unwrap_or_default();
        let start = u32::try_from(self.text.len());
        let (segment, length) = (u16::try_from(name.segment.len()), u16::try_from(spelled.len()));
        if let (Ok(start), Ok(segment), Ok(length)) = (start, segment, length) {
            self.text.push_str(name.segment);
            self.text.push_str(spelled);
            self.places.push(NameSpan { start, segment, spelled: length, beside: name.beside });
        }
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.text.len() + size_of_val(&self.places[..])
    }

    /// Frees unused memory.
    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.places.shrink_to_fit();
    }

    /// Returns the index of the first name that is not before `from`, in a sorted list.
    pub(super) fn seek(&self, from: &[u8]) -> usize {
        self.places.partition_point(|place| place.slice(&self.text).segment.as_bytes() < from)
    }

    /// Sorts the names, and keeps only the first name of each segment.
    pub(super) fn sort(&mut self) {
        let text = self.text.as_str();
        self.places.sort_unstable_by_key(|place| place.slice(text));
        self.places.dedup_by_key(|place| place.slice(text).segment);
    }

    /// Keeps the first names that fit into `memory` bytes, but at least one. Returns the segment of the first name
    /// that is dropped.
    pub(super) fn cut(&mut self, memory: usize) -> Option<String> {
        let mut left = memory;
        let fits = |place: &&NameSpan| {
            let length = usize::from(place.segment) + usize::from(place.spelled);
            let fitting = left.checked_sub(length + size_of::<NameSpan>());
            fitting.inspect(|rest| left = *rest).is_some()
        };
        let count = self.places.iter().take_while(fits).count().max(1);
        let limit = self.get(count)?.segment.to_owned();
        let mut kept =
            Self { text: String::with_capacity(memory), places: Vec::with_capacity(count) };
        self.places[..count].iter().for_each(|place| kept.push(place.slice(&self.text)));
        *self = kept;
        Some(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(entries: &[(&str, bool, Option<&str>)]) -> Names {
        let mut names = Names::default();
        for (segment, beside, spelled) in entries {
            names.push(Name { segment, beside: *beside, spelled: *spelled });
        }
        names.sort();
        names
    }

    fn segments(names: &Names) -> Vec<&str> {
        (0..names.len()).filter_map(|at| names.get(at)).map(|name| name.segment).collect()
    }

    #[test]
    fn names_are_in_the_order_of_keys_and_each_once() {
        let names = names(&[
            ("b", true, Some("%62")),
            ("a/", false, None),
            ("a", false, Some("%61")),
            ("b", false, None),
            ("a!", false, None),
        ]);
        assert_eq!(segments(&names), ["a", "a!", "a/", "b"]);
        let spelled: Vec<_> = (0..4).map(|at| names.get(at).unwrap().file_name()).collect();
        assert_eq!(spelled, ["%61", "a!", "a", "b"]);
        assert!(!names.last().unwrap().beside);
        for (from, at) in [("", 0), ("a", 0), ("a\0", 1), ("a/", 2), ("a/x", 3), ("c", 4)] {
            assert_eq!(names.seek(from.as_bytes()), at, "{from:?}");
        }
    }

    #[test]
    fn the_first_names_are_kept_and_what_comes_next_is_known() {
        let all = [("c", false, None), ("a", false, Some("%61")), ("b/", false, None)];
        let check = |memory: usize, kept: &[&str], next: Option<&str>| {
            let mut names = names(&all);
            assert_eq!(names.cut(memory).as_deref(), next);
            assert_eq!(segments(&names), kept);
            assert!(names.memory() <= memory || names.len() == 1);
            assert_eq!(names.get(0).unwrap().file_name(), "%61");
        };
        let memory = names(&all).memory();
        check(memory, &["a", "b/", "c"], None);
        check(memory - 1, &["a", "b/"], Some("c"));
        check(0, &["a"], Some("b/"));
    }
}
