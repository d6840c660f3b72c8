//! An S3 store in a folder that answers S3 Select.
