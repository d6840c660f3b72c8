//! Streams generated tables into a bucket.

use std::num::NonZeroUsize;

use futures::TryStreamExt;
use futures::stream::FuturesUnordered;
use object_store::ObjectStore;
use object_store::path::Path;
use parquet::file::properties::WriterProperties;

use crate::Error;
use crate::table::{DataTable, Share};
use crate::upload::upload;

/// The encoding of the objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated text in UTF-8, quoted where needed, with lines ending in `\n`.
    Csv {
        /// True if each object starts with a line of column names.
        header: bool,
    },
    /// A JSON object per line, in UTF-8. Members whose values are NULL are left out.
    Json,
    /// Parquet with the given row groups and compression.
    Parquet {
        /// The rows per row group. A row group is held in memory while it is encoded.
        row_group_rows: NonZeroUsize,
        /// The compression of the pages.
        compression: Compression,
    },
}

/// The compression of Parquet pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// No compression of pages.
    None,
    /// Snappy, which most writers use.
    #[default]
    Snappy,
    /// Zstandard at its default level.
    Zstd,
}

impl Format {
    /// Returns CSV with a header line.
    #[must_use]
    pub const fn csv() -> Self {
        Self::Csv { header: true }
    }

    /// Returns Parquet with Snappy and 122,880 rows per row group. Objects then have several groups already at small
    /// scale, so that queries can skip some.
    #[must_use]
    pub const fn parquet() -> Self {
        let row_group_rows = NonZeroUsize::MIN.saturating_add(122_879);
        Self::Parquet { row_group_rows, compression: Compression::Snappy }
    }

    /// Returns the name of the folder and the extension of the objects.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Csv { .. } => "csv",
            Self::Json => "json",
            Self::Parquet { .. } => "parquet",
        }
    }
}

/// A request to generate tables of one data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Generate<T: DataTable> {
    /// The scale factor, from [`DataTable::LEAST_SCALE`] to 100,000. The data set defines the size at 1.
    pub scale: f64,
    /// The seed of the random numbers.
    pub seed: T::Seed,
    /// The tables to generate.
    pub tables: Vec<T>,
    /// The encoding of the objects.
    pub format: Format,
    /// The number of objects per table, at most 10,000. Tables of fixed size are one object, and no object is empty.
    pub objects_per_table: NonZeroUsize,
    /// The folder for all objects; by default the data set's name.
    pub prefix: Path,
    /// The number of objects generated at once, with one thread each. Memory is about 40 MiB per thread, for Parquet
    /// plus a row group, and for TPC-H 300 MB once for its pool of text.
    pub threads: NonZeroUsize,
}

