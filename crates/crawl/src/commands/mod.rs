//! The subcommands.

mod check;
mod classify;
mod config;
mod dedup;
mod documents;
mod duplicates;
mod error_log;
mod explain;
mod extract;
mod json;
mod jsonl;
mod kept;
mod line_input;
mod next_visits;
mod outputs;
mod page_file;
mod projects;
mod quality;
mod replay;
mod report;
mod retry;
mod select;
mod serve;
mod site;
mod state;
mod status;
mod transfer;
mod visit;
mod workers;

use crate::{
    cli::{Cli, Command, RulesArgs, SchemaArgs},
    logging::{say, say_as},
    usage_error::shortened,
};
use clap::CommandFactory;
use crawl_engine::{
    exit::{Exit, Failure},
    page_rules, seeds,
};
use crawl_extract::Rules;
use crawl_model::hide_userinfo;
use crawl_output::{Fields, shown};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read, Stdin, Write},
    path::Path,
    sync::Once,
};
use tracing::Level;

/// Runs the job of the command line; errors are reported on standard error.
#[must_use]
pub fn dispatch(cli: Cli) -> Exit {
    let outcome = match cli.command {
        None => crate::run::run(&cli.run),
        Some(Command::Extract(args)) => extract::run(&args),
        Some(Command::Site(args)) => site::run(&args),
        Some(Command::Classify(args)) => classify::run(&args),
        Some(Command::Dedup(args)) => dedup::run(&args),
        Some(Command::Duplicates(args)) => duplicates::run(&args),
        Some(Command::Quality(args)) => quality::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Projects(args)) => projects::run(&args),
        Some(Command::Serve(args)) => serve::rest(&args),
        Some(Command::Mcp(args)) => serve::mcp(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Manual { dir }) => manual(&dir),
        Some(Command::Config(args)) => config::run(&args),
        Some(Command::Status(args)) => status::run(&args),
        Some(Command::Outputs(args)) => outputs::run(&args),
        Some(Command::Workers(args)) => workers::run(&args),
        Some(Command::RetryErrors(args)) => retry::run(&args),
        Some(Command::State(args)) => state::run(&args),
        Some(Command::Replay(args)) => replay::run(&args),
        Some(Command::Schema(args)) => schema(&args),
        Some(Command::Completions { shell }) => {
            // into memory: the generator panics if its output is closed
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "crawl", &mut script);
            write_out(&script).map(|()| Exit::Done)
        }
    };
    outcome.unwrap_or_else(|failure| {
        if failure.exit != Exit::Done {
            let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
            say_as(Level::ERROR, &shortened(&format!("crawl: {:#}", failure.error), words));
        }
        failure.exit
    })
}

/// The manual pages.
fn manual(dir: &Path) -> Result<Exit, Failure> {
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
        .map_err(|e| Failure::new(Exit::Storage, format!("{}: {e}", dir.display())))?;
    Ok(Exit::Done)
}

/// `crawl schema`
fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let fields = Fields::of(&args.fields).map_err(|e| Failure::usage(format!("--fields: {e}")))?;
    let text = match args.datasets {
        true => crawl_output::datasets_features(fields.as_ref()),
        false => format!("{:#}\n", crawl_output::record_schema()),
    };
    write_out(text.as_bytes()).map(|()| Exit::Done)
}

/// The rules that the flags ask for.
fn rules(args: &RulesArgs) -> Result<Rules, Failure> {
    page_rules::load(args.rules.as_deref(), &args.consent_list, say)
}

/// Standard input. At a terminal a message says once that the command waits for input, unless `-` was given.
fn stdin(is_named: bool) -> Stdin {
    static TOLD: Once = Once::new();
    let stdin = io::stdin();
    if !is_named && stdin.is_terminal() {
        TOLD.call_once(|| say("reading standard input: end it with Ctrl-D, or name a file"));
    }
    stdin
}

/// Opens a file, or standard input for `-` and for none.
fn open(path: Option<&Path>) -> Result<Box<dyn BufRead>, Failure> {
    match path {
        None => Ok(Box::new(BufReader::new(stdin(false)))),
        Some(path) if path.as_os_str() == "-" => Ok(Box::new(BufReader::new(stdin(true)))),
        Some(path) if path.is_dir() => {
            Err(Failure::usage(format!("{}: a folder; name a file, or - for standard input", path.display())))
        }
        Some(path) if seeds::as_url(path).is_some_and(|url| url.contains("://")) => {
            let url = hide_userinfo(&path.to_string_lossy()).into_owned();
            Err(Failure::usage(format!("{url}: takes a file, not a URL; save it first: curl -o FILE {url}")))
        }
        Some(path) => File::open(path)
            .map(|file| Box::new(BufReader::with_capacity(1 << 20, file)) as Box<dyn BufRead>)
            .map_err(|e| Failure::input(path, &e)),
    }
}

/// Bytes of a single document. A larger one is no page, list or sitemap.
const MAX_DOCUMENT: u64 = 128 << 20;

/// Reads a document of bounded size.
fn read_document(path: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let bytes = read_to_end(open(path)?.take(MAX_DOCUMENT + 1), path)?;
    if bytes.len() as u64 > MAX_DOCUMENT {
        let name = jsonl::input_name(path);
        return Err(Failure::usage(format!("{name}: larger than {} MiB", MAX_DOCUMENT >> 20)));
    }
    Ok(bytes)
}

fn read_to_end(mut input: impl Read, path: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    input
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::input(path.unwrap_or(Path::new("standard input")), &e))?;
    Ok(bytes)
}

/// Writes text for people to standard output, without controls that foreign text in it may hold.
fn write_text(text: &str) -> Result<(), Failure> {
    write_out(shown::lines(text).as_bytes())
}

/// Writes JSON to standard output, its controls as escapes.
fn write_json(json: &[u8]) -> Result<(), Failure> {
    write_out(shown::json(&String::from_utf8_lossy(json)).as_bytes())
}

/// Writes data to standard output; a reader that has gone ends the program cleanly.
fn write_out(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Failure::new(Exit::Done, "standard output was closed by its reader"),
        _ => Failure::new(Exit::Storage, format!("standard output: {e}")),
    })
}
