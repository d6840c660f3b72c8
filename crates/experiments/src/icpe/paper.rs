//! The printed numbers of Tables 2 and 3.

/// A column of Table 2: a query in Spark.
pub(super) struct Spark {
    pub(super) query: usize,
    pub(super) stages: u32,
    /// The numbers of operators, in the order of [`COUNTED`].
    pub(super) counts: [u32; 7],
    pub(super) seconds: f64,
    /// Percent.
    pub(super) scan_ratio: f64,
    /// GB read from the drives.
    pub(super) read: f64,
    /// Percent of the CPU, in the mean and at most.
    pub(super) cpu: [f64; 2],
    /// MB/s of a drive, in the mean and at most.
    pub(super) bandwidth: [f64; 2],
    /// Seconds with the device.
    pub(super) offloaded: f64,
    pub(super) speedup: f64,
}

/// The queries of Tables 2 and 3.
pub(super) const QUERIES: [usize; 7] = [4, 9, 44, 49, 72, 75, 76];

/// The counted operators of a plan.
pub(super) const COUNTED: [&str; 7] =
    ["fact scans", "dimension scans", "filters", "projects", "aggregates", "sorts", "joins"];

/// Table 2.
#[rustfmt::skip]
pub(super) const SPARK: [Spark; 5] = [
    Spark { query: 9, stages: 31, counts: [15, 1, 16, 16, 30, 0, 0], seconds: 212.0, scan_ratio: 93.0, read: 1276.0, cpu: [31.0, 94.0], bandwidth: [146.0, 1365.0], offloaded: 26.0, speedup: 8.17 },
    Spark { query: 44, stages: 9, counts: [3, 1, 8, 11, 7, 4, 3], seconds: 89.0, scan_ratio: 81.0, read: 605.0, cpu: [54.0, 99.0], bandwidth: [292.0, 1625.0], offloaded: 25.0, speedup: 3.61 },
    Spark { query: 4, stages: 19, counts: [3, 2, 9, 22, 12, 18, 17], seconds: 849.0, scan_ratio: 4.0, read: 940.0, cpu: [76.0, 100.0], bandwidth: [257.0, 1008.0], offloaded: 780.0, speedup: 1.09 },
    Spark { query: 72, stages: 14, counts: [2, 9, 9, 19, 2, 4, 10], seconds: 8205.0, scan_ratio: 0.0, read: 168.0, cpu: [35.0, 95.0], bandwidth: [5.0, 1026.0], offloaded: 8190.0, speedup: 1.00 },
    Spark { query: 75, stages: 19, counts: [9, 3, 9, 28, 8, 14, 19], seconds: 298.0, scan_ratio: 41.0, read: 1182.0, cpu: [53.0, 100.0], bandwidth: [258.0, 1918.0], offloaded: 144.0, speedup: 2.07 },
];

/// A column of Table 3: a query in Presto, over its tables and over model tables.
pub(super) struct Presto {
    pub(super) query: usize,
    pub(super) fact_scans: u32,
    pub(super) dimension_scans: u32,
    pub(super) windows: u32,
    pub(super) joins: u32,
    pub(super) seconds: f64,
    /// GB read from the drives.
    pub(super) read: f64,
    pub(super) model_seconds: f64,
    pub(super) model_read: f64,
    pub(super) speedup: f64,
}

/// Table 3.
#[rustfmt::skip]
pub(super) const PRESTO: [Presto; 5] = [
    Presto { query: 9, fact_scans: 15, dimension_scans: 1, windows: 0, joins: 15, seconds: 338.0, read: 14.0, model_seconds: 64.0, model_read: 9.0, speedup: 5.28 },
    Presto { query: 44, fact_scans: 4, dimension_scans: 2, windows: 2, joins: 5, seconds: 1126.0, read: 63.0, model_seconds: 19.0, model_read: 0.12, speedup: 59.3 },
    Presto { query: 49, fact_scans: 6, dimension_scans: 3, windows: 6, joins: 6, seconds: 719.0, read: 86.0, model_seconds: 125.0, model_read: 19.0, speedup: 6.1 },
    Presto { query: 75, fact_scans: 12, dimension_scans: 12, windows: 0, joins: 19, seconds: 1555.0, read: 118.0, model_seconds: 821.0, model_read: 81.0, speedup: 2.05 },
    Presto { query: 76, fact_scans: 3, dimension_scans: 6, windows: 0, joins: 6, seconds: 314.0, read: 47.0, model_seconds: 43.0, model_read: 0.75, speedup: 7.3 },
];

/// The drives of the Spark cluster: two in each of eight nodes.
pub(super) const SPARK_DRIVES: f64 = 16.0;
