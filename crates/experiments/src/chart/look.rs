//! The colour, the dash and the marker of each series.

/// A colour on light and on dark pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Colour {
    /// The class that selects the colour in the style sheet.
    pub(super) class: &'static str,
    /// On a light page.
    pub(super) light: &'static str,
    /// On a dark page.
    pub(super) dark: &'static str,
}

/// Eight colours. A test checks that they differ for readers without red, green or blue cones, too.
pub(super) const COLOURS: [Colour; 8] = [
    Colour { class: "c0", light: "#003ea2", dark: "#7ca2f0" },
    Colour { class: "c1", light: "#b57700", dark: "#c59318" },
    Colour { class: "c2", light: "#00a779", dark: "#4fdba0" },
    Colour { class: "c3", light: "#a5277e", dark: "#ec3f9d" },
    Colour { class: "c4", light: "#bb353d", dark: "#cb6257" },
    Colour { class: "c5", light: "#7d92c8", dark: "#c8f6fa" },
    Colour { class: "c6", light: "#374100", dark: "#eef255" },
    Colour { class: "c7", light: "#9a44f8", dark: "#9462ff" },
];

/// The dashes of series that share a colour. The first is a solid line.
pub(super) const DASHES: [&str; 4] = ["", "1 4", "12 3", "8 3 1 3"];

/// The dash of published numbers.
pub(super) const PUBLISHED_DASH: &str = "5 4";

/// Names of series and the colours that they have in all charts, as places in [`COLOURS`].
const NAMED: &[(usize, &[&str])] = &[
    (
        0,
        &[
            "server-side",
            "get",
            "baseline",
            "without the device",
            "no pushdown",
            "pushdown off",
            "plain",
            "csv",
        ],
    ),
    (
        1,
        &["s3-side", "select", "filtered", "with the device", "pushdown", "pushdown on", "network"],
    ),
    (2, &["index", "bloom", "hybrid", "sampling", "opt", "optimum", "parquet"]),
    (3, &["cheetah", "switch", "transfer", "predicate transfer"]),
    (0, &["measured", "compute", "sluice", "sluice serve", "master", "counted"]),
    (3, &["predicted", "estimated", "modelled"]),
    (1, &["scan", "scanned"]),
    (2, &["return", "returned", "workers"]),
    (4, &["requests", "spark", "drain", "netaccel"]),
    (5, &["rules", "presto", "minio"]),
    (6, &["duckdb"]),
    // The runs of a protocol, by their ends.
    (2, &["right"]),
    (4, &["wrong"]),
    (0, &["stuck"]),
    // Our workers, in the place of Spark.
    (0, &["our workers, first run", "first run"]),
    (1, &["our workers, later", "later runs"]),
    // The algorithms of switches.
    (0, &["distinct", "skyline-sum", "top-n-deterministic"]),
    (1, &["group-by", "groupby", "distinct-fifo", "join-register-bloom"]),
    (3, &["skyline", "skyline-aph", "closed formula"]),
    (4, &["join", "join-bloom", "skyline-baseline"]),
    (7, &["top-n", "topn", "top-n-randomized"]),
    (5, &["filter", "bigdata a"]),
    (6, &["having", "tpc-h q3"]),
];

/// The name of published numbers beside a single series of ours.
const PUBLISHED: &str = "published";

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// The place of the colour in [`COLOURS`], which also chooses the marker.
    pub(super) colour: usize,
    /// The place of the dash in [`DASHES`].
    pub(super) dash: usize,
    /// True if the numbers are the paper's: dashed lines, hollow marks.
    pub(super) is_published: bool,
}

impl Look {
    /// Returns the colour.
    pub(super) fn colour(self) -> Colour {
        COLOURS[self.colour % COLOURS.len()]
    }

    /// Returns the lengths of dashes and gaps; empty for a solid line.
    pub(super) fn dashes(self) -> &'static str {
        match self.is_published {
            true => PUBLISHED_DASH,
            false => DASHES[self.dash % DASHES.len()],
        }
    }

    /// Returns true if marks have an outline only.
    pub(super) const fn is_hollow(self) -> bool {
        self.is_published || self.dash > 0
    }
}

