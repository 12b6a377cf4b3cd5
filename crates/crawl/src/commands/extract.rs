//! `crawl extract`: one page of a file or the web, or all pages of a JSONL, an archive or a folder.

pub(super) mod by_site;
mod captures;
mod of_url;

use super::{
    explain, jsonl,
    page_file::{self, read_page},
    rules,
    select::{self, Select},
    write_json, write_out,
};
use crate::{
    cli::{ExtractArgs, TextFormat},
    logging::say_as,
};
use crawl_engine::{
    exit::{Exit, Failure},
    record::page_record,
    seeds,
};
use crawl_extract::{Format, Input, Options, PageExtractor, SiteEvidence};
use crawl_model::{Record, Warning};
use crawl_output::Fields;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;
use tracing::Level;
use url::Url;

/// A record as a line.
#[derive(Serialize)]
#[serde(untagged)]
enum Line {
    Text(Box<Record>),
    /// A record that is written already: its fields are chosen, or its id is no string.
    Written(Box<RawValue>),
}

pub fn run(args: &ExtractArgs) -> Result<Exit, Failure> {
    let fields = match args.lean {
        true => Some(Fields::lean()),
        false => Fields::of(&args.fields).map_err(|e| Failure::usage(format!("--fields: {e}")))?,
    };
    if let Some(url) = of_url::named(args)? {
        check_format(args, fields.as_ref())?;
        return of_url::run(args, url, fields.as_ref());
    }
    let of_urls = [
        (args.config.is_some(), "--config needs a URL: a file is read without settings"),
        (!args.resolve.is_empty(), "--resolve needs a URL: a file is read without requests"),
        (args.chrome.is_some(), "--chrome needs a URL: a file is read without a browser"),
        (args.chrome_no_sandbox, "--chrome-no-sandbox needs a URL: a file is read without a browser"),
    ];
    if let Some((_, why)) = of_urls.iter().find(|(is_given, _)| *is_given) {
        return Err(Failure::usage(*why));
    }
    of_files(args, fields.as_ref())
}

/// Reads a file, an archive, a folder or standard input.
fn of_files(args: &ExtractArgs, fields: Option<&Fields>) -> Result<Exit, Failure> {
    let options = Options::default()
        .with_favor(args.favor.unwrap_or_default())
        .with_format(if args.format == Some(TextFormat::Text) { Format::Text } else { Format::Markdown })
        .with_links(args.links.unwrap_or_default())
        .with_images(args.images)
        .with_tables(!args.no_tables)
        .with_comments(args.comments)
        .with_raw_metadata(args.raw_metadata);
    let mut rules = rules(&args.rules)?;
    let select = args.select.as_deref().map(Select::parse).transpose()?;
    if select.is_some() {
        rules = Select::rules(rules)?;
    }
    let extractor = PageExtractor::from_rules(rules, options);
    if let Some(host) = args.file.as_deref().filter(|file| !file.exists()).and_then(seeds::as_url) {
        return Err(Failure::usage(format!(
            "{host}: no such file; for a page of the web write https://{host}"
        )));
    }
    // lines are asked for by name
    let input =
        if args.jsonl { captures::Input::One(None) } else { captures::of(args.file.as_deref(), &args.more)? };
    let bytes = match input {
        captures::Input::Many(_) if args.explain.is_some() || args.content_type.is_some() => {
            return Err(Failure::usage("--explain and --content-type need one page: the input has many"));
        }
        captures::Input::Many(inputs) => {
            return captures::run(args, &extractor, select.as_ref(), &inputs, fields);
        }
        captures::Input::One(Some(_)) if args.explain.is_some() => {
            return Err(Failure::usage("--explain needs an unpacked page: unpack it to a file"));
        }
        captures::Input::One(bytes) => bytes,
    };
    if let Some(form) = args.explain {
        return explain::run(args, form, &extractor);
    }
    if args.by_site {
        return by_site::run(&extractor, args.file.as_deref(), fields);
    }
    if args.jsonl {
        return jsonl::each(jsonl::Lines::open(args.file.as_deref())?, |mut page| {
            if let Some(select) = &select {
                page.bytes = Cow::Owned(select.mark(&page.input()));
                page.content_type = Some(Cow::Borrowed(select::CONTENT_TYPE));
            }
            line(&extractor, page, None, fields)
        });
    }
    check_format(args, fields)?;
    one_page(args, &extractor, select.as_ref(), bytes, fields)
}

