//! Keys that are too many for one statement: each part of a file gets a statement with the keys that it may have.
//!
//! Data is often in the order of a key, or nearly so. Then a part of it has keys from a short span. The span is
//! guessed from the first and the last records of the part, or from a footer. The result does not depend on the
//! guess: the condition is `key in the span AND one of the keys there, or key outside of it`, so rows outside of the
//! span are sent as if their keys were unknown. If most keys are in the span, the data has no such order, and the
//! part gets the same statement as all others.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfig;

use super::key_metrics::KeyMetrics;
use super::pushdown::{KeyFilterForm, KeyStatement, KeysByColumn, Spans, push_down_keys};
use super::pushed::PushedKeys;
use super::range_sampler::RangeSampler;
use crate::scan::s3_select::S3SelectSource;

/// The factor of room that a statement should have above the average, because keys are never spread evenly.
const SPREAD: f64 = 1.25;
/// The share of the keys beyond which a part of a table does not get a statement of its own.
const MOST_KEYS: f64 = 0.75;
/// The number of rounds in which a part is divided further, and the most pieces of each division.
const ROUNDS: usize = 2;
const MOST_PIECES: usize = 64;

/// Assigns keys that are too many for one statement to parts of files.
#[derive(Debug, Clone)]
pub struct KeysByRange {
    keys: Arc<KeysByColumn>,
    /// The columns with too many keys, and the number of keys that a statement has room for.
    columns: Vec<(usize, usize)>,
    form: KeyFilterForm,
    /// The conditions for a part without keys of its own.
    otherwise: PushedKeys,
}

/// The expected effect of statements by part, if the data is in the order of the keys.
#[derive(Debug, Clone)]
pub struct RangeEstimate {
    /// The conditions of all statements together.
    pub sent: PushedKeys,
    /// The number of statements.
    pub statements: usize,
    /// The number of requests that look at records before the statements.
    pub looks: usize,
}

impl KeysByRange {
    /// Plans statements by part for the keys that `otherwise` does not contain as `form` requires. Returns `None` if
    /// the files are not read in parts, or if no part would have room for its keys.
    #[must_use]
    pub fn plan(
        asking: &KeyStatement<'_>,
        keys: &Arc<KeysByColumn>,
        form: KeyFilterForm,
        otherwise: &PushedKeys,
        config: &FileScanConfig,
    ) -> Option<(Self, RangeEstimate)> {
        let requests = RangeSampler::possible(asking.source)?;
        let parts = config.file_groups.iter().flat_map(|group| group.files());
        let (mut count, mut most) = (0, 0);
        for part in parts {
            count += 1;
            most += pieces(asking.source, part.effective_size());
        }
        let mut columns = Vec::new();
        let mut best: Option<(f64, RangeEstimate)> = None;
        for (index, keys) in keys.iter() {
            let name = asking.source.file_schema().field(*index).name();
            let all = keys.values.as_ref().map_or(0, Vec::len);
            if otherwise.has_all(name) || all == 0 {
                continue;
            }
            let room = asking.capacity(*index, keys, form);
            if room == 0 {
                continue;
            }
            columns.push((*index, room));
            let needed = (SPREAD * all as f64 / room as f64).ceil() as usize;
            let statements = needed.clamp(count, most.max(count));
            let each = (SPREAD * all as f64 / statements as f64).ceil() as usize;
            let Some(likely) = asking.expected(*index, keys, form, each) else { continue };
            // One look between neighbouring parts, and one at each end of a file range.
            let looks = if requests { statements + count } else { 0 };
            let sent = otherwise.with(name, likely);
            let gain = otherwise.wrong_yes(name) - sent.wrong_yes(name);
            if statements > 1 && gain > 0.0 && best.as_ref().is_none_or(|(most, _)| gain > *most) {
                best = Some((gain, RangeEstimate { sent, statements, looks }));
            }
        }
        let (_, expected) = best?;
        let (keys, otherwise) = (Arc::clone(keys), otherwise.clone());
        Some((Self { keys, columns, form, otherwise }, expected))
    }

    /// Returns the columns by which parts differ, with the number of all their keys, as EXPLAIN ANALYZE shows them.
    #[must_use]
    pub fn about(&self, source: &S3SelectSource) -> String {
        let each = self.columns.iter().map(|(index, _)| {
            let name = source.file_schema().field(*index).name();
            let keys =
                self.keys.get(index).and_then(|keys| keys.values.as_ref()).map_or(0, Vec::len);
            format!("{name} ({keys} keys)")
        });
        format!("by part on {}", each.collect::<Vec<_>>().join(" and "))
    }

    /// Returns the conditions for a part of a file: for the whole part, or for its pieces, in their order.
    ///
    /// # Errors
    ///
    /// If a condition cannot be evaluated locally.
    pub async fn push_down_range(
        &self,
        asking: KeyStatement<'_>,
        looking: RangeSampler<'_>,
        part: &PartitionedFile,
        said: &KeyMetrics,
    ) -> Result<Vec<(PartitionedFile, PushedKeys)>> {
        let pieces = self.pieces(&asking, &looking, part).await;
        let mut asked: Vec<(SampledRange, Option<PushedKeys>)> = Vec::new();
        for piece in pieces {
            let sent =
                push_down_keys(&asking, &self.keys, self.form, &self.selective_spans(&piece))?;
            let better = self.columns.iter().any(|(index, _)| {
                let name = asking.source.file_schema().field(*index).name();
                sent.wrong_yes(name) < self.otherwise.wrong_yes(name)
            });
            match asked.last_mut() {
                // Neighbouring pieces without conditions of their own are merged.
                Some((last, None)) if !better => last.end = piece.end,
                _ => asked.push((piece, better.then_some(sent))),
            }
        }
        let whole = asked.len() == 1;
        let parts = asked.into_iter().map(|(piece, sent)| {
            said.add_range(sent.as_ref());
            let piece = if whole { part.clone() } else { piece.slice(part) };
            (piece, sent.unwrap_or_else(|| self.otherwise.clone()))
        });
        Ok(parts.collect())
    }

