//! kill -9, one to four times, at a random moment or at a system call.

use super::{Case, Left};
use crate::{
    scenario::Scenario,
    shim::{KINDS, Plan},
    world::With,
};
use std::io;

pub(super) fn run(case: &mut Case<'_>) -> io::Result<()> {
    let scenario = Scenario::any(&mut case.random);
    case.tell(scenario.to_string());
    let expected = case.campaign.expected(scenario)?;
    let world = case.world(scenario)?;
    for _ in 0..=case.random.below(4) {
        let ended = if case.random.percent(60) {
            let at = expected.took.mul_f64(1.1 * case.random.share());
            case.tell(format!("kill -9 after {} ms", at.as_millis()));
            let mut running = world.start(&With::default())?;
            running.wait_until(at);
            running.kill()
        } else {
            let total: u64 = expected.counts.iter().sum();
            // outputs are closed, and the round ends, in the last calls
            let last = if case.random.percent(40) { total / 6 } else { total };
            let n = total - case.random.part(last);
            let action = *case.random.pick(&["kill-before", "kill-half", "kill-after"]);
            case.tell(format!("{action} at call {n} of {total}"));
            let plan = Plan { kinds: KINDS.to_vec(), n, action, ..Plan::default() };
            world.run(&With { plan: Some(&plan), ..With::default() })?
        };
        if ended.hung || ended.code.is_some_and(|code| code != 0) {
            case.check_end(&ended);
            case.verdict.fail(format!("exit {:?}: {}", ended.code, ended.stderr));
        }
        case.check_torn(&world);
        if ended.code == Some(0) {
            return case.compare(&world, Left::Nothing);
        }
        if case.is_complete(&world, &expected.outcome) {
            return case.compare(&world, Left::OfKilled);
        }
    }
    case.finish(&world)
}