/// Returns the looks of the series of a chart. No two are alike up to 32 series.
///
/// A name has the same colour in all charts, unless another series of the chart has that colour already. A published
/// series has the colour of ours with the same name.
pub(super) fn looks<'a>(series: impl IntoIterator<Item = (&'a str, bool)>) -> Vec<Look> {
    let series: Vec<(String, bool)> = series
        .into_iter()
        .map(|(name, published)| (key(name), published || is_published(name)))
        .collect();
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in &series {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    // `published` alone has the colour of the first series, and differs from it by dashes or as an outline.
    let first = keys.iter().position(|key| *key != PUBLISHED);
    keys.retain(|key| *key != PUBLISHED || first.is_none());
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut chosen: Vec<Option<(usize, usize)>> = vec![None; keys.len()];
    for (key, slot) in keys.iter().zip(&mut chosen) {
        if let Some(look) = named(key).map(|colour| (colour, 0)).filter(|it| !taken.contains(it)) {
            taken.push(look);
            *slot = Some(look);
        }
    }
    let all = (0..DASHES.len()).flat_map(|dash| (0..COLOURS.len()).map(move |it| (it, dash)));
    let mut free = all.filter(|look| !taken.contains(look));
    let chosen: Vec<(usize, usize)> =
        chosen.into_iter().map(|it| it.or_else(|| free.next()).unwrap_or_default()).collect();
    let look = |(name, is_published): &(String, bool)| {
        let (colour, dash) =
            keys.iter().position(|key| key == name).or(first).map_or((0, 0), |place| chosen[place]);
        Look { colour, dash, is_published: *is_published }
    };
    series.iter().map(look).collect()
}

/// Returns the colour that a name has in all charts. `CSV, 10 columns` has that of `CSV`.
pub(super) fn named(name: &str) -> Option<usize> {
    let key = key(name);
    let of = |name: &str| NAMED.iter().find(|(_, names)| names.contains(&name)).map(|it| it.0);
    let starts = key.rmatch_indices(", ").filter_map(|(at, _)| of(&key[..at]));
    of(&key).into_iter().chain(starts).next()
}

/// Returns true if a name says that its numbers are the paper's.
pub(crate) fn is_published(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    let is_marked = [", paper", "(paper)"].iter().any(|mark| name.ends_with(mark));
    is_marked || words.any(|word| word.eq_ignore_ascii_case("published"))
}

/// Returns the name without case and without the words that mark published numbers.
fn key(name: &str) -> String {
    let lower = name.to_lowercase().replace('_', " ");
    let mut key = lower.as_str();
    for suffix in
        [" (published)", ", published", " published", " (paper)", ", paper", " join", " group-by"]
    {
        key = key.strip_suffix(suffix).unwrap_or(key);
    }
    key.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_same_colour_in_all_charts() {
        let of = |names: &[&str]| looks(names.iter().map(|&name| (name, false)));
        let [first, second] = [of(&["S3-side", "index"]), of(&["other", "index", "select"])];
        assert_eq!((first[0].colour, first[1].colour), (second[2].colour, second[1].colour));
    }

    #[test]
    fn no_two_series_look_the_same() {
        let names: Vec<String> = (0..29)
            .map(|at| format!("n{at}"))
            .chain(["get", "server-side", "index"].map(str::to_owned))
            .collect();
        let looks = looks(names.iter().map(|name| (name.as_str(), false)));
        for (at, look) in looks.iter().enumerate() {
            assert!(!looks[..at].contains(look), "{}", names[at]);
        }
    }

    #[test]
    fn published_numbers_have_the_colour_of_ours_and_a_dash() {
        let both = looks([("index", false), ("index", true), ("Index, published", false)]);
        assert!(both.iter().all(|look| look.colour == both[0].colour));
        assert_eq!(both.iter().map(|it| it.dashes()).collect::<Vec<_>>(), ["", "5 4", "5 4"]);
        assert!(both[1].is_hollow() && !both[0].is_hollow());
    }

    #[test]
    fn published_alone_has_the_colour_of_the_first_series() {
        let both = looks([("estimated", false), ("published", false)]);
        assert_eq!(both[0].colour, both[1].colour);
        assert!(!both[0].is_hollow() && both[1].is_hollow());
        assert_eq!(looks([("published", true)])[0].colour, 0);
    }

    #[test]
    fn a_name_has_the_colour_of_its_beginning_once_in_a_chart() {
        let names = ["NetAccel, Distinct", "Cheetah, Distinct", "Cheetah, GroupBy"];
        let of = looks(names.map(|name| (name, false)));
        assert_eq!(Some(of[0].colour), named("netaccel"));
        assert_eq!(Some(of[1].colour), named("Cheetah"));
        assert!(of[2].colour != of[0].colour && of[2].colour != of[1].colour);
        assert_eq!(named("our workers, first run, Distinct"), named("first run"));
    }

    /// `the paper's protocol` and `profile paper` are names of ours.
    #[test]
    fn a_name_with_the_word_paper_can_be_ours() {
        assert!(
            ["index, published", "Published", "index (paper)", "index, paper"].map(is_published)
                == [true; 4]
        );
        assert!(["profile paper", "losses, the paper's protocol"].map(is_published) == [false; 2]);
    }

    /// Linear red, green and blue of `#rrggbb`.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn luminance(colour: &str) -> f64 {
        let [red, green, blue] = linear(colour);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// CIELAB of a colour as it is seen through a matrix.
    fn seen(colour: &str, by: [[f64; 3]; 3]) -> [f64; 3] {
        let rgb = linear(colour);
        let times = |row: [f64; 3]| row.iter().zip(rgb).map(|(a, b)| a * b).sum::<f64>();
        let [r, g, b] = by.map(times).map(|it| it.clamp(0.0, 1.0));
        let x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505;
        let y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        let z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089;
        let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        [116.0 * f(y) - 16.0, 500.0 * (f(x) - f(y)), 200.0 * (f(y) - f(z))]
    }

    /// The matrices are those of Machado et al. (2009) at full severity.
    #[test]
    fn colours_are_visible_and_differ_for_colour_blind_readers() {
        const VISIONS: [[[f64; 3]; 3]; 4] = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
            [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
            [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
        ];
        type Of = fn(&Colour) -> &'static str;
        let themes: [(Of, f64); 2] = [(|it| it.light, 1.0), (|it| it.dark, 0.009)];
        for (theme, page) in themes {
            for (at, colour) in COLOURS.iter().enumerate() {
                let of = luminance(theme(colour));
                let contrast = (of.max(page) + 0.05) / (of.min(page) + 0.05);
                assert!(contrast >= 3.0, "{colour:?} {contrast}");
                for (other, by) in COLOURS[..at].iter().flat_map(|it| VISIONS.map(|by| (it, by))) {
                    let [a, b] = [colour, other].map(|it| seen(theme(it), by));
                    let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    assert!(apart > 20.0, "{colour:?} {other:?} {apart}");
                }
            }
        }
    }
}