    /// Divides a part into pieces whose keys fit into a statement each, if possible.
    async fn pieces(
        &self,
        asking: &KeyStatement<'_>,
        looking: &RangeSampler<'_>,
        part: &PartitionedFile,
    ) -> Vec<SampledRange> {
        let columns: Vec<_> = self.columns.iter().map(|(index, _)| *index).collect();
        let (start, end) = part.range();
        let (first, last) = looking.ends(&columns, part).await;
        let mut pieces =
            vec![SampledRange { start, end, first, last, settled: !looking.splits(part) }];
        for _ in 0..ROUNDS {
            let mut finer = Vec::with_capacity(pieces.len());
            for mut piece in pieces {
                let most = pieces_of(asking.source, piece.end - piece.start).min(MOST_PIECES);
                let count = self.statements(&piece).min(most);
                if piece.settled || count < 2 {
                    finer.push(piece);
                    continue;
                }
                let places = piece.split_offsets(count);
                let seen = looking.at(&columns, part, places.clone()).await;
                let parts = piece.divided(&places, seen);
                if self.are_apart(&piece, &parts) {
                    finer.extend(parts);
                } else {
                    piece.settled = true;
                    finer.push(piece);
                }
            }
            pieces = finer;
        }
        pieces
    }

    /// Returns the spans of a piece, without those that contain most keys.
    fn selective_spans(&self, piece: &SampledRange) -> Spans {
        let mut spans = piece.spans();
        let all = |index: &usize| Some(self.keys.get(index)?.values.as_ref()?.len());
        let tells = |index: &usize| {
            let (within, all) = self.within(*index, &piece.spans()).zip(all(index))?;
            Some((within as f64) < MOST_KEYS * all as f64)
        };
        spans.retain(|index, _| tells(index).unwrap_or(false));
        spans
    }

    /// Returns the number of statements needed for the keys that a piece may have.
    fn statements(&self, piece: &SampledRange) -> usize {
        let spans = piece.spans();
        let each = self.columns.iter().filter_map(|(index, room)| {
            let keys = self.within(*index, &spans)?;
            let enough = (SPREAD * keys as f64 / *room as f64).ceil() as usize;
            Some(if keys <= *room { 1 } else { enough })
        });
        each.min().unwrap_or(1)
    }

    /// Returns true if the parts of a piece have different keys, that is, not most of its keys each.
    fn are_apart(&self, whole: &SampledRange, parts: &[SampledRange]) -> bool {
        self.columns.iter().any(|(index, _)| {
            let Some(all) = self.within(*index, &whole.spans()) else { return false };
            let each = parts.iter().map(|part| self.within(*index, &part.spans()).unwrap_or(all));
            2 * each.sum::<usize>() <= (parts.len() + 1) * all
        })
    }

    /// Returns the number of keys of a column within its span, if the span is known.
    fn within(&self, index: usize, spans: &Spans) -> Option<usize> {
        Some(self.keys.get(&index)?.split(spans.get(&index)?)?.within.len())
    }
}

/// A range of bytes of a file, with the spans of the records at both ends.
#[derive(Debug, Clone)]
struct SampledRange {
    start: u64,
    end: u64,
    first: Spans,
    last: Spans,
    /// True if the piece must not be divided further.
    settled: bool,
}

impl SampledRange {
    /// Returns the assumed spans of the columns' values.
    fn spans(&self) -> Spans {
        let both = self.first.iter().filter_map(|(column, first)| {
            let last = self.last.get(column)?;
            Some((*column, first.clone().around(last.clone())))
        });
        both.collect()
    }

    /// Returns the offsets that divide the piece into this many parts of equal length.
    fn split_offsets(&self, parts: usize) -> Vec<u64> {
        let step = (self.end - self.start) / parts.max(1) as u64;
        (1..parts as u64).map(|part| self.start + part * step).collect()
    }

    /// Returns the parts between the given offsets, with the spans of the records there.
    fn divided(&self, places: &[u64], seen: Vec<Spans>) -> Vec<Self> {
        let starts = std::iter::once((self.start, self.first.clone()))
            .chain(places.iter().copied().zip(seen.iter().cloned()));
        let ends = places.iter().copied().zip(seen.iter().cloned());
        let ends = ends.chain([(self.end, self.last.clone())]);
        let parts = starts.zip(ends).map(|((start, first), (end, last))| Self {
            start,
            end,
            first,
            last,
            settled: false,
        });
        parts.collect()
    }

    fn slice(&self, part: &PartitionedFile) -> PartitionedFile {
        part.clone().with_range(self.start as i64, self.end as i64)
    }
}

/// Returns the maximum number of statements for a part of a table of this many bytes.
fn pieces(source: &S3SelectSource, bytes: u64) -> usize {
    if source.takes_ranges() { pieces_of(source, bytes) } else { 1 }
}

fn pieces_of(source: &S3SelectSource, bytes: u64) -> usize {
    let least = source.split().range_bytes.max(1) as u64;
    usize::try_from(bytes / least).unwrap_or(usize::MAX).max(1)
}
