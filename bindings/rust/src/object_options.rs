//! How objects travel.
use crate::raw;
use std::mem::size_of;

/// When messages are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compress {
    /// Between ranks if it pays; never by [`Object::encode`](crate::Object::encode).
    #[default]
    Default,
    /// Never.
    Never,
    /// From the threshold on, if a sample shrinks.
    IfItPays,
}

/// How a value becomes a message and a message a value. 0 is a number's default, for which an
/// environment variable of the same meaning is taken. The limits hold before memory is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectOptions {
    /// The limit of a message; 4 GiB. Also for bytes that are received.
    pub max_bytes: i64,
    /// The limit of a message that was compressed; 1 GiB.
    pub max_decompressed_bytes: i64,
    /// Values in a message; 2^26.
    pub max_values: i64,
    /// Lists and maps inside each other; 512. A [`Value`](crate::Value) has no more than 1024.
    pub max_depth: i32,
    /// zstd's, -7 to 19; 1.
    pub compression_level: i32,
    /// Bytes from which on compressing is tried; 4096.
    pub compression_threshold: i64,
    /// When messages are compressed.
    pub compress: Compress,
}

impl ObjectOptions {
    pub(crate) fn to_c(self) -> raw::tutti_object_options {
        raw::tutti_object_options {
            struct_size: size_of::<raw::tutti_object_options>() as u32,
            flags: 0,
            max_bytes: self.max_bytes,
            max_decompressed_bytes: self.max_decompressed_bytes,
            max_values: self.max_values,
            max_depth: self.max_depth,
            compression_level: self.compression_level,
            compression_threshold: self.compression_threshold,
            compress: match self.compress {
                Compress::Default => raw::TUTTI_OBJECT_COMPRESS_DEFAULT,
                Compress::Never => raw::TUTTI_OBJECT_COMPRESS_NEVER,
                Compress::IfItPays => raw::TUTTI_OBJECT_COMPRESS_IF_IT_PAYS,
            },
            reserved: 0,
        }
    }
}
