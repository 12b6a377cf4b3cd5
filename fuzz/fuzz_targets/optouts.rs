//! Opt-outs: the first line is a path, the lines up to an empty one are values of X-Robots-Tag, the rest is
//! an origin's file.
#![no_main]

use crawl_fetch::{OptOut, OptOutFile, OriginOptOuts, directive, tdm_header, x_robots_tag};
use crawl_fuzz::{head_and_body, in_linear_time};
use crawl_model::{Directives, Headers};
use libfuzzer_sys::fuzz_target;
use url::Url;

const TOKEN: &str = "crawl";

fn headers(name: &str, values: &[&[u8]]) -> Headers {
    let field = |value: &&[u8]| (name.to_owned(), String::from_utf8_lossy(value).into_owned());
    Headers(values.iter().map(field).collect())
}

fuzz_target!(|data: &[u8]| {
    let (lines, file) = head_and_body(data);
    let Some((path, values)) = lines.split_first() else { return };
    // All fields together give the union of the single fields.
    let all = in_linear_time(data.len(), || x_robots_tag(&headers("x-robots-tag", values), TOKEN));
    let each = values.iter().map(|value| x_robots_tag(&headers("x-robots-tag", &[value]), TOKEN));
    assert_eq!(all, each.fold(Directives::default(), Directives::and));
    for value in values {
        let word = String::from_utf8_lossy(value);
        let alone = directive(word.trim());
        if !word.contains([',', ':']) {
            assert_eq!(alone, x_robots_tag(&headers("x-robots-tag", &[value]), TOKEN));
        }
    }
    let header = tdm_header(&headers("tdm-reservation", values));

    let base = Url::parse("https://h.test/").expect("a URL");
    let Ok(page) = base.join(&String::from_utf8_lossy(path)) else { return };
    let found = OptOutFile::Found(file);
    for (tdm, ai) in
        [(found, OptOutFile::Missing), (OptOutFile::Missing, found), (found, OptOutFile::Unknown)]
    {
        let read = in_linear_time(file.len(), || OriginOptOuts::parse(tdm, ai, TOKEN));
        assert!(read.heap_bytes() <= 256 * file.len() + 4_096, "{} bytes", read.heap_bytes());
        let reserved = in_linear_time(data.len(), || read.reserves(&page, header));
        assert_eq!(reserved, OriginOptOuts::parse(tdm, ai, TOKEN).reserves(&page, header));
        match reserved {
            Some(OptOut::TdmFile) => assert!(tdm == found && header != Some(false)),
            Some(OptOut::AiTxt) => assert!(ai == found),
            Some(OptOut::Unknown) => assert!(ai == OptOutFile::Unknown),
            Some(other) => panic!("{other:?} is no reservation of a file"),
            None => assert!(ai != OptOutFile::Unknown),
        }
    }
});
