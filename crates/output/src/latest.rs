//! The latest record of each page, without pages that are gone. The end of a round reduces an output of `-O` to these
//! records.

use crawl_model::{Record, SCHEMA_VERSION, UrlKey};
use memchr::memmem::Finder;
use serde::Deserialize;
use std::{
    borrow::Cow,
    collections::HashSet,
    io::{self, BufRead},
};

/// Fields that decide if a record stays.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default)]
    schema_version: Option<u32>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    url: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default)]
    change: Option<Cow<'a, str>>,
}

/// Records by their place in an output, and the page of each.
#[derive(Default)]
pub(crate) struct Latest {
    pages: Vec<(UrlKey, u32)>,
    keeps: Vec<bool>,
    gone: Vec<u32>,
}

impl Latest {
    /// Notes the next record; one without a page is kept.
    pub(crate) fn note(&mut self, page: Option<&str>, is_gone: bool) {
        let place = u32::try_from(self.keeps.len()).unwrap_or(u32::MAX);
        self.keeps.push(true);
        if let Some(page) = page {
            self.pages.push((UrlKey::of(page), place));
            if is_gone {
                self.gone.push(place);
            }
        }
    }

    /// Returns for each record if it stays. Later records of a page take the place of earlier ones.
    pub(crate) fn kept(mut self) -> Vec<bool> {
        self.pages.sort_unstable_by_key(|(key, place)| (key.0, *place));
        let earlier = self.pages.array_windows().filter(|[(page, _), (next, _)]| page == next);
        let old: Vec<u32> = earlier.map(|[(_, place), _]| *place).chain(self.gone).collect();
        for place in old {
            if let Some(keeps) = self.keeps.get_mut(place as usize) {
                *keeps = false;
            }
        }
        self.keeps
    }
}

/// Lines of an output that stay.
pub(crate) struct LatestLines(Vec<bool>);

impl LatestLines {
    /// Reads lines; `None` if each of them stays as it is.
    ///
    /// # Errors
    /// When the lines cannot be read.
    pub(crate) fn of(lines: impl BufRead) -> io::Result<Option<Self>> {
        let (mut latest, mut has_old_versions) = (Latest::default(), false);
        let (layout, mut seen) = (Layout::of_today(), HashSet::new());
        for line in lines.split(b'\n') {
            let line = line?;
            // a line that takes the place of another one has to be a record in full
            if let Some(id) = layout.id_of_kept(&line)
                && seen.insert(UrlKey::of(id))
            {
                latest.note(Some(id), false);
                continue;
            }
            let head = serde_json::from_slice::<Head<'_>>(&line).ok();
            let change = head.as_ref().and_then(|head| head.metadata.as_ref()?.change.as_deref());
            let page = head.as_ref().and_then(|head| page_of(head.id.as_deref(), head.url.as_deref()));
            latest.note(page.as_deref(), change == Some("gone"));
            has_old_versions |= head.is_some_and(|head| is_old(&head));
        }
        let kept = latest.kept();
        Ok((has_old_versions || kept.contains(&false)).then_some(Self(kept)))
    }

    /// Writes the lines that stay, with records of earlier versions migrated to this version.
    ///
    /// # Errors
    /// When the lines cannot be read, or `write` fails.
    pub(crate) fn each(
        &self,
        lines: impl BufRead,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        for (line, keeps) in lines.split(b'\n').zip(&self.0) {
            let line = line?;
            if *keeps {
                write(&of_today(&line)?)?;
            }
        }
        Ok(())
    }
}

/// Layout of the lines that this version writes. It shows the `id` of a record without a parse of the line.
struct Layout {
    /// Start of a line, up to its `id`.
    start: Vec<u8>,
    /// Part of a line whose page is gone.
    gone: Finder<'static>,
}

impl Layout {
    fn of_today() -> Self {
        let start = format!("{{\"schema_version\":{SCHEMA_VERSION},\"id\":\"").into_bytes();
        Self { start, gone: Finder::new(br#""change":"gone""#) }
    }

    /// The `id` of a record of this version whose page is not gone; `None` for a line that needs a parse.
    fn id_of_kept<'a>(&self, line: &'a [u8]) -> Option<&'a str> {
        let id = line.strip_prefix(self.start.as_slice())?.split(|byte| *byte == b'"').next()?;
        let is_id = id.len() == 32 && id.iter().all(u8::is_ascii_hexdigit);
        let is_record = is_id && line.ends_with(b"}") && self.gone.find(line).is_none();
        std::str::from_utf8(id).ok().filter(|_| is_record)
    }
}

