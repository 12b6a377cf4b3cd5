//! Scenarios: the command of a case and its output.

use crate::random::Random;
use std::fmt;

/// An output kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Lines.
    Jsonl,
    /// Lines in gzip members.
    Gz,
    /// Lines in zstd frames.
    Zst,
    /// A table.
    Parquet,
    /// A folder of Markdown.
    Folder,
    /// Lines, and the pages in a project.
    Project,
    /// Lines, and an archive.
    Warc,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Jsonl, Self::Gz, Self::Zst, Self::Parquet, Self::Folder, Self::Project, Self::Warc];

    /// Name of the output in the folder of the case.
    #[must_use]
    pub const fn file(self) -> &'static str {
        match self {
            Self::Gz => "out.jsonl.gz",
            Self::Zst => "out.jsonl.zst",
            Self::Parquet => "out.parquet",
            Self::Folder => "out/",
            Self::Jsonl | Self::Project | Self::Warc => "out.jsonl",
        }
    }
}

/// The command that is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Job {
    /// The first round of a crawl.
    First,
    /// A second night with `--recrawl all`.
    Night,
    /// `retry-errors` after a round with failed pages.
    Retry,
    /// `replay` of an archive.
    Replay,
    /// `quality -o`.
    Quality,
    /// `duplicates --table`.
    Duplicates,
}

/// A command over an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scenario {
    /// The command.
    pub job: Job,
    /// Its output.
    pub format: Format,
    /// `-O` instead of `-o`.
    pub replace: bool,
    /// True if hosts hold their pages until they are drained.
    pub dedup: bool,
}

impl Scenario {
    /// A crawl, a second night or another command, over any output.
    pub fn any(random: &mut Random) -> Self {
        let job = match random.below(100) {
            0..50 => Job::First,
            50..74 => Job::Night,
            74..84 => Job::Retry,
            84..91 => Job::Replay,
            91..96 => Job::Quality,
            _ => Job::Duplicates,
        };
        Self::of(job, random)
    }

    /// A round of a crawl over any output: the first one or a later one.
    pub fn crawl(random: &mut Random) -> Self {
        let job = match random.below(100) {
            0..60 => Job::First,
            60..88 => Job::Night,
            _ => Job::Retry,
        };
        Self::of(job, random)
    }

    /// A job over any of its outputs.
    pub fn of(job: Job, random: &mut Random) -> Self {
        let (format, replace, dedup) = (*random.pick(&Format::ALL), random.percent(50), random.percent(50));
        match job {
            Job::First | Job::Night | Job::Retry => Self { job, format, replace, dedup },
            Job::Replay => {
                let format =
                    if matches!(format, Format::Project | Format::Warc) { Format::Jsonl } else { format };
                Self { job, format, replace: true, dedup }
            }
            Job::Quality | Job::Duplicates => {
                Self { job, format: Format::Jsonl, replace: true, dedup: false }
            }
        }
    }

    /// Returns true if the job continues a state after it was stopped.
    #[must_use]
    pub const fn is_crawl(self) -> bool {
        matches!(self.job, Job::First | Job::Night | Job::Retry)
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = if self.replace { "-O" } else { "-o" };
        let dedup = if self.dedup { "" } else { " --no-dedup" };
        write!(f, "{:?} {flag} {:?}{dedup}", self.job, self.format)
    }
}
