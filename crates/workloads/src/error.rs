//! The errors of generating a data set.

use object_store::path::Path;

/// The reason that a data set could not be generated. Finished objects remain; the object that failed does not
/// appear.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scale factor that the generator does not support.
    #[error("scale factor {scale} is not between {least} and 100000")]
    Scale {
        /// The requested scale factor.
        scale: f64,
        /// The least scale factor of the data set.
        least: f64,
    },
    /// Too many objects per table to list them quickly.
    #[error("{0} objects per table are more than 10000")]
    Objects(usize),
    /// The table's folder contains a foreign object, which would become part of the table.
    #[error("`{object}` is in the way: it would become part of the table in `{folder}`")]
    Occupied {
        /// The folder of the table.
        folder: Path,
        /// The object that already exists.
        object: Path,
    },
    /// The store rejected a request or failed.
    #[error("cannot write `{path}`: {source}")]
    Store {
        /// The object, or the folder that could not be listed.
        path: Path,
        /// The error of the store.
        source: object_store::Error,
    },
    /// The rows could not be generated or encoded.
    #[error("cannot generate `{path}`: {source}")]
    Generate {
        /// The path of the object.
        path: Path,
        /// The error of the generator or the encoder.
        source: std::io::Error,
    },
}