/// Name of the page of a record: its `id`, which is the key of its `url`.
pub(crate) fn page_of<'a>(id: Option<&'a str>, url: Option<&str>) -> Option<Cow<'a, str>> {
    id.map(Cow::Borrowed).or_else(|| url.map(|url| UrlKey::of(url).to_string().into()))
}

fn is_old(head: &Head<'_>) -> bool {
    head.schema_version.is_some_and(|version| version < SCHEMA_VERSION)
}

/// A line migrated to this version. A record with chosen fields stays unchanged.
fn of_today(line: &[u8]) -> io::Result<Cow<'_, [u8]>> {
    if !serde_json::from_slice::<Head<'_>>(line).is_ok_and(|head| is_old(&head)) {
        return Ok(line.into());
    }
    let Ok(mut record) = serde_json::from_slice::<Record>(line) else { return Ok(line.into()) };
    record.schema_version = SCHEMA_VERSION;
    record.content = record.content.filter(|content| *content != record.text);
    Ok(serde_json::to_vec(&record)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latest(lines: &str) -> Option<String> {
        let found = LatestLines::of(lines.as_bytes()).unwrap()?;
        let mut out = Vec::new();
        found
            .each(lines.as_bytes(), &mut |line| {
                out.extend_from_slice(line);
                out.push(b'\n');
                Ok(())
            })
            .unwrap();
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn last_record_of_a_page_stays_unless_gone() {
        let lines = "{\"id\":\"a\",\"text\":\"1\"}\n{\"id\":\"b\"}\nno record\n{\"id\":\"a\",\"text\":\"2\"}\n\
                     {\"id\":\"b\",\"metadata\":{\"change\":\"gone\"}}\n{\"url\":\"c\"}\n";
        let want = "no record\n{\"id\":\"a\",\"text\":\"2\"}\n{\"url\":\"c\"}\n";
        assert_eq!(latest(lines).as_deref(), Some(want));
        assert_eq!(latest(want), None, "nothing is to be done");
        // a page that came back
        let back = "{\"id\":\"b\",\"metadata\":{\"change\":\"gone\"}}\n{\"id\":\"b\"}\n";
        assert_eq!(latest(back).as_deref(), Some("{\"id\":\"b\"}\n"));
    }

    #[test]
    fn current_lines_are_parsed_only_when_repeated() {
        let line = |id: char, rest: &str| {
            let id = id.to_string().repeat(32);
            format!("{{\"schema_version\":{SCHEMA_VERSION},\"id\":\"{id}\"{rest}\n")
        };
        let [first, other] =
            [line('a', ",\"text\":\"1\"}"), line('b', ",\"text\":\"\\\"change\\\":\\\"gone\\\"\"}")];
        let layout = Layout::of_today();
        for kept in [&first, &other] {
            assert!(layout.id_of_kept(kept.trim_end().as_bytes()).is_some(), "{kept}");
        }
        let gone = line('a', ",\"metadata\":{\"change\":\"gone\"}}");
        let torn = line('a', ",\"text\":\"2{\"id\":\"c\"}");
        let old = first.replace(&format!(":{SCHEMA_VERSION},"), ":1,");
        for parsed in [&gone, &old, &line('a', ",\"text\":\"2"), &line('x', "}")] {
            assert_eq!(layout.id_of_kept(parsed.trim_end().as_bytes()), None, "{parsed}");
        }
        assert_eq!(latest(&format!("{first}{other}")), None);
        assert_eq!(latest(&format!("{first}{other}{gone}")), Some(other.clone()));
        let second = line('a', ",\"text\":\"2\"}");
        assert_eq!(latest(&format!("{first}{other}{second}")), Some(format!("{other}{second}")));
        assert_eq!(latest(&format!("{first}{torn}")), None, "a broken line replaces no record");
    }

    #[test]
    fn version_1_record_gets_the_current_structure() {
        let old: serde_json::Value = serde_json::from_str(include_str!("../tests/record.json")).unwrap();
        let made = latest(&format!("{old}\n")).unwrap();
        let record: serde_json::Value = serde_json::from_str(&made).unwrap();
        assert_eq!((&record["schema_version"], &record["text"]), (&2.into(), &old["text"]));
        assert!(record["content"].is_null() && record["metadata"]["hiddenText"].is_object(), "{record}");
        assert_eq!(latest(&made), None);
    }
}
