//! The long campaign: `faults --binary target/release/crawl [--seed N] [--only KINDS] [--scale X] [--case
//! KIND:SEED]`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports on standard output")]

use crawl_faults::{campaign::Campaign, faults::Kind, table};
use std::{
    env,
    error::Error,
    path::PathBuf,
    process::ExitCode,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

const USAGE: &str = "faults [--binary PATH] [--seed N] [--only kills,syscalls,power,damage,disk,clock,network] [--scale X] \
                     [--threads N] [--case KIND:SEED]… [--keep] [--verbose]";

struct Options {
    binary: Option<PathBuf>,
    seed: u64,
    only: Vec<Kind>,
    scale: f64,
    threads: usize,
    cases: Vec<(Kind, u64)>,
    keep: bool,
    verbose: bool,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() % 1_000_000;
    let mut out = Options {
        binary: None,
        seed,
        only: Kind::ALL.to_vec(),
        scale: 1.0,
        threads: 2,
        cases: Vec::new(),
        keep: false,
        verbose: false,
    };
    let kind = |name: &str| Kind::of(name).ok_or_else(|| format!("no kind of fault: {name}"));
    let mut arguments = env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{flag} needs a value: {USAGE}"));
        match flag.as_str() {
            "--binary" => out.binary = Some(PathBuf::from(value()?).canonicalize()?),
            "--seed" => out.seed = value()?.parse()?,
            "--only" => out.only = value()?.split(',').map(kind).collect::<Result<_, _>>()?,
            "--scale" => out.scale = value()?.parse()?,
            "--threads" => out.threads = value()?.parse()?,
            "--case" => {
                let value = value()?;
                let (name, seed) = value.split_once(':').ok_or(USAGE)?;
                out.cases.push((kind(name)?, seed.parse()?));
            }
            "--keep" => out.keep = true,
            "--verbose" => out.verbose = true,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(out)
}

/// Cases of a seed: those of a kind have consecutive numbers.
fn cases(options: &Options) -> Vec<(Kind, u64)> {
    if !options.cases.is_empty() {
        return options.cases.clone();
    }
    let of = |kind: &Kind| {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few hundred cases"
        )]
        let cases = (kind.cases() as f64 * options.scale).ceil() as u64;
        let kind = *kind;
        (0..cases).map(move |number| (kind, options.seed * 10_000 + number))
    };
    options.only.iter().flat_map(of).collect()
}

fn campaign() -> Result<bool, Box<dyn Error>> {
    let options = options()?;
    let binary = options.binary.clone().map_or_else(Campaign::binary, Ok)?;
    let cases = cases(&options);
    println!("seed {}, {} cases over {}", options.seed, cases.len(), binary.display());
    let (campaign, started) = (Campaign::new(&binary).keep(options.keep), Instant::now());
    let alone = !options.cases.is_empty();
    let done = campaign.run(&cases, options.threads, |case| {
        if !case.verdict.is_good() {
            print!("{}", table::failure(case));
        } else if alone || options.verbose {
            println!("--case {}:{}  {} ({:.1?})", case.kind.name(), case.seed, case.verdict.story, case.took);
        }
    });
    let failed = done.iter().filter(|case| !case.verdict.is_good()).count();
    println!("\n{}\n{failed} of {} cases failed, {:.0?}", table::table(&done), done.len(), started.elapsed());
    Ok(failed == 0)
}

fn main() -> ExitCode {
    match campaign() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("faults: {error}");
            ExitCode::from(2)
        }
    }
}
