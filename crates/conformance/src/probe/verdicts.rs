//! The profile of a store, as the answers of a probe build it up.

use sluicegate_s3select::capabilities::{
    DataFormat, Exactness, ExactnessRule, Extension, LikePatterns, Operation, StoreCapabilities,
    Syntax, TypeClass,
};

/// The result of all questions about one subject. It is trusted if there was at least one question and all answers
/// were right.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Verdicts(Option<bool>);

impl Verdicts {
    pub(super) fn also(&mut self, good: bool) {
        self.0 = Some(self.0.unwrap_or(true) && good);
    }

    fn given(self) -> bool {
        self.0 == Some(true)
    }
}

/// An unfinished profile, and the trust on which its exactness rules will rest.
#[derive(Debug)]
pub(super) struct Lessons {
    pub(super) profile: StoreCapabilities,
    /// CSV fields are returned unchanged, and all rows are returned.
    pub(super) project: Verdicts,
    /// `COUNT(*)` over all rows is right.
    pub(super) count: Verdicts,
    /// Comparisons of text are right.
    pub(super) text: Verdicts,
    /// NULL neither loses a row nor fails a statement that guards against it.
    pub(super) nulls: Verdicts,
    /// Integers of 64 bits are exact.
    pub(super) wide_ints: Verdicts,
    /// All patterns of LIKE work.
    pub(super) like_full: Verdicts,
    /// `SUM`, `MIN` and `MAX` of integers and `COUNT(x)` are right.
    pub(super) aggregates: Verdicts,
    /// Integers in JSON objects are exact.
    pub(super) json_ints: Verdicts,
    /// Missing values in JSON objects are handled correctly.
    pub(super) json_nulls: Verdicts,
    /// Integers in Parquet objects are exact.
    pub(super) parquet_ints: Verdicts,
    /// Text in Parquet objects is returned unchanged.
    pub(super) parquet_text: Verdicts,
    /// Features that only a store with this crate's semantics has.
    pub(super) beyond: Verdicts,
}

impl Lessons {
    pub(super) fn new() -> Self {
        Self {
            profile: StoreCapabilities {
                name: "probed".to_owned(),
                syntax: Syntax::least(),
                // Ceph accepts this length. A longer statement that is answered raises the limit.
                max_expression_bytes: 1_000,
                max_request_bytes: 4_096,
                max_exact_int: Some((1 << 31) - 1),
                no_comments: "\u{7f}".to_owned(),
                all_xml_entities: false,
                quotes_lone_empty_field: false,
                internal_error_is_final: false,
                ..StoreCapabilities::unknown()
            },
            project: Verdicts::default(),
            count: Verdicts::default(),
            text: Verdicts::default(),
            nulls: Verdicts::default(),
            wide_ints: Verdicts::default(),
            like_full: Verdicts::default(),
            aggregates: Verdicts::default(),
            json_ints: Verdicts::default(),
            json_nulls: Verdicts::default(),
            parquet_ints: Verdicts::default(),
            parquet_text: Verdicts::default(),
            beyond: Verdicts::default(),
        }
    }

    /// Adds a format if its question was answered rightly.
    pub(super) fn format(&mut self, format: DataFormat, way: Option<usize>) {
        if way.is_some() {
            self.profile.formats.insert(format);
        }
    }

    /// Adds a type of CAST if its question was answered rightly.
    pub(super) fn cast(&mut self, class: TypeClass, way: Option<usize>) {
        if way.is_some() {
            self.profile.syntax.casts.insert(class);
        }
    }

    /// Returns the profile of a store that answered all its questions.
    ///
    /// GROUP BY and `BLOOM_CONTAINS` are sent only to a store with this crate's semantics, because the semantics of
    /// other stores are not specified.
    ///
    /// `all_right` is true if every answer was right, and `extensions` are those that the store offers.
    pub(super) fn conclude(
        mut self,
        all_right: bool,
        extensions: &std::collections::BTreeSet<Extension>,
    ) -> StoreCapabilities {
        let own = StoreCapabilities::sluice();
        if all_right && own.relies_on.is_subset(extensions) {
            self.profile.relies_on = own.relies_on;
            self.profile.sends_stats = own.sends_stats;
            self.profile.counts_returned_bytes = own.counts_returned_bytes;
            self.profile.ends_last_record = own.ends_last_record;
            self.profile.exactness = own.exactness;
            self.profile.no_comments = own.no_comments;
            self.profile.syntax.like = LikePatterns::Full;
            self.profile.syntax.aggregates = true;
            self.profile.max_exact_int = None;
            self.profile.max_in_list = own.max_in_list;
            return self.profile;
        }
        self.profile.syntax.group_by = false;
        self.profile.syntax.bloom = false;
        if self.like_full.given() && self.profile.syntax.like == LikePatterns::Affix {
            self.profile.syntax.like = LikePatterns::Full;
        }
        if self.wide_ints.given() {
            self.profile.max_exact_int = None;
        }
        self.profile.syntax.aggregates = self.aggregates.given();
        self.profile.exactness = self.rules();
        self.profile
    }

    /// Returns the exactness rules, which are as careful as those for AWS. Filters are supersets at best, and an
    /// aggregate is sent only if none of its answers was wrong.
    fn rules(&self) -> Vec<ExactnessRule> {
        use Operation::{
            CountRows, Equal, In, IsNull, Like, MinMax, NotEqual, Order, Project, Sum,
        };
        use TypeClass::{Bool, Int, String};
        let csv = [DataFormat::Csv];
        let mut rules = Vec::new();
        let mut rule = |given: bool,
                        operations: &[Operation],
                        classes: &[TypeClass],
                        exactness,
                        formats: &[DataFormat]| {
            if given {
                rules.push(ExactnessRule::new(operations, classes, exactness).only(formats));
            }
        };
        let compare = [Equal, NotEqual, Order, In];
        let superset = Exactness::Superset;
        rule(self.project.given(), &[Project], &[], Exactness::Exact, &csv);
        rule(self.count.given() && self.project.given(), &[CountRows], &[], Exactness::Exact, &csv);
        let text = self.text.given() && self.nulls.given();
        rule(text, &compare, &[String], superset, &csv);
        rule(text && self.profile.syntax.null_if, &[IsNull], &[], superset, &csv);
        rule(text, &[Like], &[String], superset, &csv);
        let casts = |class| {
            text && self.profile.syntax.casts.contains(&class)
                && self.profile.failed_cast == sluicegate_s3select::capabilities::FailedCast::Error
        };
        rule(casts(Int), &compare, &[Int], superset, &csv);
        rule(casts(Bool), &[Equal, NotEqual], &[Bool], superset, &csv);
        let sums = casts(Int) && self.aggregates.given() && self.wide_ints.given();
        rule(sums, &[Sum, MinMax], &[Int], Exactness::Exact, &csv);
        let lines = [DataFormat::JsonLines];
        rule(
            self.json_ints.given() && self.json_nulls.given(),
            &[Project],
            &[Bool, Int, String],
            Exactness::Exact,
            &lines,
        );
        let parquet = [DataFormat::Parquet];
        rule(self.parquet_ints.given(), &[Project], &[Int], Exactness::Exact, &parquet);
        rule(self.parquet_text.given(), &[Project], &[String], Exactness::Exact, &parquet);
        rules
    }
}
