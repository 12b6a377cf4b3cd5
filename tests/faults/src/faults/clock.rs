//! A clock that jumps during a run, and is correct again in the next one.

use super::{Case, Left, network};
use crate::{
    scenario::{Job, Scenario},
    world::With,
};
use std::{io, time::Duration};

const DAY: i64 = 86_400;
const JUMPS: [(&str, i64); 6] = [
    ("to 2100", 27_000 * DAY),
    ("to 1970", -20_700 * DAY),
    ("an hour on", 3600),
    ("an hour back", -3600),
    ("a year on", 365 * DAY),
    ("a day back", -DAY),
];

pub(super) fn run(case: &mut Case<'_>) -> io::Result<()> {
    let scenario = Scenario::crawl(&mut case.random);
    case.tell(scenario.to_string());
    let expected = case.campaign.expected(scenario)?;
    let spoilt = scenario.job == Job::First && case.random.percent(50);
    let mut world = case.campaign.world(scenario)?;
    if spoilt {
        // retried pages have a time before which they are not leased
        world = world.with_proxies(case.seed)?;
        case.tell("each target spoilt at most twice");
    }
    world.prepare()?;
    let (name, seconds) = *case.random.pick(&JUMPS);
    let at = case.random.below(60);
    world.jump(seconds, at)?;
    let kill = case.random.percent(60);
    case.tell(format!("the clock jumps {name} at request {at}"));
    let mut running = world.start(&With { clock: true, ..With::default() })?;
    if kill {
        let at: Duration = expected.took.mul_f64(0.3 + case.random.share());
        case.tell(format!("kill -9 after {} ms", at.as_millis()));
        running.wait_until(at);
        let ended = running.kill();
        case.check_torn(&world);
        world.jump(0, 0)?;
        if spoilt {
            let ended = if ended.code.is_some() { ended } else { world.run(&With::default())? };
            case.check_end(&ended);
            return network::judge(case, &world, &expected.outcome);
        }
        if ended.code == Some(0) {
            return case.compare(&world, Left::Nothing);
        }
        return case.finish(&world);
    }
    let ended = running.wait();
    case.check_end(&ended);
    world.jump(0, 0)?;
    if spoilt {
        return network::judge(case, &world, &expected.outcome);
    }
    if ended.code != Some(0) {
        case.verdict.fail(format!("exit {:?}: {}", ended.code, ended.stderr));
        return case.finish(&world);
    }
    case.compare(&world, Left::Nothing)
}
