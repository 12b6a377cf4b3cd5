//! A system call that fails, is partly executed, or is the last one.

use super::{Case, Left};
use crate::{
    random::Random,
    scenario::Scenario,
    shim::{KINDS, Plan},
    world::With,
};
use std::{fs, io};

type Error = (&'static str, i32);
const ENOSPC: Error = ("ENOSPC", 28);
const EIO: Error = ("EIO", 5);
const EMFILE: Error = ("EMFILE", 24);
const EDQUOT: Error = ("EDQUOT", 122);
const EROFS: Error = ("EROFS", 30);
const EINTR: Error = ("EINTR", 4);

/// Possible errors of each kind of call, in the order of [`KINDS`].
const ERRORS: [&[Error]; 8] = [
    &[EMFILE, ENOSPC, EIO, EROFS],
    &[ENOSPC, EIO, EDQUOT, EINTR, EROFS],
    &[EIO, ENOSPC, EDQUOT],
    &[EIO, ENOSPC],
    &[ENOSPC, EIO, EROFS],
    &[EIO, EROFS],
    &[ENOSPC, EIO, EDQUOT, EROFS],
    &[EIO, EDQUOT],
];

pub(super) fn run(case: &mut Case<'_>) -> io::Result<()> {
    let scenario = Scenario::any(&mut case.random);
    case.tell(scenario.to_string());
    let expected = case.campaign.expected(scenario)?;
    let plan = plan(&mut case.random, &expected.counts);
    let world = case.world(scenario)?;
    let ended = world.run(&With { plan: Some(&plan), ..With::default() })?;
    let hit = fs::read_to_string(world.own("hit")).unwrap_or_default();
    let hit = hit.lines().next().unwrap_or("not reached").replace(&*world.case().to_string_lossy(), "");
    let named = ERRORS.iter().copied().flatten().find(|(_, number)| *number == plan.errno);
    let error = named.filter(|_| !plan.action.starts_with("kill")).map_or("", |(name, _)| name);
    let persist = if plan.persist { " from then on" } else { "" };
    case.tell(format!("{} {error}{persist} at {} {} ({hit})", plan.action, plan.kinds[0], plan.n));
    case.check_torn(&world);
    match ended.code {
        Some(0) => {
            case.check_end(&ended);
            // if all calls fail, no file can be removed either
            return case.compare(&world, if plan.persist { Left::OfKilled } else { Left::Nothing });
        }
        None if plan.action.starts_with("kill") => {}
        _ => {
            case.check_refusal(&world, &ended, &[3]);
            case.verdict.refused = true;
        }
    }
    case.finish(&world)
}

/// Chooses a kind of call. Rare and frequent kinds are equally likely, except for writes and syncs, which are
/// the most important.
fn plan(random: &mut Random, counts: &[u64]) -> Plan {
    const WEIGHTS: [u64; 8] = [15, 30, 18, 10, 10, 7, 3, 7];
    let total: u64 =
        WEIGHTS.iter().zip(counts).filter(|(_, count)| **count > 0).map(|(weight, _)| weight).sum();
    let mut left = random.below(total);
    let mut chosen = 1;
    for (kind, weight) in WEIGHTS.iter().enumerate().filter(|(kind, _)| counts[*kind] > 0) {
        chosen = kind;
        if left < *weight {
            break;
        }
        left -= weight;
    }
    let action = match (random.below(100), KINDS[chosen]) {
        (0..50, _) => "fail",
        (50..60, "write") => "short",
        (50..74, _) => "kill-before",
        (74..87, _) => "kill-after",
        _ => "kill-half",
    };
    let (name, errno) = *random.pick(ERRORS[chosen]);
    let persist = action == "fail" && (name == "EROFS" || (name != "EINTR" && random.percent(30)));
    Plan { kinds: vec![KINDS[chosen]], n: 1 + random.part(counts[chosen]), action, errno, persist }
}
