//! Evidence as JSON: lists of numbers, in the order of the hashes, so that equal evidence has equal bytes.

use super::{
    SiteEvidence,
    evidence::{PathCounts, TextCounts},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Version of the form.
const VERSION: u32 = 1;

/// Hash; pages, pages with one block; words, extracted words, characters, characters in links, dropped words.
type Path = (u64, [u32; 2], [u64; 5]);
/// Hash, hash of the path, pages, words.
type Text = (u64, u64, u32, u32);

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    pages: u32,
    paths: Vec<Path>,
    texts: Vec<Text>,
}

impl Serialize for SiteEvidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = |(hash, path): (&u64, &PathCounts)| {
            let PathCounts { pages, once, words, taken, chars, link_chars, forgotten, own: _ } = *path;
            (*hash, [pages, once], [words, taken, chars, link_chars, forgotten])
        };
        let text = |(hash, text): (&u64, &TextCounts)| (*hash, text.path, text.pages, text.words);
        let mut paths: Vec<_> = self.paths.iter().map(path).collect();
        let mut texts: Vec<_> = self.texts.iter().map(text).collect();
        paths.sort_unstable();
        texts.sort_unstable();
        Saved { version: VERSION, pages: self.pages, paths, texts }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SiteEvidence {
    /// The evidence is settled.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Saved::deserialize(deserializer)?;
        if saved.version != VERSION {
            return Err(D::Error::custom(format!(
                "version {} of a site's evidence; this program reads {VERSION}",
                saved.version
            )));
        }
        let path = |(hash, [pages, once], [words, taken, chars, link_chars, forgotten]): Path| {
            (hash, PathCounts { pages, once, words, taken, chars, link_chars, forgotten, own: 0 })
        };
        let text = |(hash, path, pages, words): Text| (hash, TextCounts { path, pages, words });
        let mut evidence = Self {
            pages: saved.pages,
            paths: saved.paths.into_iter().map(path).collect(),
            texts: saved.texts.into_iter().map(text).collect(),
        };
        evidence.settle();
        Ok(evidence)
    }
}
