//! Connections that break, stall and send garbage, at most twice per target.

use super::{Case, Left};
use crate::{
    outcome::{Outcome, last_line},
    scenario::{Job, Scenario},
    world::{With, World},
};
use std::io;

pub(super) fn run(case: &mut Case<'_>) -> io::Result<()> {
    let scenario = Scenario::of(Job::First, &mut case.random);
    case.tell(scenario.to_string());
    let expected = case.campaign.expected(scenario)?;
    let world = case.campaign.world(scenario)?.with_proxies(case.seed)?;
    let mut ended = None;
    case.tell("each target spoilt at most twice");
    if case.random.percent(30) {
        let at = expected.took.mul_f64(case.random.share());
        case.tell(format!("kill -9 after {} ms", at.as_millis()));
        let mut running = world.start(&With::default())?;
        running.wait_until(at);
        ended = Some(running.kill()).filter(|ended| ended.code.is_some());
        case.check_torn(&world);
    }
    let ended = ended.map_or_else(|| world.run(&With::default()), Ok)?;
    case.check_end(&ended);
    // 4: each seed got garbage, which is no temporary failure
    if !matches!(ended.code, Some(0 | 4)) {
        case.verdict.fail(format!("exit {:?}: {}", ended.code, last_line(&ended.stderr)));
    }
    judge(case, &world, &expected.outcome)
}

/// Checks that each failure is in the error log, and that `retry-errors` fetches it over a healthy network.
pub(super) fn judge(case: &mut Case<'_>, world: &World, expected: &Outcome) -> io::Result<()> {
    match Outcome::read(world, false) {
        Ok(found) => {
            let mut expected = expected.clone();
            expected.forget_replay();
            let difference = found.difference(&expected);
            if difference.is_none() {
                return case.compare(world, Left::Nothing);
            }
            // pages that only a failed page links to are missing with it
            let untold = difference.lost.first().filter(|_| difference.errors.is_empty());
            if let Some(url) = untold {
                case.verdict.fail(format!("missing without an error line: {url}"));
                case.verdict.silent = true;
            }
        }
        Err(error) => case.verdict.fail(error),
    }
    world.calm();
    case.tell("retry-errors");
    let mut arguments = world.arguments(&[]);
    arguments.insert(0, "retry-errors".into());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = world.run_other(&arguments)?;
    if ended.code != Some(0) {
        case.verdict.fail(format!("retry-errors: exit {:?}: {}", ended.code, last_line(&ended.stderr)));
    }
    let mut expected = expected.clone();
    match case.found(world) {
        Ok(mut found) => {
            found.forget_errors();
            expected.forget_errors();
            case.verdict.count(&found.difference(&expected));
        }
        Err(error) => case.verdict.fail(error),
    }
    case.check_left(world);
    Ok(())
}