impl<T: DataTable> Default for Generate<T> {
    /// Requests all tables at scale factor 1 as CSV, one object each, on all cores.
    fn default() -> Self {
        Self {
            scale: 1.0,
            seed: T::Seed::default(),
            tables: T::ALL.to_vec(),
            format: Format::csv(),
            objects_per_table: NonZeroUsize::MIN,
            prefix: Path::from(T::DATA_SET),
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

impl<T: DataTable> Generate<T> {
    /// Returns the folder of a table's objects: `tpch/sf0.1/csv/lineitem`.
    #[must_use]
    pub fn folder(&self, table: T) -> Path {
        self.prefix
            .clone()
            .join(format!("sf{}", self.scale))
            .join(self.format.name())
            .join(table.name())
    }

    /// Returns the objects of a table, in the order of their rows: `lineitem.00.csv`, `lineitem.01.csv`, ….
    #[must_use]
    pub fn objects(&self, table: T) -> Vec<Path> {
        let folder = self.folder(table);
        let count = self.object_count(table);
        let digits = (count - 1).to_string().len().max(2);
        (0..count)
            .map(|index| {
                folder.clone().join(format!("{table}.{index:0digits$}.{}", self.format.name()))
            })
            .collect()
    }

    /// Returns the approximate size of all objects together in bytes.
    #[must_use]
    pub fn about_bytes(&self) -> f64 {
        /// The sizes of Parquet and of JSON relative to the same rows as CSV.
        const PARQUET: f64 = 0.35;
        const JSON: f64 = 2.4;
        let size = |tables: &[T]| tables.iter().map(|table| table.size(self.scale)).sum::<f64>();
        let part = size(&self.tables) / size(T::ALL).max(1.0);
        let encoded = match self.format {
            Format::Csv { .. } => 1.0,
            Format::Json => JSON,
            Format::Parquet { .. } => PARQUET,
        };
        T::CSV_BYTES * self.scale * part * encoded
    }

    fn object_count(&self, table: T) -> usize {
        let most = usize::try_from(table.shares(self.scale)).unwrap_or(usize::MAX);
        self.objects_per_table.get().min(most).max(1)
    }

    fn validate(&self) -> Result<(), Error> {
        if !(T::LEAST_SCALE..=100_000.0).contains(&self.scale) {
            return Err(Error::Scale { scale: self.scale, least: T::LEAST_SCALE });
        }
        if self.objects_per_table.get() > 10_000 {
            return Err(Error::Objects(self.objects_per_table.get()));
        }
        Ok(())
    }
}

/// A part of an object that was uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartProgress<T> {
    /// The table that the object belongs to.
    pub table: T,
    /// The number of rows since the last call for this object.
    pub rows: u64,
    /// The number of bytes since the last call for this object.
    pub bytes: u64,
}

/// An object that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenObject<T> {
    /// The table that the object belongs to.
    pub table: T,
    /// The path in the store.
    pub path: Path,
    /// The number of rows.
    pub rows: u64,
    /// The size in bytes.
    pub bytes: u64,
}

/// Generates tables into a store and returns the written objects, by path.
///
/// The same request always writes the same bytes, and the rows of a table do not depend on the number of its objects.
/// Rows are generated on blocking threads of the runtime, `threads` objects at a time. An object is uploaded while it
/// is generated, and appears when it is complete. `progress` is called for every part that has arrived.
///
/// Dropping the future stops the threads at their next part and aborts the uploads in the background; finished
/// objects remain. Running the same request again writes the rest.
///
/// # Errors
///
/// Nothing is written if the request is out of range, or if a table's folder contains an object that is not part of
/// the request ([`Error::Occupied`]): it would be read as rows of the table. Otherwise, the first error of the store
/// or the generator is returned, and the other objects are abandoned.
///
/// # Panics
///
/// Outside a tokio runtime, like all of tokio.
pub async fn generate<T: DataTable>(
    request: &Generate<T>,
    store: &dyn ObjectStore,
    progress: &(dyn Fn(PartProgress<T>) + Send + Sync),
) -> Result<Vec<WrittenObject<T>>, Error> {
    request.validate()?;
    let mut tables = request.tables.clone();
    tables.sort_unstable();
    tables.dedup();
    for &table in &tables {
        refuse_strangers(request, table, store).await?;
    }
    // Start with large tables, so that no thread is left alone with one at the end.
    tables.sort_by_key(|&table| std::cmp::Reverse(table.rows(request.scale)));
    let mut written = Vec::new();
    let mut running = FuturesUnordered::new();
    for table in tables {
        let paths = request.objects(table);
        let count = paths.len() as u32;
        for (index, path) in (0..).zip(paths) {
            if running.len() == request.threads.get() {
                written.extend(running.try_next().await?);
            }
            let share = Share { table, scale: request.scale, seed: request.seed, index, count };
            running.push(write(request, share, path, store, progress));
        }
    }
    while let Some(object) = running.try_next().await? {
        written.push(object);
    }
    written.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(written)
}

async fn refuse_strangers<T: DataTable>(
    request: &Generate<T>,
    table: T,
    store: &dyn ObjectStore,
) -> Result<(), Error> {
    let folder = request.folder(table);
    let ours = request.objects(table);
    let mut listing = store.list(Some(&folder));
    loop {
        match listing.try_next().await {
            Ok(None) => return Ok(()),
            Ok(Some(object)) if ours.contains(&object.location) => {}
            Ok(Some(object)) => return Err(Error::Occupied { folder, object: object.location }),
            Err(source) => return Err(Error::Store { path: folder, source }),
        }
    }
}

async fn write<T: DataTable>(
    request: &Generate<T>,
    share: Share<T>,
    path: Path,
    store: &dyn ObjectStore,
    progress: &(dyn Fn(PartProgress<T>) + Send + Sync),
) -> Result<WrittenObject<T>, Error> {
    let table = share.table;
    let on_part = |rows, bytes| progress(PartProgress { table, rows, bytes });
    let (rows, bytes) = match request.format {
        Format::Csv { header } => {
            upload(store, &path, move |out| T::write_csv(share, header, out), on_part).await?
        }
        Format::Json => upload(store, &path, move |out| share.write_json(out), on_part).await?,
        Format::Parquet { row_group_rows, compression } => {
            let properties = WriterProperties::builder()
                .set_max_row_group_row_count(Some(row_group_rows.get()))
                .set_compression(match compression {
                    Compression::None => parquet::basic::Compression::UNCOMPRESSED,
                    Compression::Snappy => parquet::basic::Compression::SNAPPY,
                    Compression::Zstd => parquet::basic::Compression::ZSTD(Default::default()),
                })
                .build();
            upload(store, &path, move |out| share.write_parquet(properties, out), on_part).await?
        }
    };
    Ok(WrittenObject { table, path, rows, bytes })
}

#[cfg(test)]
mod tests;
