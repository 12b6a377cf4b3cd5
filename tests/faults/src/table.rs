//! Table of a campaign, and list of failed cases.

use crate::{campaign::Done, faults::Kind};
use std::fmt::Write as _;

/// A row for each kind of fault, and one for all.
#[must_use]
pub fn table(done: &[Done]) -> String {
    let mut out = String::from(
        "| fault | tried | survived | refused | told | lost | doubled | silent | vague message | other failures |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for kind in Kind::ALL {
        let cases: Vec<&Done> = done.iter().filter(|case| case.kind == kind).collect();
        if !cases.is_empty() {
            row(&mut out, kind.name(), &cases);
        }
    }
    row(&mut out, "all", &done.iter().collect::<Vec<_>>());
    out
}

fn row(out: &mut String, name: &str, cases: &[&Done]) {
    let count = |is: &dyn Fn(&Done) -> bool| cases.iter().filter(|case| is(case)).count();
    let plain = |case: &Done| !case.verdict.refused && !case.verdict.told;
    let numbers = [
        cases.len(),
        count(&|case| case.verdict.is_good() && plain(case)),
        count(&|case| case.verdict.is_good() && case.verdict.refused),
        count(&|case| case.verdict.is_good() && case.verdict.told),
        count(&|case| !case.verdict.is_good() && case.verdict.lost > 0),
        count(&|case| !case.verdict.is_good() && case.verdict.doubled > 0),
        count(&|case| case.verdict.silent),
        count(&|case| case.verdict.vague),
        count(&|case| {
            let verdict = &case.verdict;
            let other = verdict.failures.len() > usize::from(verdict.vague);
            other && verdict.lost == 0 && verdict.doubled == 0 && !verdict.silent
        }),
    ];
    let cells: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
}

/// A failed case, with the command that repeats it.
#[must_use]
pub fn failure(case: &Done) -> String {
    let Done { kind, seed, verdict, .. } = case;
    let mut out = format!("--case {}:{seed}  {}\n", kind.name(), verdict.story);
    for failure in &verdict.failures {
        let _ = writeln!(out, "    {}", failure.trim().replace('\n', "\n    "));
    }
    if verdict.silent {
        out += "    silent: nothing was said of it\n";
    }
    out
}