/// Prints one page. `bytes` are those that were read from standard input.
fn one_page(
    args: &ExtractArgs,
    extractor: &PageExtractor,
    select: Option<&Select>,
    bytes: Option<Vec<u8>>,
    fields: Option<&Fields>,
) -> Result<Exit, Failure> {
    let bytes = match bytes {
        Some(bytes) => page_file::page_of(bytes)
            .map_err(|problem| Failure::usage(format!("standard input: {problem}")))?,
        None => read_page(args.file.as_deref())?,
    };
    let mut input =
        Input::new(&bytes).with_url(args.url.as_ref()).with_content_type(args.content_type.as_deref());
    let marked = select.map(|select| select.mark(&input));
    if let Some(marked) = &marked {
        (input.bytes, input.content_type) = (marked, Some(select::CONTENT_TYPE));
    }
    let mut record = extract(extractor, &input, None);
    if args.url.is_none() {
        // the first half of a hash, as of a URL
        const DIGITS: usize = 32;
        let file = args.file.as_ref().filter(|file| file.as_os_str() != "-");
        let hash = || record.metadata.content_hash.chars().take(DIGITS).collect();
        record.id = file.map_or_else(hash, |file| file.display().to_string());
    }
    warn_if_empty(extractor, &record, || {
        let file = args.file.as_ref().filter(|file| file.as_os_str() != "-");
        args.url.as_ref().map(Url::to_string).or_else(|| Some(file?.display().to_string()))
    });
    print(&record, args.format.unwrap_or(TextFormat::Json), fields)
}

/// Prints one record, or its text. Chosen fields are a line of JSON.
fn print(record: &Record, format: TextFormat, fields: Option<&Fields>) -> Result<Exit, Failure> {
    let internal = |e: serde_json::Error| Failure::new(Exit::Internal, e.to_string());
    match (format, fields) {
        (_, Some(fields)) => {
            let mut out = Vec::new();
            fields.write(record, &mut out).map_err(internal)?;
            out.push(b'\n');
            write_json(&out)?;
        }
        (TextFormat::Json, None) => {
            write_json((serde_json::to_string_pretty(record).map_err(internal)? + "\n").as_bytes())?;
        }
        (TextFormat::Markdown | TextFormat::Text, None) => {
            write_out(format!("{}\n", record.text).as_bytes())?;
        }
    }
    Ok(Exit::Done)
}

/// Warns on standard error about a page without content. `name` gives the page's URL, or what else it is known by.
fn warn_if_empty(extractor: &PageExtractor, record: &Record, name: impl FnOnce() -> Option<String>) {
    if record.warnings.contains(&Warning::AllBoilerplate) {
        let name = name().unwrap_or_else(|| "standard input".to_owned());
        let cause = match extractor.is_selecting() {
            true => "no text matches --select",
            false => "the page has no main content: its text is empty",
        };
        say_as(Level::WARN, &format!("{name}: {cause}"));
    }
}

fn extract(extractor: &PageExtractor, input: &Input<'_>, evidence: Option<&SiteEvidence>) -> Record {
    let extraction = match evidence {
        Some(evidence) => extractor.extract_by_site(input, evidence),
        None => extractor.extract(input),
    };
    let text = extractor.last_pass(extraction.content.clone(), extraction.extractor);
    page_record(extraction, text, input.url)
}

fn line(
    extractor: &PageExtractor,
    page: jsonl::Page<'_>,
    evidence: Option<&SiteEvidence>,
    fields: Option<&Fields>,
) -> Line {
    let mut record = extract(extractor, &page.input(), evidence);
    warn_if_empty(extractor, &record, || {
        page.url.as_ref().map(Url::to_string).or_else(|| match &page.id {
            Value::Null => Some("a page without url and id".to_owned()),
            Value::String(id) => Some(id.clone()),
            id => Some(id.to_string()),
        })
    });
    let id = match page.id {
        Value::String(id) => {
            record.id = id;
            None
        }
        // the record has the id of its URL
        Value::Null if page.url.is_some() => None,
        id => Some(id),
    };
    shaped(record, id, fields)
}

/// A record with the caller's id and the chosen fields. An id that is no string goes back as it came.
fn shaped(record: Record, id: Option<Value>, fields: Option<&Fields>) -> Line {
    if id.is_none() && fields.is_none() {
        return Line::Text(Box::new(record));
    }
    let written = match fields {
        Some(fields) => {
            let mut out = Vec::new();
            fields.write(&record, &mut out).ok().and_then(|()| String::from_utf8(out).ok())
        }
        None => serde_json::to_string(&record).ok(),
    };
    let own = Value::from(record.id.as_str());
    let with_id = written.map(|line| match id {
        // no key before the record's id holds an object or a text
        Some(id) if fields.is_none_or(|fields| fields.has("id")) => {
            line.replacen(&format!("\"id\":{own}"), &format!("\"id\":{id}"), 1)
        }
        _ => line,
    });
    match with_id.and_then(|line| RawValue::from_string(line).ok()) {
        Some(line) => Line::Written(line),
        // a record is JSON; were it not, its own id would still name it
        None => Line::Text(Box::new(record)),
    }
}

/// Refuses a text format together with selected fields, which are JSON. Of many pages it is the form of `text`.
fn check_format(args: &ExtractArgs, fields: Option<&Fields>) -> Result<(), Failure> {
    match args.format {
        Some(TextFormat::Markdown | TextFormat::Text) if fields.is_some() => Err(Failure::usage(
            "--fields and --lean write JSON, --format markdown and text write only the text: omit one of them",
        )),
        _ => Ok(()),
    }
}
