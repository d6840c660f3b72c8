//! What can go wrong while a data set is generated.

use object_store::path::Path;

/// Why a data set could not be generated. Objects that were finished before stay; the one that
/// failed does not appear.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scale factor that the generator cannot do.
    #[error("scale factor {scale} is not between {least} and 100000")]
    Scale {
        /// What was asked for.
        scale: f64,
        /// The least scale factor of the data set.
        least: f64,
    },
    /// More objects per table than one lists comfortably.
    #[error("{0} objects per table are more than 10000")]
    Objects(usize),
    /// The table's folder holds a foreign object, which would become part of the table.
    #[error("`{object}` is in the way: it would become part of the table in `{folder}`")]
    Occupied {
        /// The table's folder.
        folder: Path,
        /// The object that is already there.
        object: Path,
    },
    /// The store refused or failed.
    #[error("cannot write `{path}`: {source}")]
    Store {
        /// The object, or the folder that could not be listed.
        path: Path,
        /// The store's reason.
        source: object_store::Error,
    },
    /// The rows could not be generated or encoded.
    #[error("cannot generate `{path}`: {source}")]
    Generate {
        /// The object.
        path: Path,
        /// The generator's or the encoder's reason.
        source: std::io::Error,
    },
}
