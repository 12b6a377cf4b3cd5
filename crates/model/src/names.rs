//! Names of enumerations, in records, storage and settings.

/// Error of a name that is not in an enumeration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not a {what}")]
#[non_exhaustive]
pub struct ParseNameError {
    /// Expected item, as a noun.
    pub what: &'static str,
    /// Given text.
    pub given: String,
}

/// Implements names of the variants of an enumeration, and their parsing.
macro_rules! names {
    ($type:ty, $what:literal, $($variant:ident = $name:literal),+ $(,)?) => {
        impl $type {
            /// Every variant, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];
            /// The name used in records, storage and settings.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
        impl std::str::FromStr for $type {
            type Err = $crate::ParseNameError;
            fn from_str(text: &str) -> Result<Self, $crate::ParseNameError> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err($crate::ParseNameError { what: $what, given: text.to_owned() }),
                }
            }
        }
    };
}

pub(crate) use names;
