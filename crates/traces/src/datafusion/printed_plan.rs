//! Splits printed output into a plan with metrics and, if it is verbose, the duration of the query.

/// A line with its number, from 1.
pub(super) type Line<'a> = (u64, &'a str);

/// The first character of JSON output.
const JSON: char = '[';
const PLAN: &str = "Plan with Metrics";
const DURATION: &str = "Duration";
const LABELS: [&str; 4] = [PLAN, "Plan with Full Metrics", "Output Rows", DURATION];

/// The parts of printed output.
#[derive(Debug, Default)]
pub(super) struct PrintedPlan<'a> {
    /// The lines of the plan.
    pub(super) plan: Vec<Line<'a>>,
    pub(super) duration: Option<(u64, String)>,
}

impl<'a> PrintedPlan<'a> {
    /// Returns whether the plan is JSON.
    pub(super) fn is_json(&self) -> bool {
        self.plan.first().is_some_and(|(_, line)| line.trim_start().starts_with(JSON))
    }

    /// Finds the parts, in a table or without one.
    ///
    /// # Errors
    ///
    /// If there is no plan with metrics.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let lines = (1..).zip(text.lines());
        let border = text.lines().find(|line| is_border(line));
        let mut printed = Self::default();
        match border {
            _ if text.trim_start().starts_with(JSON) => printed.plan = lines.collect(),
            Some(border) => printed.table(lines, border),
            None => printed.bare(lines),
        }
        if printed.plan.is_empty() {
            return Err(
                "has no plan with metrics: it must be what EXPLAIN ANALYZE of DataFusion prints"
                    .to_owned(),
            );
        }
        Ok(printed)
    }

    /// Reads the cells of two columns. The first cell is empty if the second continues the one above.
    fn table(&mut self, lines: impl Iterator<Item = Line<'a>>, border: &str) {
        let Some(width) = border.get(1..).and_then(|it| it.find('+')) else { return };
        let mut label = "";
        for (number, line) in lines {
            let cells = line.strip_prefix('|').and_then(|it| it.split_at_checked(width));
            let Some((first, second)) = cells else { continue };
            let Some(second) = second.strip_prefix('|') else { continue };
            if !first.trim().is_empty() {
                label = first.trim();
            }
            let second = second.trim_end();
            let second = second.strip_suffix('|').unwrap_or(second).trim_end();
            self.add(label, number, second.strip_prefix(' ').unwrap_or(second));
        }
    }

    /// Reads labels in lines of their own, or a plan without labels.
    fn bare(&mut self, lines: impl Iterator<Item = Line<'a>>) {
        let mut label = PLAN;
        for (number, line) in lines {
            let line = line.trim_end();
            if let Some(known) = LABELS.into_iter().find(|it| *it == line) {
                label = known;
            } else if line.is_empty() {
                // An empty line ends the plan.
                if label != PLAN || !self.plan.is_empty() {
                    label = "";
                }
            } else {
                self.add(label, number, line);
            }
        }
    }

    fn add(&mut self, label: &str, number: u64, line: &'a str) {
        match label {
            PLAN if !line.is_empty() => self.plan.push((number, line)),
            DURATION if self.duration.is_none() => {
                self.duration = Some((number, line.trim().to_owned()));
            }
            _ => {}
        }
    }
}

fn is_border(line: &str) -> bool {
    line.starts_with("+-") && line.bytes().all(|byte| matches!(byte, b'+' | b'-'))
}
